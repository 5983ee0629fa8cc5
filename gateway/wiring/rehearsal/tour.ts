/**
 * Sends rare requests, once in every act of a rehearsal: headers that few clients send, the last request of a
 * connection, an act of an administrator, requests that are refused (RULES.md 10.25). If V8 has compiled code without
 * having seen such a request, it discards that code when the first one comes, and the orders after it run slowly again.
 */
import { OUTCOME } from '../../../shared/base/codes.ts';
import { prepareRequest } from '../../../shared/client/request.ts';
import type { MarketEntry } from '../../markets/catalog.ts';
import { Connection, toBytes } from './connection.ts';
import { draftOf, sendAll, signedRequest, type Trader } from './flow.ts';

type TourOptions = {
  readonly baseUrl: string;
  readonly connections: readonly Connection[];
  /** The administrator's token. */
  readonly token: string;
  readonly trader: Trader;
  readonly market: MarketEntry;
};

const RARE_HEADERS = {
  authorization: 'Bearer rehearsal',
  cookie: 'a=b',
  'idempotency-key': 'rehearsal',
  'x-svc-deadline': '0',
  'x-forwarded-for': '127.0.0.1',
  via: '1.1 rehearsal',
  'access-control-request-method': 'GET',
};
const PRICE = '0.30';
/** The longest salt. */
const SALT = String(2n ** 256n - 1n);
const OPEN_ORDERS = 100_000;
const WALLET = `0x${'11'.repeat(20)}`;

export async function takeTour({ baseUrl, connections, token, trader, market }: TourOptions): Promise<void> {
  const read = `/v1/market-data/${market.id}/bbo`;
  const bounds = { max_open_orders: OPEN_ORDERS, max_open_orders_per_market: OPEN_ORDERS };
  const asAdministrator = () => ({ authorization: `Bearer ${token}` });
  const { body } = trader.orders.sign(draftOf(market, OUTCOME.YES, PRICE), SALT);
  await sendAll(connections, [
    toBytes(prepareRequest('GET', read, undefined, () => RARE_HEADERS)),
    toBytes(prepareRequest('GET', '/no/such/path', undefined)),
    toBytes(prepareRequest('POST', '/admin/users', { wallet_address: WALLET }, asAdministrator)),
    toBytes(prepareRequest('PUT', `/admin/users/${trader.id}/open-order-bounds`, bounds, asAdministrator)),
    signedRequest(trader, 'POST', '/v1/orders', body),
    signedRequest(trader, 'POST', '/v1/orders', { ...body, salt: 'none' }),
    signedRequest(trader, 'POST', '/v1/orders', body),
  ]);
  await sendLast(baseUrl, toBytes(prepareRequest('GET', read, undefined, () => ({ connection: 'close' }))));
  // A chunked answer, which the client does not read to its end.
  await sendLast(baseUrl, signedRequest(trader, 'GET', `/v1/orders/open/${market.id}`));
}

/** Sends a request over a connection that is closed afterwards. */
async function sendLast(baseUrl: string, request: Buffer): Promise<void> {
  const connection = await Connection.open(baseUrl);
  await sendAll([connection], [request]);
  connection.close();
}
