/**
 * Two servers, one with front threads and one without, that get the same requests about orders, good and spoiled ones:
 * their answers have to be equal (RULES.md 6.13).
 */
import { createHmac, randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import type { TestContext } from 'node:test';
import { errorMessage } from '../../shared/base/thrown.ts';
import { AUTH_HEADER, stringToSignV1 } from '../../shared/crypto/hmac.ts';
import { type Answered, requestOver } from './keptAlive.ts';
import type { Random } from './random.ts';
import { type Scope, startServer, type TestServer } from './server.ts';
import { makeMarket, makeTrader, type Trader } from './traders.ts';

export const CONNECTIONS = 4;
export const ORDERS_PATH = '/v1/orders';
/** Printed lines of a server that are shown if a request to it fails. */
const LAST_LINES = 5;

type Market = Awaited<ReturnType<typeof makeMarket>>;
export type Sent = { method: string; path: string; headers: Record<string, string | string[]>; body: string };
export type Got = Answered;
type Change = (sent: Sent, random: Random) => void;

/** One exchange with its traders, and connections that its threads have between them. */
export class Side {
  readonly server: TestServer;
  readonly market: Market;
  readonly trader: Trader;
  readonly narrow: Trader;
  /** Has never an order. */
  readonly idle: Trader;
  readonly agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));

  private constructor(server: TestServer, market: Market, trader: Trader, narrow: Trader, idle: Trader) {
    this.server = server;
    this.market = market;
    this.trader = trader;
    this.narrow = narrow;
    this.idle = idle;
  }

  static async start(scope: Scope, gateways: number, settings: Record<string, string> = {}): Promise<Side> {
    const server = await startServer(scope, { GATEWAYS: String(gateways), ADMIN_PORT: '0', ...settings });
    const market = await makeMarket(server);
    const narrow = await makeTrader(server, { scopes: ['read:account'] });
    const idle = await makeTrader(server, { depositMicro: 0 });
    return new Side(server, market, await makeTrader(server), narrow, idle);
  }

  close(t: TestContext): void {
    t.after(() => {
      for (const agent of this.agents) agent.destroy();
    });
  }

  async send({ method, path, headers, body }: Sent, connection: number): Promise<Got> {
    const agent = this.agents[connection % CONNECTIONS]!;
    try {
      return await requestOver(agent, this.server.baseUrl + path, { method, headers, body });
    } catch (cause) {
      const said = this.server.stderr.slice(-LAST_LINES).join('\n');
      throw new Error(`${method} ${path} ${JSON.stringify(headers)} ${body}: ${errorMessage(cause)}\n${said}`, {
        cause,
      });
    }
  }

  /** Calls that the fronts have prepared. */
  async prepared(): Promise<number> {
    const headers = { authorization: `Bearer ${this.server.adminToken}` };
    const text = await (await fetch(`${this.server.adminUrl}/metrics`, { headers })).text();
    const counts = [...text.matchAll(/^exchange_front_prepared_total\{thread="\d+"\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

/** Two exchanges and two moments differ in ids, hashes, addresses, times and long numbers. */
export function comparable({ status, head, body }: Got): unknown {
  const { date: _date, 'content-length': _length, 'x-request-id': _id, ...rest } = head;
  const plain = (text: string): string =>
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'ID')
      .replace(/0x[0-9a-f]+/gi, 'HEX')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"(?:request_id|order_id)":"[^"]*"/g, 'REQUEST')
      .replace(/\d{9,}/g, 'NUMBER');
  return {
    status,
    head: Object.fromEntries(Object.entries(rest).map(([k, v]) => [k, plain(String(v))])),
    body: plain(body),
  };
}

export function placement({ trader, market }: Side, changes: Record<string, unknown>): Sent {
  const body = trader.body(market, { price: '0.30', size: '1' }, changes);
  return { ...trader.client.prepareSigned('POST', ORDERS_PATH, body) };
}

function flipped(text: string, at: number): string {
  const other = text[at] === 'A' ? 'B' : 'A';
  return text.slice(0, at) + other + text.slice(at + 1);
}

/** Made before the signature: the order itself is wrong, or unusual. */
export const IN_ORDER: readonly Record<string, unknown>[] = [
  {},
  {},
  {},
  { client_order_id: 'quote 17' },
  { time_in_force: 'FAK' },
  { time_in_force: 'GTD' },
  { time_in_force: 'FOK', post_only: true },
  { outcome_index: 1 },
  { outcome_index: 2 },
  { side: 'HOLD' },
  { maker_amount: '0' },
  { maker_amount: '301' },
  { token_id: '17' },
  { market_id: '6f6b1a3e-0000-4000-8000-000000000000' },
  { market_id: 'none' },
  { signature: `0x${'1b'.repeat(65)}` },
  { signature: 'none' },
  { salt: '-1' },
  { nonce: 1.5 },
  { fee_rate_bps: 7 },
  { expiration: 1 },
  { order_group: 'unknown' },
  { min_taker_net: '1' },
  { more: 1 },
  { client_order_id: 'ü' },
];

/** Made after the signature. */
export const IN_REQUEST: readonly Change[] = [
  () => {},
  () => {},
  () => {},
  (sent, random) => {
    sent.headers[AUTH_HEADER.SIGNATURE] = flipped(String(sent.headers[AUTH_HEADER.SIGNATURE]), random.below(40));
  },
  (sent, random) => {
    if (sent.body !== '') sent.body = flipped(sent.body, random.below(sent.body.length));
  },
  (sent) => {
    if (sent.body !== '') sent.body = ` ${sent.body}`;
  },
  (sent) => {
    sent.headers[AUTH_HEADER.PASSPHRASE] = 'wrong';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.API_KEY] = 'key_unknown';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.API_KEY] = ['', ...[sent.headers[AUTH_HEADER.API_KEY]!].flat()];
  },
  (sent) => {
    sent.headers[AUTH_HEADER.API_KEY] = '';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.TIMESTAMP] = '1700000000';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.TIMESTAMP] = 'now';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.VERSION] = '3';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.NONCE] = 'short';
  },
  (sent, random) => {
    const names = Object.values(AUTH_HEADER).filter((name) => name in sent.headers);
    delete sent.headers[names[random.below(names.length)]!];
  },
  (sent) => {
    sent.headers['authorization'] = 'Bearer token';
  },
  (sent) => {
    sent.headers['idempotency-key'] = randomUUID();
  },
  (sent) => {
    sent.headers['idempotency-key'] = 'none';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = 'soon';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = '1700000000000';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = String(Date.now() + 60_000);
  },
  (sent) => {
    sent.headers['x-forwarded-for'] = '10.1.2.3';
    sent.headers['origin'] = 'https://other.example';
  },
  (sent) => {
    sent.headers['connection'] = 'close';
  },
  (sent) => {
    sent.path += sent.path.includes('?') ? '&a=1' : '?a=1';
  },
  (sent) => {
    sent.method = 'PUT';
  },
  (sent) => {
    sent.headers['x-other'] = 'ü';
  },
];

/** The same request, signed in version 1. */
export function signedInVersion1({ credentials }: Trader, sent: Sent): void {
  const { secret } = credentials;
  const timestamp = String(sent.headers[AUTH_HEADER.TIMESTAMP]);
  delete sent.headers[AUTH_HEADER.VERSION];
  delete sent.headers[AUTH_HEADER.NONCE];
  sent.headers[AUTH_HEADER.SIGNATURE] = createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(stringToSignV1(timestamp, sent.method, sent.path) + sent.body)
    .digest('base64');
}
