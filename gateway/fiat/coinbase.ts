/**
 * Coinbase Onramp and Offramp, as documented for partners: session tokens, launch URLs, lists of transactions and
 * webhooks (RULES.md 16.60 to 16.65).
 *
 * Invariants:
 *   COINBASE-1  Each request has a token of its own. A session token is minted once per launch and never twice: only
 *               reads are repeated after a failure, READ_TRIES times in all.
 *   COINBASE-2  A list is read to its end. A list that repeats a page, or has more than MAX_PAGES, counts as no answer:
 *               the decisive row could be on a missing page.
 */
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { memberOf } from '../../shared/base/memberOf.ts';
import { checkHook } from '../../shared/crypto/hookSignature.ts';
import { ProviderCalls, ProviderDown } from '../http/providerCalls.ts';
import { CoinbaseKey } from './coinbaseKey.ts';
import { parseCoinbasePage } from './coinbaseRows.ts';
import {
  type FiatKind,
  type FiatProvider,
  isRefusedLaunch,
  type Launch,
  LaunchRefused,
  type LaunchRequest,
  type ProviderSettings,
  type ProviderTransaction,
  type WebhookEvent,
  type WebhookHeaders,
} from './provider.ts';
import { SettingReader, SettingRefused } from './providerSettings.ts';

const SETTINGS = ['KEY_ID', 'KEY_SECRET', 'WEBHOOK_SECRETS', 'API_URL', 'PAY_URL'];
const API_URL = 'https://api.developer.coinbase.com/onramp';
const PAY_URL = 'https://pay.coinbase.com';
const ASSET = 'USDC';
const NETWORK = 'polygon';
const TOKEN_LIFETIME_MS = 300_000;
const PAGE_SIZE = 50;
const MAX_PAGES = 20;
const READ_TRIES = 3;
const RETRY_PAUSE_MS = 250;
const SESSION_TOKEN = /^[\w.~+/=-]{1,2048}$/;
const METHOD = /^[A-Z_]{1,40}$/;
const REFERENCE = /^[\w-]{1,49}$/;
/** A header that identifies an event permanently counts if the signature covers it. */
const EVENT_ID = 'x-event-id';
const MAX_EVENT_ID = 100;

/** Tests change these parts. */
type CoinbaseParts = { readonly calls?: Pick<ProviderCalls, 'send'>; readonly retryPauseMs?: number };

export function openCoinbase(settings: ProviderSettings, parts: CoinbaseParts = {}): Coinbase | string {
  try {
    return new Coinbase(settings, parts);
  } catch (error) {
    if (error instanceof SettingRefused) return error.message;
    throw error;
  }
}

class Coinbase implements FiatProvider {
  readonly name = 'coinbase';
  /** This provider works only on chains. */
  readonly ledgerAddress = null;
  readonly #key: CoinbaseKey;
  readonly #webhookSecrets: readonly string[];
  readonly #apiUrl: URL;
  readonly #payUrl: URL;
  readonly #calls: Pick<ProviderCalls, 'send'>;
  readonly #retryPauseMs: number;

  constructor(
    settings: ProviderSettings,
    { calls = new ProviderCalls(), retryPauseMs = RETRY_PAUSE_MS }: CoinbaseParts,
  ) {
    const read = new SettingReader(settings, SETTINGS);
    const key = CoinbaseKey.tryParse(read.text('KEY_ID'), read.text('KEY_SECRET'));
    if (key === null) throw new SettingRefused('KEY_SECRET: expected a key of Ed25519 (base64) or of P-256 (PEM)');
    this.#key = key;
    this.#webhookSecrets = read.list('WEBHOOK_SECRETS');
    this.#apiUrl = read.url('API_URL', API_URL);
    this.#payUrl = read.url('PAY_URL', PAY_URL);
    this.#calls = calls;
    this.#retryPauseMs = retryPauseMs;
  }

  async createLaunch(request: LaunchRequest, signal: AbortSignal): Promise<Launch> {
    const expiresAtMs = Date.now() + TOKEN_LIFETIME_MS;
    const body = {
      addresses: [{ address: request.walletAddress, blockchains: [NETWORK] }],
      assets: [ASSET],
      clientIp: request.clientIp,
    };
    const answer = await this.#ask('POST', '/v1/token', signal, body).catch((error: ProviderDown) => {
      // Of the person's inputs, only the wallet is in this request.
      throw error instanceof CallRefused && isRefusedLaunch(error.status) ? new LaunchRefused('wallet_address') : error;
    });
    const token = memberOf(answer, 'token');
    if (typeof token !== 'string' || !SESSION_TOKEN.test(token)) throw new ProviderDown('it has minted no token');
    return { launchUrl: this.#launchUrl(request, token).href, expiresAtMs };
  }

  async listTransactions(
    partnerReference: string,
    kind: FiatKind,
    signal: AbortSignal,
  ): Promise<readonly ProviderTransaction[]> {
    const side = kind === 'onramp' ? 'buy' : 'sell';
    const path = `/v1/${side}/user/${encodeURIComponent(partnerReference)}/transactions`;
    // A row on two pages (because a newer one arrived meanwhile) counts as on the first page.
    const rows = new Map<string, ProviderTransaction>();
    const keys = new Set<string>();
    for (let key: string | null = ''; key !== null; ) {
      const query = new URLSearchParams({ pageSize: String(PAGE_SIZE), ...(key === '' ? {} : { pageKey: key }) });
      const page = parseCoinbasePage(await this.#read(`${path}?${query}`, signal), kind, partnerReference);
      for (const row of page.rows) if (!rows.has(row.transactionId)) rows.set(row.transactionId, row);
      // COINBASE-2. A key may come with the last page too: the page after it is empty.
      key = page.rows.length === 0 ? null : page.nextKey;
      if (key !== null && (keys.has(key) || keys.size + 1 >= MAX_PAGES)) throw new ProviderDown('its list has no end');
      if (key !== null) keys.add(key);
    }
    return [...rows.values()];
  }

  verifyWebhook(headers: WebhookHeaders, rawBody: Uint8Array, nowMs: number): WebhookEvent | null {
    const signed = checkHook(this.#webhookSecrets, headers, rawBody, nowMs);
    if (signed === null) return null;
    const named = signed.covered.includes(EVENT_ID) ? headers[EVENT_ID] : '';
    const isName = named !== '' && named.length <= MAX_EVENT_ID;
    const eventId = isName ? named : hash('sha256', rawBody);
    return { eventId, partnerReference: referenceIn(rawBody) };
  }

  #launchUrl({ kind, partnerReference, amount, ...request }: LaunchRequest, token: string): URL {
    const isBuy = kind === 'onramp';
    const url = new URL(`${this.#payUrl.href.replace(/\/$/, '')}${isBuy ? '/buy/select-asset' : '/v3/sell/input'}`);
    const method = request.paymentMethod?.toUpperCase() ?? '';
    const parameters: Record<string, string | null> = {
      sessionToken: token,
      partnerUserRef: partnerReference,
      redirectUrl: request.redirectUrl,
      defaultNetwork: NETWORK,
      defaultAsset: ASSET,
      [isBuy ? 'presetFiatAmount' : 'presetCryptoAmount']: amount,
      [isBuy ? 'defaultPaymentMethod' : 'defaultCashoutMethod']: METHOD.test(method) ? method : null,
      fiatCurrency: request.fiatCurrency,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
    return url;
  }

  /** COINBASE-1 */
  async #read(path: string, signal: AbortSignal): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ask('GET', path, signal);
      } catch (error) {
        const isLast = tries === READ_TRIES || signal.aborted || !(error instanceof CallFailed);
        if (isLast) throw error;
        await pause(this.#retryPauseMs * tries, undefined, { signal }).catch(() => {
          throw new ProviderDown('AbortError');
        });
      }
    }
  }

  async #ask(method: 'GET' | 'POST', path: string, signal: AbortSignal, body?: object): Promise<unknown> {
    const url = new URL(`${this.#apiUrl.href.replace(/\/$/, '')}${path}`);
    const token = await this.#key.token(method, url, Date.now());
    const headers = {
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
    };
    const sent = { method, headers, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await this.#calls.send(url, sent).catch((error: ProviderDown) => {
      throw error.message === 'status 429' ? error : new CallFailed(error.message);
    });
    if (response.status !== 200) throw new CallRefused(response.status);
    return response.json().catch(() => {
      throw new ProviderDown('its answer is no JSON');
    });
  }
}

/** The provider may answer if it is asked again. */
class CallFailed extends ProviderDown {}

class CallRefused extends ProviderDown {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

function referenceIn(rawBody: Uint8Array): string | null {
  try {
    const { partnerUserRef } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody)) ?? {};
    return typeof partnerUserRef === 'string' && REFERENCE.test(partnerUserRef) ? partnerUserRef : null;
  } catch {
    return null;
  }
}
