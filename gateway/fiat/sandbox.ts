/**
 * Talks to the sandbox provider of this project (gateway/programs/ramp/), a process of its own, as to any other
 * provider: it may hang, be down, and contradict itself, which is its purpose.
 *
 * Invariant:
 *   SANDBOX-1  A list is read to its end, as with COINBASE-2, and is rejected if one of its deals is malformed.
 */
import { STATED_STATUSES } from '../../shared/api/fiatStatements.ts';
import { checkHook } from '../../shared/crypto/hookSignature.ts';
import { ProviderCalls, ProviderDown } from '../http/providerCalls.ts';
import {
  type FiatKind,
  type FiatProvider,
  isRefusedLaunch,
  type Launch,
  LaunchRefused,
  type LaunchRequest,
  type ProviderSettings,
  type ProviderTransaction,
  type RefusedField,
  type StatedRow,
  type WebhookEvent,
  type WebhookHeaders,
} from './provider.ts';
import { SettingReader, SettingRefused } from './providerSettings.ts';

const SETTINGS = ['URL', 'API_KEY', 'WEBHOOK_SECRETS', 'ADDRESS'];
const URL_OF_PROCESS = 'http://127.0.0.1:8090';
const PAGE_SIZE = 100;
const MAX_PAGES = 20;
/** The most pages of a statement. */
const MAX_STATED = 100;
const STATUSES = ['created', 'started', 'success', 'failed', 'expired', 'refunded'] as const;
const DECIMAL = /^(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?$/;
const REFERENCE = /^[\w-]{1,49}$/;
const EVENT_ID = /^[0-9a-f]{32}$/;
/** Names of clients' fields, by the provider's names. */
const FIELDS: Readonly<Record<string, RefusedField>> = {
  amount: 'amount',
  currency: 'fiat_currency',
  method: 'payment_method',
  wallet: 'wallet_address',
};

type Answer = Readonly<Record<string, unknown>>;

export function openSandbox(settings: ProviderSettings, calls?: Pick<ProviderCalls, 'send'>): Sandbox | string {
  try {
    return new Sandbox(settings, calls ?? new ProviderCalls());
  } catch (error) {
    if (error instanceof SettingRefused) return error.message;
    throw error;
  }
}

class Sandbox implements FiatProvider {
  readonly name = 'sandbox';
  readonly ledgerAddress: string | null;
  readonly #url: URL;
  readonly #apiKey: string;
  readonly #webhookSecrets: readonly string[];
  readonly #calls: Pick<ProviderCalls, 'send'>;

  constructor(settings: ProviderSettings, calls: Pick<ProviderCalls, 'send'>) {
    const read = new SettingReader(settings, SETTINGS);
    this.#url = read.url('URL', URL_OF_PROCESS);
    this.#apiKey = read.text('API_KEY');
    this.#webhookSecrets = read.list('WEBHOOK_SECRETS');
    this.ledgerAddress = read.address('ADDRESS');
    this.#calls = calls;
  }

  async createLaunch(request: LaunchRequest, signal: AbortSignal): Promise<Launch> {
    const response = await this.#send('/v1/launches', signal, {
      kind: request.kind,
      reference: request.partnerReference,
      wallet: request.walletAddress,
      amount: request.amount,
      currency: request.fiatCurrency,
      method: request.paymentMethod?.toUpperCase() ?? '',
      return_url: request.redirectUrl,
    });
    const { launch_url, expires_at_ms, field } = await answerOf(response);
    if (isRefusedLaunch(response.status)) throw new LaunchRefused(FIELDS[String(field)] ?? null);
    if (!response.ok) throw new ProviderDown(`status ${response.status}`);
    const isLaunch = typeof launch_url === 'string' && URL.canParse(launch_url) && isCount(expires_at_ms);
    if (!isLaunch) throw new ProviderDown('it has made no launch');
    return { launchUrl: launch_url, expiresAtMs: expires_at_ms };
  }

  async listTransactions(
    partnerReference: string,
    kind: FiatKind,
    signal: AbortSignal,
  ): Promise<readonly ProviderTransaction[]> {
    const transactions: ProviderTransaction[] = [];
    let before: number | null = Number.MAX_SAFE_INTEGER;
    for (let page = 0; before !== null; page++) {
      const query = new URLSearchParams({ kind, reference: partnerReference, before: String(before) });
      const answer = await this.#ask(`/v1/deals?${query}&limit=${PAGE_SIZE}`, signal);
      if (!Array.isArray(answer['deals'])) throw new ProviderDown('its list is not in its form');
      for (const deal of answer['deals']) transactions.push(transactionOf(deal, partnerReference));
      const next: unknown = answer['next_before'];
      const goesOn = next === null || (typeof next === 'number' && next < before && page + 1 < MAX_PAGES);
      if (!goesOn) throw new ProviderDown('its list has no end');
      before = next;
    }
    return transactions;
  }

  async statement(startMs: number, signal: AbortSignal): Promise<readonly StatedRow[]> {
    const rows: StatedRow[] = [];
    let after: number | null = 0;
    for (let page = 0; after !== null; page++) {
      const day = new Date(startMs).toISOString().slice(0, 10);
      const answer = await this.#ask(`/v1/statements?day=${day}&after=${after}&limit=${PAGE_SIZE}`, signal);
      if (!Array.isArray(answer['rows'])) throw new ProviderDown('its statement is not in its form');
      rows.push(...answer['rows'].map(statedOf));
      const next: unknown = answer['next_after'];
      const goesOn = next === null || (typeof next === 'number' && next > after && page + 1 < MAX_STATED);
      if (!goesOn) throw new ProviderDown('its statement has no end');
      after = next;
    }
    return rows;
  }

  verifyWebhook(headers: WebhookHeaders, rawBody: Uint8Array, nowMs: number): WebhookEvent | null {
    if (checkHook(this.#webhookSecrets, headers, rawBody, nowMs) === null) return null;
    try {
      const { event_id, reference } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
      if (typeof event_id !== 'string' || !EVENT_ID.test(event_id)) return null;
      const isReference = typeof reference === 'string' && REFERENCE.test(reference);
      return { eventId: event_id, partnerReference: isReference ? reference : null };
    } catch {
      return null;
    }
  }

  async #ask(path: string, signal: AbortSignal): Promise<Answer> {
    const response = await this.#send(path, signal);
    if (!response.ok) throw new ProviderDown(`status ${response.status}`);
    return answerOf(response);
  }

  #send(path: string, signal: AbortSignal, body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#apiKey}`, 'content-type': 'application/json' };
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    return this.#calls.send(new URL(path, this.#url), { ...sent, headers, signal });
  }
}

async function answerOf(response: Response): Promise<Answer> {
  const answer: unknown = await response.json().catch(() => null);
  if (typeof answer !== 'object' || answer === null) throw new ProviderDown('its answer is no JSON object');
  return { ...answer };
}

/** SANDBOX-1 */
function transactionOf(deal: unknown, partnerReference: string): ProviderTransaction {
  const fields = membersOf(deal);
  const { value, currency } = membersOf(fields['amount']);
  const { id, asset, network, to_address, from_address, tx_hash, created_at_ms, updated_at_ms, deadline_at_ms } =
    fields;
  const status = STATUSES.find((each) => each === fields['status']);
  const isNamed = isText(id) && isText(asset) && isText(network) && isText(currency);
  const isPlaced = isTextOrNull(to_address) && isTextOrNull(from_address) && isTextOrNull(tx_hash);
  const isTimed = isCount(created_at_ms) && isCount(updated_at_ms);
  const isBounded = deadline_at_ms === null || isCount(deadline_at_ms);
  const isAmount = typeof value === 'string' && DECIMAL.test(value);
  const isIts = status !== undefined && fields['reference'] === partnerReference;
  if (!isNamed || !isPlaced || !isTimed || !isBounded || !isAmount || !isIts) {
    throw new ProviderDown('one of its deals is not in its form');
  }
  return {
    transactionId: id,
    status,
    asset,
    network,
    amount: { value, currency },
    toAddress: to_address,
    fromAddress: from_address,
    txHash: tx_hash,
    createdAtMs: created_at_ms,
    updatedAtMs: updated_at_ms,
    deadlineMs: deadline_at_ms,
  };
}

/** SANDBOX-1 */
function statedOf(row: unknown): StatedRow {
  const { id, reference, kind, status, amount, currency } = membersOf(row);
  const areTexts = isText(id) && isText(amount) && isText(currency);
  const isReference = typeof reference === 'string' && reference.length <= 49;
  const isKind = kind === 'onramp' || kind === 'offramp';
  const known = STATED_STATUSES.find((each) => each === status);
  if (!areTexts || !isReference || !isKind || known === undefined)
    throw new ProviderDown('a row of its statement is not in its form');
  return { transactionId: id, amount, currency, reference, kind, status: known };
}

/** None of a value that is no object. */
function membersOf(value: unknown): Answer {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 200;
}
