/** The trading client: one method per route, with an API key or a session where the route asks for one. */
import type { Outcome } from '../base/codes.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain } from '../crypto/eip712.ts';
import { AccountClient } from './account.ts';
import { AccountRequests, type ClientOptions, type SendAuthorized } from './accountRequests.ts';
import { ApiError } from './http.ts';
import { LedgerClient } from './ledger.ts';
import type { OrderDraft, OrderMarket, OrderSigner, SigningOptions } from './order.ts';
import { PositionsClient } from './positions.ts';
import { type PreparedRequest, withQuery } from './request.ts';
import { SessionsClient } from './sessions.ts';
import type {
  AmendResponse,
  Balances,
  BatchCancelResponse,
  BatchPlaceResponse,
  Bbo,
  Book,
  BookOfOrders,
  BothBooks,
  BrowsedEvents,
  BrowsedQuotes,
  BrowseQuery,
  CancelAllResponse,
  CancelMarketResponse,
  CancelReplaceResponse,
  CatalogMetadata,
  ClaimResponse,
  EventsQuery,
  EventView,
  FeeRate,
  FullSets,
  HeartbeatResponse,
  LegacyUserOrders,
  LegacyUserTrades,
  LegacyUserTradesQuery,
  Market,
  MarketEvents,
  Markets,
  MarketsQuery,
  Message,
  OpenOrdersQuery,
  OrderGroup,
  OrderGroupSettings,
  OrderRecord,
  PlacementBody,
  PlacementResponse,
  PlatformConfig,
  QueuePosition,
  RateLimits,
  Redeemable,
  RelatedMarkets,
  SportsTaxonomy,
  Status,
  TickSize,
  TombstoneResponse,
  UserActivity,
  UserActivityQuery,
  UserOrders,
  UserOrdersQuery,
  UserTrades,
  UserTradesQuery,
} from './types.ts';
import { WalletsClient } from './wallets.ts';

export type PlacingOptions = {
  /** A UUID: a repeated request with the same key gets the answer of the first. */
  idempotencyKey?: string;
  /** Unix milliseconds after which the order is refused. */
  deadlineMs?: number;
};

export class ExchangeClient {
  /** The past of the account's balances. */
  readonly ledger: LedgerClient;
  readonly positions: PositionsClient;
  readonly account: AccountClient;
  readonly sessions: SessionsClient;
  readonly wallets: WalletsClient;
  readonly #requests: AccountRequests;
  #config: Promise<PlatformConfig> | undefined;

  constructor(options: ClientOptions) {
    const requests = new AccountRequests(options);
    const send: SendAuthorized = (method, path) => requests.send(method, path);
    this.#requests = requests;
    this.ledger = new LedgerClient({ get: (path) => send('GET', path), open: (path) => requests.open(path) });
    this.positions = new PositionsClient(send);
    this.account = new AccountClient(send);
    this.sessions = new SessionsClient(send);
    this.wallets = new WalletsClient(requests, options.domain);
  }

  /** Without an idempotency key a repeat is refused as a duplicate order. */
  placeOrder(body: PlacementBody, options?: PlacingOptions): Promise<PlacementResponse> {
    return this.#sendPlacing('POST', '/v1/orders', body, options);
  }

  /** Cancels the old order and places the new one in one step; when the new one is refused, the old one stays. */
  cancelReplace(cancelHash: string, newOrder: PlacementBody, options?: PlacingOptions): Promise<CancelReplaceResponse> {
    const payload = { cancel_hash: cancelHash, new_order: newOrder };
    return this.#sendPlacing('POST', '/v1/orders/cancel-replace', payload, options);
  }

  /** Replaces an order by one of the same outcome and side; it keeps its priority where RULES.md 7.10 allows. */
  amendOrder(orderHash: string, newOrder: PlacementBody, options?: PlacingOptions): Promise<AmendResponse> {
    const path = `/v1/orders/${segment(orderHash)}/amend`;
    return this.#sendPlacing('PUT', path, { new_order: newOrder }, options);
  }

  /** At most 15 orders; each succeeds or fails by itself. */
  placeOrders(orders: PlacementBody[], options?: PlacingOptions): Promise<BatchPlaceResponse> {
    return this.#sendPlacing('POST', '/v1/orders/batch', { orders }, options);
  }

  /**
   * Signs and places an order. When the exchange has changed its contracts since the domain was read, `signer` gets the
   * new domain, and the order is signed for it and sent once more.
   */
  async signAndPlace(signer: OrderSigner, draft: OrderDraft, options?: SigningOptions): Promise<PlacementResponse> {
    try {
      return await this.placeOrder(signer.sign(draft, options).body);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'INVALID_SIGNATURE') throw error;
      await this.refreshConfig();
      if (!signer.useDomain(await this.signingDomain())) throw error;
      return this.placeOrder(signer.sign(draft, options).body);
    }
  }

  cancelOrder(orderHash: string): Promise<Message> {
    return this.#requests.send('DELETE', `/v1/orders/${segment(orderHash)}`);
  }

  /** If the order has not arrived yet, leaves a tombstone: it is refused until the time that the answer names. */
  cancelWithTombstone(orderHash: string): Promise<Message | TombstoneResponse> {
    return this.#requests.send('DELETE', `/v1/orders/${segment(orderHash)}?tombstone=1`);
  }

  cancelByClientId(clientOrderId: string): Promise<Message> {
    return this.#requests.send('DELETE', `/v1/orders/by-client-id/${segment(clientOrderId)}`);
  }

  /** At most 200 orders; each cancel succeeds or fails by itself. */
  cancelOrders(orderHashes: string[], idempotencyKey?: string): Promise<BatchCancelResponse> {
    return this.#sendPlacing('DELETE', '/v1/orders/batch', { order_hashes: orderHashes }, { idempotencyKey });
  }

  /** The queue position of an open order at its price. */
  queuePosition(orderHash: string): Promise<QueuePosition> {
    return this.#requests.send('GET', `/v1/orders/${segment(orderHash)}/queue`);
  }

  orderGroups(): Promise<{ order_groups: OrderGroup[] }> {
    return this.#requests.send('GET', '/v1/user/order-groups');
  }

  /** Creates the group or changes its limit. */
  setOrderGroup(name: string, settings: OrderGroupSettings): Promise<OrderGroup> {
    return this.#requests.send('PUT', `/v1/user/order-groups/${segment(name)}`, settings);
  }

  /** Accepts orders of a tripped group again; its window starts empty. */
  resetOrderGroup(name: string): Promise<OrderGroup> {
    return this.#requests.send('POST', `/v1/user/order-groups/${segment(name)}/reset`);
  }

  getOrder(orderHash: string): Promise<OrderRecord> {
    return this.#requests.send('GET', `/v1/orders/${segment(orderHash)}`);
  }

  /** Oldest first; the cursor of a page is the `sequence` of the last order of the page before. */
  openOrders(marketId: string, query: OpenOrdersQuery = {}): Promise<OrderRecord[]> {
    return this.#requests.send('GET', withQuery(`/v1/orders/open/${segment(marketId)}`, query));
  }

  cancelAll(): Promise<CancelAllResponse> {
    return this.#requests.send('DELETE', '/v1/orders/cancel-all');
  }

  /** Cancels the orders of both outcomes, or of the one that is given. */
  cancelMarket(marketId: string, outcomeIndex?: Outcome): Promise<CancelMarketResponse> {
    const payload = { market_id: marketId, outcome_index: outcomeIndex };
    return this.#requests.send('DELETE', '/v1/orders/cancel-market', payload);
  }

  /** Arms the dead-man's switch: all open orders are cancelled unless another heartbeat follows within 15 seconds. */
  heartbeat(): Promise<HeartbeatResponse> {
    return this.#requests.send('POST', '/v1/orders/heartbeat', {});
  }

  /** The requests that the key's limits still allow, by endpoint. */
  rateLimits(): Promise<RateLimits> {
    return this.#requests.send('GET', '/v1/rate-limits');
  }

  /** The `next_cursor` of a page as `cursor` leads to the next one, however long the list is. */
  userOrders(query: UserOrdersQuery = {}): Promise<UserOrders> {
    return this.#requests.send('GET', withQuery('/v1/user/orders/v2', query));
  }

  userTrades(query: UserTradesQuery = {}): Promise<UserTrades> {
    return this.#requests.send('GET', withQuery('/v1/user/trades/v2', query));
  }

  /** Orders that were placed, cancelled or expired, and fills. */
  userActivity(query: UserActivityQuery = {}): Promise<UserActivity> {
    return this.#requests.send('GET', withQuery('/v1/user/activity', query));
  }

  /** The newest 100; `userOrders` has all of them, with more about each. */
  legacyUserOrders(): Promise<LegacyUserOrders> {
    return this.#requests.send('GET', '/v1/user/orders');
  }

  /** The first version of `userTrades`. */
  legacyUserTrades(query: LegacyUserTradesQuery = {}): Promise<LegacyUserTrades> {
    return this.#requests.send('GET', withQuery('/v1/user/trades', query));
  }

  balances(): Promise<Balances> {
    return this.#requests.send('GET', '/v1/user/balances');
  }

  /** Turns USDC into as many Yes and No tokens; the amount is in atomic units, a whole number of lots. */
  split(marketId: string, amountAtomic: number): Promise<FullSets> {
    return this.#requests.send('POST', `/v1/markets/${segment(marketId)}/split`, { amount: String(amountAtomic) });
  }

  merge(marketId: string, amountAtomic: number): Promise<FullSets> {
    return this.#requests.send('POST', `/v1/markets/${segment(marketId)}/merge`, { amount: String(amountAtomic) });
  }

  /** Tokens of decided markets that pay something; the rows of one market add up to what its claim pays. */
  redeemable(): Promise<Redeemable[]> {
    return this.#requests.send('GET', '/v1/user/redeemable');
  }

  /** Exchanges all tokens of a decided market for their payout. */
  claim(marketId: string): Promise<ClaimResponse> {
    return this.#requests.send('POST', `/v1/user/positions/${segment(marketId)}/claim`);
  }

  book(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<Book> {
    return this.#requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, query));
  }

  bothBooks(marketId: string, query: { levels?: number } = {}): Promise<BothBooks> {
    return this.#requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, { both: true, ...query }));
  }

  /** The single orders of the book, in the order in which they are filled. */
  bookOrders(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<BookOfOrders> {
    return this.#requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, { l3: true, ...query }));
  }

  bbo(marketId: string, query: { outcome_index?: Outcome } = {}): Promise<Bbo> {
    return this.#requests.read(withQuery(`/v1/market-data/${segment(marketId)}/bbo`, query));
  }

  /** Best prices of at most 50 books, all at the same moment. */
  bbos(markets: { market_id: string; outcome_index: Outcome }[]): Promise<{ markets: Bbo[] }> {
    return this.#requests.sendPublic('POST', '/v1/market-data/bbo', markets);
  }

  tickSize(marketId: string): Promise<TickSize> {
    return this.#requests.read(`/v1/market-data/${segment(marketId)}/tick-size`);
  }

  /** Its `maker_fee_bps` is the fee rate that orders are signed with. */
  feeRate(marketId: string): Promise<FeeRate> {
    return this.#requests.send('GET', `/v1/market-data/${segment(marketId)}/fee-rate`);
  }

  /** Events with what a page about many of them shows; with `quotes_only` perhaps only the quotes of their markets. */
  browseEvents(query: Partial<BrowseQuery> = {}): Promise<BrowsedEvents | BrowsedQuotes> {
    return this.#requests.read(withQuery('/v1/events/browse', query));
  }

  /** An event with everything that its page shows. */
  eventView(slug: string): Promise<EventView> {
    return this.#requests.read(`/v1/events/${segment(slug)}/view`);
  }

  /** The other markets of the same event or series. */
  relatedMarkets(marketId: string): Promise<RelatedMarkets> {
    return this.#requests.read(`/v1/markets/${segment(marketId)}/related`);
  }

  markets(query: MarketsQuery = {}): Promise<Markets> {
    return this.#requests.read(withQuery('/v1/markets', query));
  }

  /** The categories of the markets, and how many markets there are. */
  marketsMetadata(): Promise<CatalogMetadata> {
    return this.#requests.read('/v1/markets/metadata');
  }

  /** The leagues of the events and their teams. */
  sportsTaxonomy(): Promise<SportsTaxonomy> {
    return this.#requests.read('/v1/sports/taxonomy');
  }

  events(query: EventsQuery = {}): Promise<MarketEvents> {
    return this.#requests.read(withQuery('/v1/events', query));
  }

  market(marketId: string): Promise<Market> {
    return this.#requests.read(`/v1/markets/${segment(marketId)}`);
  }

  /** The parts of a market that signing needs, from its record and its tick size. */
  async orderMarket(marketId: string): Promise<OrderMarket> {
    const [market, tickSize] = await Promise.all([this.market(marketId), this.tickSize(marketId)]);
    const { id, yes_token_id, no_token_id } = market;
    if (yes_token_id === undefined || no_token_id === undefined) throw new Error(`market ${id} has no tokens yet`);
    return { id, yes_token_id, no_token_id, ticks_per_unit: tickSize.ticks_per_unit };
  }

  time(): Promise<{ time: number }> {
    return this.#requests.sendPublic('GET', '/v1/time');
  }

  health(): Promise<Status> {
    return this.#requests.sendPublic('GET', '/health');
  }

  ready(): Promise<Status> {
    return this.#requests.sendPublic('GET', '/ready');
  }

  /** Fetched once and kept; `signAndPlace` fetches it again after INVALID_SIGNATURE. */
  platformConfig(): Promise<PlatformConfig> {
    return this.#config ?? this.refreshConfig();
  }

  refreshConfig(): Promise<PlatformConfig> {
    const config = this.#requests.sendPublic<PlatformConfig>('GET', '/v1/platform/config');
    this.#config = config;
    // A failed request is not kept: the next caller fetches again.
    config.catch(() => {
      if (this.#config === config) this.#config = undefined;
    });
    return config;
  }

  async signingDomain(): Promise<Eip712Domain> {
    const { chain_id, exchange_address, eip712_domain } = await this.platformConfig();
    const { name, version } = eip712_domain ?? { name: DOMAIN_NAME, version: DOMAIN_VERSION };
    return { name, version, chainId: chain_id, verifyingContract: exchange_address };
  }

  /** A request signed with the API key, not sent yet; it is valid once, and as long as its timestamp is. */
  prepareSigned(method: string, path: string, payload?: unknown): PreparedRequest {
    return this.#requests.prepare(method, path, payload);
  }

  #sendPlacing<T>(method: string, path: string, payload: unknown, options: PlacingOptions = {}): Promise<T> {
    const { idempotencyKey, deadlineMs } = options;
    return this.#requests.send(method, path, payload, {
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(deadlineMs === undefined ? {} : { 'x-svc-deadline': String(deadlineMs) }),
    });
  }
}

/** Encodes a path segment, so that a value from outside cannot address another route. */
function segment(text: string): string {
  return encodeURIComponent(text);
}
