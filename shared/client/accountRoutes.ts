/** The part of the client that has the routes of an account: its orders, what it holds, and its history. */
import type { Outcome } from '../base/codes.ts';
import type { AccountRequests, ClientOptions } from './accountRequests.ts';
import { unitsText } from './amounts.ts';
import { keyOfContent } from './idempotencyKey.ts';
import { type KeptConfig, MarketDataClient } from './marketData.ts';
import { eachRow } from './pages.ts';
import { expecting, type PlacingOptions, type ReplacingOptions } from './placingOptions.ts';
import { type PreparedRequest, segment, withQuery } from './request.ts';
import type {
  AmendResponse,
  Balances,
  BatchCancelResponse,
  BatchPlaceResponse,
  CancelAllResponse,
  CancelMarketResponse,
  CancelReplaceResponse,
  ClaimResponse,
  FullSets,
  HeartbeatResponse,
  LegacyUserOrders,
  LegacyUserTrades,
  LegacyUserTradesQuery,
  Message,
  OpenOrders,
  OpenOrdersQuery,
  OrderGroup,
  OrderGroupSettings,
  OrderGroups,
  OrderRecord,
  PlacementBody,
  PlacementResponse,
  QueuePosition,
  RateLimits,
  Redeemables,
  SetConversion,
  SetConverted,
  TombstoneResponse,
  TradeSettlement,
  UserActivity,
  UserActivityQuery,
  UserOrders,
  UserOrdersQuery,
  UserTrade,
  UserTrades,
  UserTradesQuery,
} from './types.ts';

export class AccountRoutes extends MarketDataClient {
  readonly #keys: ClientOptions['idempotencyKeys'];

  constructor(requests: AccountRequests, kept: KeptConfig, keys: ClientOptions['idempotencyKeys']) {
    super(requests, kept);
    this.#keys = keys;
  }

  /**
   * Places a signed order. Sending the same body again, even later or from another process, returns the first answer;
   * to place another order, sign it with another salt.
   */
  placeOrder(body: PlacementBody, options?: PlacingOptions): Promise<PlacementResponse> {
    return this.#sendPlacing('POST', '/v1/orders', body, options);
  }

  /**
   * Cancels the old order and places the new one in one step; when the new one is refused, the old one stays. 409
   * `ORDER_NOT_CANCELLABLE` if the old one is closed, 404 if the account never had it.
   */
  cancelReplace(
    cancelHash: string,
    newOrder: PlacementBody,
    options?: ReplacingOptions,
  ): Promise<CancelReplaceResponse> {
    const payload = { cancel_hash: cancelHash, new_order: newOrder, ...expecting(options) };
    return this.#sendPlacing('POST', '/v1/orders/cancel-replace', payload, options);
  }

  /** Replaces an order by one of the same outcome and side; it keeps its priority where RULES.md 7.10 allows. */
  amendOrder(orderHash: string, newOrder: PlacementBody, options?: ReplacingOptions): Promise<AmendResponse> {
    const path = `/v1/orders/${segment(orderHash)}/amend`;
    return this.#sendPlacing('PUT', path, { new_order: newOrder, ...expecting(options) }, options);
  }

  /** At most 15 orders; each succeeds or fails by itself. */
  placeOrders(orders: PlacementBody[], options?: PlacingOptions): Promise<BatchPlaceResponse> {
    return this.#sendPlacing('POST', '/v1/orders/batch', { orders }, options);
  }

  /**
   * Cancels the remainder of an open order. 409 `ORDER_NOT_CANCELLABLE` if it is closed, which also happens to a repeat
   * after a lost answer; 404 if the account has no such order.
   */
  cancelOrder(orderHash: string): Promise<Message> {
    return this.requests.send('DELETE', `/v1/orders/${segment(orderHash)}`);
  }

  /** If the order has not arrived yet, leaves a tombstone: it is refused until the time that the answer names. */
  cancelWithTombstone(orderHash: string): Promise<Message | TombstoneResponse> {
    return this.requests.send('DELETE', `/v1/orders/${segment(orderHash)}?tombstone=1`);
  }

  /**
   * Cancels the open order with this client order id (RULES.md 7.7). Only open orders have a client order id: 404 if
   * there is none, even if its order is closed, for which `cancelOrder` answers 409.
   */
  cancelByClientId(clientOrderId: string): Promise<Message> {
    return this.requests.send('DELETE', `/v1/orders/by-client-id/${segment(clientOrderId)}`);
  }

  /**
   * At most 200 orders; each cancel succeeds or fails by itself. Unless the caller gives a key, each call has a new key
   * that does not depend on its content: a repeated cancel must reach the book instead of returning an old answer.
   */
  cancelOrders(orderHashes: string[], idempotencyKey?: string): Promise<BatchCancelResponse> {
    const options = { idempotencyKey: this.#ownKey(idempotencyKey) };
    return this.#sendPlacing('DELETE', '/v1/orders/batch', { order_hashes: orderHashes }, options);
  }

  /** The queue position of an open order at its price. */
  queuePosition(orderHash: string): Promise<QueuePosition> {
    return this.requests.send('GET', `/v1/orders/${segment(orderHash)}/queue`);
  }

  /** The groups with their limits, counted fills, and state (RULES.md 7.9). */
  orderGroups(): Promise<OrderGroups> {
    return this.requests.send('GET', '/v1/user/order-groups');
  }

  /** Creates the group or changes its limit. */
  setOrderGroup(name: string, settings: OrderGroupSettings): Promise<OrderGroup> {
    return this.requests.send('PUT', `/v1/user/order-groups/${segment(name)}`, settings);
  }

  /** Lets a tripped group accept orders again; its window starts empty. */
  resetOrderGroup(name: string): Promise<OrderGroup> {
    return this.requests.send('POST', `/v1/user/order-groups/${segment(name)}/reset`);
  }

  /** The order with its status and remainder, in units of the asset that its maker gives; 404 if it never arrived. */
  getOrder(orderHash: string): Promise<OrderRecord> {
    return this.requests.send('GET', `/v1/orders/${segment(orderHash)}`);
  }

  /** Oldest first; the cursor of a page is the `sequence` of the last order of the page before. */
  openOrders(marketId: string, query: OpenOrdersQuery = {}): Promise<OpenOrders> {
    return this.requests.send('GET', withQuery(`/v1/orders/open/${segment(marketId)}`, query));
  }

  /** Cancels the open orders of all keys and sessions of the account; `cancelled` counts those it has cancelled. */
  cancelAll(): Promise<CancelAllResponse> {
    return this.requests.send('DELETE', '/v1/orders/cancel-all');
  }

  /** Cancels the orders of both outcomes, or of the one that is given. */
  cancelMarket(marketId: string, outcomeIndex?: Outcome): Promise<CancelMarketResponse> {
    const payload = { market_id: marketId, outcome_index: outcomeIndex };
    return this.requests.send('DELETE', '/v1/orders/cancel-market', payload);
  }

  /**
   * Arms the switch: without another heartbeat within 15 seconds, the orders of all keys of the account are cancelled.
   */
  heartbeat(): Promise<HeartbeatResponse> {
    return this.requests.send('POST', '/v1/orders/heartbeat', {});
  }

  /** The requests that the key's limits still allow, by endpoint. */
  rateLimits(): Promise<RateLimits> {
    return this.requests.send('GET', '/v1/rate-limits');
  }

  /** For the next page pass `next_cursor` as `cursor`; lists may have any length. */
  userOrders(query: UserOrdersQuery = {}): Promise<UserOrders> {
    return this.requests.send('GET', withQuery('/v1/user/orders/v2', query));
  }

  /** The fills of the account, newest first, from its own side (RULES.md 7.4); pages as in `userOrders`. */
  userTrades(query: UserTradesQuery = {}): Promise<UserTrades> {
    return this.requests.send('GET', withQuery('/v1/user/trades/v2', query));
  }

  /** Iterates over every fill of `userTrades`, newest first, reading pages as needed. */
  fills(query: Omit<UserTradesQuery, 'cursor' | 'offset'> = {}): AsyncGenerator<UserTrade, void, undefined> {
    return eachRow(
      (cursor) => this.userTrades({ ...query, cursor }),
      ({ trades }) => trades,
    );
  }

  /** The progress of a trade of the account on the chain, with the time of every step. */
  tradeSettlement(tradeId: string): Promise<TradeSettlement> {
    return this.requests.send('GET', `/v1/trades/${encodeURIComponent(tradeId)}/settlement`);
  }

  /** Orders that were placed, cancelled or expired, and fills. */
  userActivity(query: UserActivityQuery = {}): Promise<UserActivity> {
    return this.requests.send('GET', withQuery('/v1/user/activity', query));
  }

  /** The newest 100; `userOrders` has all of them, with more about each. */
  legacyUserOrders(): Promise<LegacyUserOrders> {
    return this.requests.send('GET', '/v1/user/orders');
  }

  /** The first version of `userTrades`. */
  legacyUserTrades(query: LegacyUserTradesQuery = {}): Promise<LegacyUserTrades> {
    return this.requests.send('GET', withQuery('/v1/user/trades', query));
  }

  /** USDC and tokens, available and reserved by open orders, in units: millionths of a USDC and of a token. */
  balances(): Promise<Balances> {
    return this.requests.send('GET', '/v1/user/balances');
  }

  /**
   * Turns USDC into as many Yes and No tokens; the amount is in atomic units, a whole number of lots. Each call is a
   * separate split, with a key that its retries share. To repeat a split whose answer was lost after all retries, pass
   * the same key to each call.
   */
  split(marketId: string, amountAtomic: bigint | number, idempotencyKey?: string): Promise<FullSets> {
    return this.#convert('split', marketId, amountAtomic, idempotencyKey);
  }

  /** Turns as many Yes and No tokens into USDC; keys as for `split`. */
  merge(marketId: string, amountAtomic: bigint | number, idempotencyKey?: string): Promise<FullSets> {
    return this.#convert('merge', marketId, amountAtomic, idempotencyKey);
  }

  /**
   * Converts tokens of an event set: a No of each named market becomes USDC and a Yes of each other one, or back. Keys
   * as for `split`; a dry run only says what would happen.
   */
  convert(eventId: string, conversion: SetConversion, idempotencyKey?: string): Promise<SetConverted> {
    const path = `/v1/events/${segment(eventId)}/convert`;
    return this.#sendPlacing('POST', path, conversion, { idempotencyKey: this.#ownKey(idempotencyKey) });
  }

  /** Tokens of decided markets that pay something; the rows of one market add up to what its claim pays. */
  redeemable(): Promise<Redeemables> {
    return this.requests.send('GET', '/v1/user/redeemable');
  }

  /** Exchanges all tokens of a decided market for their payout. */
  claim(marketId: string): Promise<ClaimResponse> {
    return this.requests.send('POST', `/v1/user/positions/${segment(marketId)}/claim`);
  }

  /** A request signed with the API key, not sent yet; it is valid once, and as long as its timestamp is. */
  prepareSigned(method: string, path: string, payload?: unknown): PreparedRequest {
    return this.requests.prepare(method, path, payload);
  }

  #convert(
    movement: 'split' | 'merge',
    marketId: string,
    amountAtomic: bigint | number,
    idempotencyKey?: string,
  ): Promise<FullSets> {
    const payload = { amount: unitsText(amountAtomic) };
    const path = `/v1/markets/${segment(marketId)}/${movement}`;
    return this.#sendPlacing('POST', path, payload, { idempotencyKey: this.#ownKey(idempotencyKey) });
  }

  /** A call's key that does not depend on its content, because the same content may be intended again. */
  #ownKey(given: string | undefined): string | null {
    return given ?? (this.#keys === 'given' ? null : crypto.randomUUID());
  }

  #sendPlacing<T>(method: string, path: string, payload: unknown, options: PlacingOptions = {}): Promise<T> {
    const { idempotencyKey, deadlineMs } = options;
    const ofContent = (): string | null =>
      this.#keys === 'given' ? null : keyOfContent(method, path, JSON.stringify(payload));
    const key = idempotencyKey === undefined ? ofContent() : idempotencyKey;
    const headers = {
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...(deadlineMs === undefined ? {} : { 'x-svc-deadline': String(deadlineMs) }),
    };
    return this.requests.send(method, path, payload, { headers, repeat: key === null ? 'once' : 'harmless' });
  }
}
