/**
 * Rare requests, once in every act of a rehearsal: headers that few clients send, the last request of a connection, an
 * act of an administrator, kinds of orders and ends that the flow has none of, requests that are refused. Code that V8
 * has compiled without having seen them is thrown away when the first of them comes, and the orders after it run slowly
 * again.
 */
import { OUTCOME } from '../../../shared/base/codes.ts';
import type { OrderDraft, SignedOrder } from '../../../shared/client/order.ts';
import { prepareRequest } from '../../../shared/client/request.ts';
import type { MarketEntry } from '../../store/catalog.ts';
import { Connection, toBytes } from './connection.ts';
import { draftOf, sendAll, signedRequest, type Trader } from './flow.ts';

type TourOptions = {
  readonly baseUrl: string;
  readonly connections: readonly Connection[];
  /** Of the administrator. */
  readonly token: string;
  readonly trader: Trader;
  /** All of its orders are cancelled. */
  readonly taker: Trader;
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
/** Of the other outcome: it meets the best orders there are. */
const MEETING_PRICE = '0.60';
const CLIENT_ORDER_ID = 'rehearsal';
const DAY_SEC = 86_400;
/** The longest there is. */
const SALT = String(2n ** 256n - 1n);
const OPEN_ORDERS = 100_000;
const WALLET = `0x${'11'.repeat(20)}`;

export async function takeTour({ baseUrl, connections, token, trader, taker, market }: TourOptions): Promise<void> {
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
  await sendRareOrders(connections, trader, market);
  const ofMarket = { market_id: market.id, outcome_index: OUTCOME.NO };
  await sendAll(connections, [signedRequest(taker, 'DELETE', '/v1/orders/cancel-market', ofMarket)]);
  await sendAll(connections, [signedRequest(taker, 'DELETE', '/v1/orders/cancel-all')]);
  await sendLast(baseUrl, toBytes(prepareRequest('GET', read, undefined, () => ({ connection: 'close' }))));
  // An answer in pieces, which the client does not read to its end.
  await sendLast(baseUrl, signedRequest(trader, 'GET', `/v1/orders/open/${market.id}`));
}

/** Each of them is accepted: the trader has tokens from the turn before. */
async function sendRareOrders(connections: readonly Connection[], trader: Trader, market: MarketEntry): Promise<void> {
  const yes = draftOf(market, OUTCOME.YES, PRICE);
  const meeting = draftOf(market, OUTCOME.NO, MEETING_PRICE);
  const expiration = Math.floor(Date.now() / 1000) + DAY_SEC;
  const { maker_amount, taker_amount } = yes;
  const signed = (terms: Partial<OrderDraft>) => trader.orders.sign({ ...yes, ...terms });
  const place = ({ body }: SignedOrder): Buffer => signedRequest(trader, 'POST', '/v1/orders', body);
  const [tagged, amended, listed] = [signed({ client_order_id: CLIENT_ORDER_ID }), signed({}), signed({})];
  await sendAll(connections, [
    ...[tagged, amended, listed].map(place),
    place(signed({ post_only: true })),
    place(signed({ time_in_force: 'GTD', expiration })),
    place(signed({ side: 'SELL', maker_amount: taker_amount, taker_amount: maker_amount })),
    place(trader.orders.sign({ ...meeting, time_in_force: 'FOK' })),
    place(trader.orders.sign({ ...meeting, time_in_force: 'FAK' })),
  ]);
  const refused = { ...signed({}).body, salt: 'none' };
  await sendAll(connections, [
    signedRequest(trader, 'DELETE', `/v1/orders/by-client-id/${CLIENT_ORDER_ID}`),
    signedRequest(trader, 'PUT', `/v1/orders/${amended.orderHash}/amend`, { new_order: signed({}).body }),
    signedRequest(trader, 'POST', '/v1/orders/batch', { orders: [signed({}).body, refused] }),
    signedRequest(trader, 'DELETE', '/v1/orders/batch', { order_hashes: [listed.orderHash, tagged.orderHash] }),
  ]);
}

/** Over a connection that is closed afterwards. */
async function sendLast(baseUrl: string, request: Buffer): Promise<void> {
  const connection = await Connection.open(baseUrl);
  await sendAll([connection], [request]);
  connection.close();
}
