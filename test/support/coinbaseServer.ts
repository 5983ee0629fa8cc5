/**
 * Coinbase's servers for partners, as their documents describe them: it checks the token of each request, mints session
 * tokens, lists transactions newest first in pages, and signs webhooks. A test can make it misbehave.
 */
import { createHmac, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { jwtVerify } from 'jose';
import { type ProviderServer, startProvider } from './providerServer.ts';
import type { Scope } from './server.ts';

export const KEY_ID = 'organizations/of-the-tests/apiKeys/one';

type Row = Readonly<Record<string, unknown>>;
type Seen = { readonly path: string; readonly body: unknown };

/** A key of each documented form: as the portal shows it, and its public half. */
export function makeKey(kind: 'ed25519' | 'p256'): { readonly secret: string; readonly publicKey: KeyObject } {
  if (kind === 'p256') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { secret: privateKey.export({ type: 'sec1', format: 'pem' }).toString(), publicKey };
  }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { d, x } = privateKey.export({ format: 'jwk' });
  const bytes = Buffer.concat([Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')]);
  return { secret: bytes.toString('base64'), publicKey };
}

export class CoinbaseServer {
  readonly #server: ProviderServer;
  readonly #publicKey: KeyObject;
  readonly #rows = new Map<string, Row[]>();
  /** Requests that passed the check of their token, in order. */
  readonly seen: Seen[] = [];
  readonly tokens: string[] = [];
  /** Nonces of tokens: each may be used by one request. */
  readonly nonces = new Set<unknown>();
  /** Instead of the documented answer to the next requests, one each. */
  readonly faults: RequestListener[] = [];
  /** Rows of a page whatever the request says; null: as requested. */
  maxPage: number | null = null;

  private constructor(server: ProviderServer, publicKey: KeyObject) {
    this.#server = server;
    this.#publicKey = publicKey;
  }

  static async start(scope: Scope, publicKey: KeyObject): Promise<CoinbaseServer> {
    const server = await startProvider(scope, (_request, response) => response.end());
    const coinbase = new CoinbaseServer(server, publicKey);
    server.answer = (request, response) => void coinbase.#answer(request, response);
    return coinbase;
  }

  get url(): string {
    return `${this.#server.url}/onramp`;
  }

  /** Requests, including those answered by a fault. */
  get requests(): number {
    return this.#server.requests;
  }

  /** Newest first, as they are listed. */
  setRows(side: 'buy' | 'sell', reference: string, rows: readonly Row[]): void {
    this.#rows.set(`${side} ${reference}`, [...rows]);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.faults.shift();
    if (fault !== undefined) return fault(request, response);
    const url = new URL(request.url!, this.#server.url);
    const text = await textOf(request);
    response.setHeader('content-type', 'application/json');
    if (!(await this.#isAllowed(request, url))) {
      response.statusCode = 401;
      response.end('{"code":16,"message":"Unauthorized"}');
      return;
    }
    this.seen.push({ path: `${request.method} ${url.pathname}${url.search}`, body: text && JSON.parse(text) });
    response.end(JSON.stringify(this.#bodyOf(url)));
  }

  #bodyOf(url: URL): object {
    if (url.pathname === '/onramp/v1/token') {
      this.tokens.push(randomUUID());
      return { token: this.tokens.at(-1), channel_id: '' };
    }
    const [, side, reference] = /^\/onramp\/v1\/(buy|sell)\/user\/([^/]+)\/transactions$/.exec(url.pathname)!;
    const rows = this.#rows.get(`${side} ${reference}`) ?? [];
    const size = this.maxPage ?? Number(url.searchParams.get('pageSize') ?? 1);
    const from = Number(Buffer.from(url.searchParams.get('pageKey') ?? '', 'base64').toString() || 0);
    const isLast = from + size >= rows.length;
    const next = isLast ? '' : Buffer.from(String(from + size)).toString('base64');
    return { transactions: rows.slice(from, from + size), next_page_key: next, total_count: String(rows.length) };
  }

  async #isAllowed({ headers, method }: IncomingMessage, url: URL): Promise<boolean> {
    const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (token === undefined) return false;
    const expected = { issuer: 'cdp', audience: 'cdp_service', subject: KEY_ID, maxTokenAge: 120 };
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#publicKey, expected);
      const { kid, nonce, typ } = protectedHeader as Record<string, unknown>;
      const isNew = typeof nonce === 'string' && nonce !== '' && !this.nonces.has(nonce);
      this.nonces.add(nonce);
      const isFor = JSON.stringify(payload['uris']) === JSON.stringify([`${method} ${url.host}${url.pathname}`]);
      return isFor && isNew && kid === KEY_ID && typ === 'JWT' && payload.exp! - payload.nbf! === 120;
    } catch {
      return false;
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A webhook with its headers, written from the documents and not with the exchange's own code. */
export function coinbaseHook(secret: string, event: object | string, nowMs: number, only?: 'v0' | 'v1') {
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  const headers = { 'content-type': 'application/json', 'x-event-id': randomUUID(), 'x-event-type': 'offramp' };
  const time = Math.floor(nowMs / 1000);
  const names = 'content-type x-event-id x-event-type';
  const values = Object.values(headers).join('.');
  const mac = (text: string) => createHmac('sha256', secret).update(text).digest('hex');
  const v0 = only === 'v1' ? '' : `,v0=${mac(`${time}.${body}`)}`;
  const v1 = only === 'v0' ? '' : `,h=${names},v1=${mac(`${time}.${names}.${values}.${body}`)}`;
  return { headers: { ...headers, 'x-hook0-signature': `t=${time}${v0}${v1}` }, body: Buffer.from(body) };
}

/** Rows as in the documents' examples. */
export function soldRow(fields: Row = {}): Row {
  return {
    transaction_id: '1ee7a7ec-fdd1-6032-ad91-0e2bacb520d3',
    status: 'TRANSACTION_STATUS_CREATED',
    asset: 'USDC',
    network: 'polygon',
    sell_amount: { value: '25.000001', currency: 'USDC' },
    total: { value: '24.75', currency: 'USD' },
    subtotal: { value: '25', currency: 'USD' },
    coinbase_fee: { value: '0.25', currency: 'USD' },
    exchange_rate: { value: '1', currency: 'USD' },
    unit_price: { value: '1', currency: 'USD' },
    from_address: '0xA8A642FBA80749318036C97344FC73AE0B64C608',
    to_address: '0x742d35Cc6634C0532925a3b844Bc454e4438f44e',
    tx_hash: '',
    payment_method: 'ACH_BANK_ACCOUNT',
    created_at: '2025-09-02T02:34:13Z',
    updated_at: '2025-09-02T02:40:00Z',
    ...fields,
  };
}

export function boughtRow(fields: Row = {}): Row {
  return {
    status: 'ONRAMP_TRANSACTION_STATUS_SUCCESS',
    purchase_currency: 'USDC',
    purchase_network: 'polygon',
    purchase_amount: { value: '5', currency: 'USDC' },
    payment_total: { value: '5.07', currency: 'USD' },
    payment_subtotal: { value: '5', currency: 'USD' },
    coinbase_fee: { value: '0', currency: 'USD' },
    network_fee: { value: '0.07', currency: 'USD' },
    exchange_rate: { value: '1', currency: 'USDC' },
    tx_hash: '0x31814ba2fef2a400a9816767370be09ca12d9e9753b972198fe330a0ecedcbf6',
    created_at: '2023-09-26T20:06:07.076Z',
    completed_at: '0001-01-01T00:00:00Z',
    country: 'US',
    payment_method: 'CARD',
    wallet_address: '0xe0512E358C347cc2b1A42d057065CE642068b7Ba',
    transaction_id: '1ee7a7ec-fdd1-6032-ad91-0e2bacb520d4',
    ...fields,
  };
}
