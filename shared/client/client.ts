/** The trading client: one method per route, with an API key or a session where the route asks for one. */
import type { Outcome } from '../base/codes.ts';
import { AccountClient } from './account.ts';
import { AccountRequests, type CallOptions, type ClientOptions, type SendAuthorized } from './accountRequests.ts';
import { unitsText } from './amounts.ts';
import { leavesOpen } from './answers.ts';
import { FiatClient } from './fiat.ts';
import { GamingClient } from './gaming.ts';
import { type HeartbeatOptions, Heartbeats } from './heartbeats.ts';
import { ApiError } from './http.ts';
import { keyOfContent } from './idempotencyKey.ts';
import { LedgerClient } from './ledger.ts';
import { type KeptConfig, MarketDataClient } from './marketData.ts';
import type { OrderDraft, SignedOrder, SigningOptions } from './order.ts';
import type { OrderSigning } from './orderSigning.ts';
import { OrderTracker } from './orderTracker.ts';
import { PlacedOrder, UnknownOutcomeError } from './placedOrder.ts';
import { type PlaceIntent, Placer } from './placer.ts';
import { expecting, type PlacingOptions, type ReplacingOptions } from './placingOptions.ts';
import { PositionsClient } from './positions.ts';
import { type PreparedRequest, segment, withQuery } from './request.ts';
import { SessionsClient } from './sessions.ts';
import type { ExchangeStream, StreamOptions } from './stream/exchangeStream.ts';
import type { OrderSocketOptions } from './stream/orderSocket.ts';
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
  TombstoneResponse,
  TradeSettlement,
  UserActivity,
  UserActivityQuery,
  UserOrders,
  UserOrdersQuery,
  UserTrades,
  UserTradesQuery,
} from './types.ts';
import { WalletsClient } from './wallets.ts';

export type { PlacingOptions, ReplacingOptions };
export type PlaceOptions = PlacingOptions & SigningOptions;

/** All clients that were made of one by `with` have the same. */
type Shared = KeptConfig & { readonly placer: Placer; readonly tracker: OrderTracker };

const BEAT_TIMEOUT_MS = 4000;
/** The stream has them from the client. */
type AccessField = 'baseUrl' | 'signer' | 'session';

export class ExchangeClient extends MarketDataClient {
  /** The past of the account's balances. */
  readonly ledger: LedgerClient;
  readonly positions: PositionsClient;
  readonly account: AccountClient;
  readonly sessions: SessionsClient;
  readonly wallets: WalletsClient;
  /** Cashing in and out. */
  readonly fiat: FiatClient;
  readonly gaming: GamingClient;
  readonly #options: ClientOptions;
  readonly #shared: Shared;

  /** @param parent the client whose clock, config and stream this one shares; `with` gives it */
  constructor(options: ClientOptions, parent?: ExchangeClient) {
    const requests = new AccountRequests(options, parent?.requests.clock);
    const shared: Shared =
      parent !== undefined
        ? parent.#shared
        : {
            config: undefined,
            placer: new Placer(options.wallet),
            tracker: new OrderTracker({ openStream: () => this.openStream(), read: (hash) => this.getOrder(hash) }),
          };
    super(requests, shared);
    const send: SendAuthorized = (method, path) => requests.send(method, path);
    this.#options = options;
    this.#shared = shared;
    this.ledger = new LedgerClient({
      get: (path) => send('GET', path),
      send: (method, path, body) => requests.send(method, path, body),
      open: (path) => requests.open(path),
    });
    this.positions = new PositionsClient(send);
    this.account = new AccountClient(send);
    this.sessions = new SessionsClient(send);
    this.wallets = new WalletsClient(requests, options.domain);
    this.fiat = new FiatClient(requests);
    this.gaming = new GamingClient(requests);
  }

  /** The same client with another time-out, signal or policy of retries: `client.with({ signal }).balances()`. */
  with(call: CallOptions): ExchangeClient {
    return new ExchangeClient({ ...this.#options, ...call }, this);
  }

  /**
   * Signs an order with the client's wallet and places it. Rejects with an ApiError if it is refused, and with an
   * UnknownOutcomeError, which has the order, if no answer of the exchange came. Each call is an order of its own,
   * unless `options.salt` makes it the same.
   */
  async place(intent: PlaceIntent, options: PlaceOptions = {}): Promise<PlacedOrder> {
    const { placer, tracker } = this.#shared;
    const { signal } = this.requests;
    const parts = { orders: this, tracker, signal };
    return placer.place(this, intent, options, async (order) => {
      try {
        return new PlacedOrder(order, await this.placeOrder(order.body, options), parts);
      } catch (error) {
        if (!leavesOpen(error) && !signal?.aborted) throw error;
        throw new UnknownOutcomeError(new PlacedOrder(order, null, parts), error);
      }
    });
  }

  /**
   * The order that `place` would send, for `placeOrders`, `cancelReplace` and `amendOrder`, or to keep before sending.
   */
  signOrder(intent: PlaceIntent, options: SigningOptions = {}): Promise<SignedOrder> {
    return this.#shared.placer.sign(this, intent, options);
  }

  /** A stream of the same account: books and private events. Its owner closes it. */
  async openStream(options: Omit<StreamOptions, AccessField> = {}): Promise<ExchangeStream> {
    const { ExchangeStream } = await import('./stream/exchangeStream.ts');
    return new ExchangeStream({ baseUrl: this.requests.addresses.startingHere(), ...this.requests.access, ...options });
  }

  /**
   * The same client, whose requests about orders go over a socket: signed once, answered as over HTTP, and sent over
   * HTTP while the socket is away or where `form` cannot carry them. Its `close` closes the socket.
   */
  async overSocket(options: OrderSocketOptions & Omit<StreamOptions, AccessField> = {}): Promise<ExchangeClient> {
    const { OrderSocket } = await import('./stream/orderSocket.ts');
    const orderSocket = new OrderSocket(
      { ...options, baseUrl: this.requests.addresses.startingHere(), ...this.requests.access },
      options,
    );
    await orderSocket.ready(this.#options.timeoutMs);
    return new ExchangeClient({ ...this.#options, orderSocket }, this);
  }

  /** Arms the dead man's switch of the whole account, and keeps it from going off until the result is closed. */
  startHeartbeats(options?: HeartbeatOptions): Promise<Heartbeats> {
    const single = this.with({ retry: false, timeoutMs: BEAT_TIMEOUT_MS });
    return Heartbeats.start(() => single.heartbeat(), options);
  }

  /** Ends what `order.done` waits for, which rejects, and a socket for orders. Requests over HTTP are answered. */
  close(): void {
    this.#options.orderSocket?.close();
    this.#shared.tracker.close();
  }

  /**
   * Places a signed order. Sending the same body again, also later and from another process, gives the answer of the
   * first time; what is meant to be another order is signed with another salt.
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
   * Signs and places an order. When the exchange has changed its contracts since the domain was read, `signer` gets the
   * new domain, and the order is signed for it and sent once more.
   */
  async signAndPlace(signer: OrderSigning, draft: OrderDraft, options?: SigningOptions): Promise<PlacementResponse> {
    try {
      return await this.placeOrder((await signer.sign(draft, options)).body);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'INVALID_SIGNATURE') throw error;
      await this.refreshConfig();
      if (!signer.useDomain(await this.signingDomain())) throw error;
      return this.placeOrder((await signer.sign(draft, options)).body);
    }
  }

  /**
   * Cancels what is left of an open order. 409 `ORDER_NOT_CANCELLABLE` if it is closed, which a repeat after a lost
   * answer meets as well; 404 if the account has no such order.
   */
  cancelOrder(orderHash: string): Promise<Message> {
    return this.requests.send('DELETE', `/v1/orders/${segment(orderHash)}`);
  }

  /** If the order has not arrived yet, leaves a tombstone: it is refused until the time that the answer names. */
  cancelWithTombstone(orderHash: string): Promise<Message | TombstoneResponse> {
    return this.requests.send('DELETE', `/v1/orders/${segment(orderHash)}?tombstone=1`);
  }

  /**
   * Cancels the open order of this client order id (RULES.md 7.7). A name belongs to open orders only: 404 if there is
   * none, also when its order is closed, where `cancelOrder` answers 409.
   */
  cancelByClientId(clientOrderId: string): Promise<Message> {
    return this.requests.send('DELETE', `/v1/orders/by-client-id/${segment(clientOrderId)}`);
  }

  /**
   * At most 200 orders; each cancel succeeds or fails by itself. Without a key of the caller each call has one of its
   * own and not that of its content: a cancel that is meant again must reach the book, and not an answer of before.
   */
  cancelOrders(orderHashes: string[], idempotencyKey?: string): Promise<BatchCancelResponse> {
    const options = { idempotencyKey: this.#ownKey(idempotencyKey) };
    return this.#sendPlacing('DELETE', '/v1/orders/batch', { order_hashes: orderHashes }, options);
  }

  /** The queue position of an open order at its price. */
  queuePosition(orderHash: string): Promise<QueuePosition> {
    return this.requests.send('GET', `/v1/orders/${segment(orderHash)}/queue`);
  }

  /** The groups with their limits, what they have counted, and whether they have tripped (RULES.md 7.9). */
  orderGroups(): Promise<OrderGroups> {
    return this.requests.send('GET', '/v1/user/order-groups');
  }

  /** Creates the group or changes its limit. */
  setOrderGroup(name: string, settings: OrderGroupSettings): Promise<OrderGroup> {
    return this.requests.send('PUT', `/v1/user/order-groups/${segment(name)}`, settings);
  }

  /** Accepts orders of a tripped group again; its window starts empty. */
  resetOrderGroup(name: string): Promise<OrderGroup> {
    return this.requests.send('POST', `/v1/user/order-groups/${segment(name)}/reset`);
  }

  /** The order with its status and what is left of it, in units of what its maker gives; 404 if it never arrived. */
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

  /** Arms the switch: without another one in 15 seconds the orders of all keys of the account are cancelled. */
  heartbeat(): Promise<HeartbeatResponse> {
    return this.requests.send('POST', '/v1/orders/heartbeat', {});
  }

  /** The requests that the key's limits still allow, by endpoint. */
  rateLimits(): Promise<RateLimits> {
    return this.requests.send('GET', '/v1/rate-limits');
  }

  /** The `next_cursor` of a page as `cursor` leads to the next one, however long the list is. */
  userOrders(query: UserOrdersQuery = {}): Promise<UserOrders> {
    return this.requests.send('GET', withQuery('/v1/user/orders/v2', query));
  }

  /** The fills of the account, newest first, from its own side (RULES.md 7.4); pages as in `userOrders`. */
  userTrades(query: UserTradesQuery = {}): Promise<UserTrades> {
    return this.requests.send('GET', withQuery('/v1/user/trades/v2', query));
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
   * split of its own, with a key that its attempts share. To repeat one whose answer was lost after all attempts, give
   * each of its calls the same key.
   */
  split(marketId: string, amountAtomic: bigint | number, idempotencyKey?: string): Promise<FullSets> {
    return this.#convert('split', marketId, amountAtomic, idempotencyKey);
  }

  /** Turns as many Yes and No tokens into USDC; keys as for `split`. */
  merge(marketId: string, amountAtomic: bigint | number, idempotencyKey?: string): Promise<FullSets> {
    return this.#convert('merge', marketId, amountAtomic, idempotencyKey);
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

  /** The key of a call that is not that of its content, because the same content is meant again. */
  #ownKey(given: string | undefined): string | null {
    return given ?? (this.#options.idempotencyKeys === 'given' ? null : crypto.randomUUID());
  }

  #sendPlacing<T>(method: string, path: string, payload: unknown, options: PlacingOptions = {}): Promise<T> {
    const { idempotencyKey, deadlineMs } = options;
    const ofContent = (): string | null =>
      this.#options.idempotencyKeys === 'given' ? null : keyOfContent(method, path, JSON.stringify(payload));
    const key = idempotencyKey === undefined ? ofContent() : idempotencyKey;
    const headers = {
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...(deadlineMs === undefined ? {} : { 'x-svc-deadline': String(deadlineMs) }),
    };
    return this.requests.send(method, path, payload, { headers, repeat: key === null ? 'once' : 'harmless' });
  }
}
