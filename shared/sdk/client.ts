/** The trading client: one method per route, signed with an API key where the route asks for one. */
import type { Clock } from '../clock.ts';
import type { Outcome } from '../codes.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain } from '../eip712.ts';
import { ApiError, DEFAULT_TIMEOUT_MS, sendRequest } from './http.ts';
import type { OrderDraft, OrderMarket, OrderSigner, SigningOptions } from './order.ts';
import { type Credentials, type PreparedRequest, prepareRequest, RequestSigner, withQuery } from './request.ts';
import type {
  AmendResponse,
  Balances,
  BatchCancelResponse,
  BatchPlaceResponse,
  Bbo,
  Book,
  BookOfOrders,
  BothBooks,
  CancelAllResponse,
  CancelMarketResponse,
  CancelReplaceResponse,
  ClaimResponse,
  FeeRate,
  FullSets,
  HeartbeatResponse,
  Market,
  Markets,
  Message,
  OrderGroup,
  OrderGroupSettings,
  OrderRecord,
  PlacementBody,
  PlacementResponse,
  PlatformConfig,
  QueuePosition,
  RateLimits,
  Redeemable,
  SideName,
  Status,
  TickSize,
  TombstoneResponse,
  UserOrders,
  UserTrades,
} from './types.ts';

/** Without credentials only the public routes work. */
export type ClientOptions = { baseUrl: string; credentials?: Credentials; timeoutMs?: number; clock?: Clock };

export type PlacingOptions = {
  /** A UUID: a repeat with it answers as the first time did. */
  idempotencyKey?: string;
  /** Unix milliseconds after which the order is not wanted any more. */
  deadlineMs?: number;
};

export type MarketsQuery = {
  status?: string;
  category?: string;
  deploy_status?: string;
  search?: string;
  sort?: string;
  order?: 'asc' | 'desc';
  limit?: number;
  offset?: number;
  cursor?: string;
};

export type UserOrdersQuery = {
  /** Comma-separated. */
  status?: string;
  side?: SideName;
  outcome?: Outcome;
  since?: string;
  sort?: 'created_at' | 'updated_at';
  limit?: number;
  offset?: number;
};

export type UserTradesQuery = {
  market_id?: string;
  /** The taker's side. */
  side?: SideName;
  since?: string;
  limit?: number;
  offset?: number;
};

export class ExchangeClient {
  readonly #origin: string;
  readonly #signer: RequestSigner | undefined;
  readonly #timeoutMs: number;
  #config: Promise<PlatformConfig> | undefined;

  constructor(options: ClientOptions) {
    this.#origin = new URL(options.baseUrl).origin;
    this.#signer = options.credentials && new RequestSigner(options.credentials, options.clock);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /** Without a key a repeat is refused as a duplicate. */
  placeOrder(body: PlacementBody, options?: PlacingOptions): Promise<PlacementResponse> {
    return this.#sendPlacing('POST', '/v1/orders', body, options);
  }

  /** The old order gives way to the new one in one step, or stays as it is. */
  cancelReplace(cancelHash: string, newOrder: PlacementBody, options?: PlacingOptions): Promise<CancelReplaceResponse> {
    const payload = { cancel_hash: cancelHash, new_order: newOrder };
    return this.#sendPlacing('POST', '/v1/orders/cancel-replace', payload, options);
  }

  /** Like a replacement on the same side of the same outcome, and keeps the place in the queue where it can. */
  amendOrder(orderHash: string, newOrder: PlacementBody, options?: PlacingOptions): Promise<AmendResponse> {
    const path = `/v1/orders/${segment(orderHash)}/amend`;
    return this.#sendPlacing('PUT', path, { new_order: newOrder }, options);
  }

  /** At most 15; each succeeds or fails by itself. */
  placeOrders(orders: PlacementBody[], options?: PlacingOptions): Promise<BatchPlaceResponse> {
    return this.#sendPlacing('POST', '/v1/orders/batch', { orders }, options);
  }

  /**
   * Signs and places. When the exchange has changed its contracts since the domain was read, `signer` learns the new
   * domain and the order is signed for it and sent once more.
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
    return this.#sendSigned('DELETE', `/v1/orders/${segment(orderHash)}`);
  }

  /** Also of an order that has not come yet: that is refused for a while, and the answer says until when. */
  cancelOrBury(orderHash: string): Promise<Message | TombstoneResponse> {
    return this.#sendSigned('DELETE', `/v1/orders/${segment(orderHash)}?tombstone=1`);
  }

  cancelByClientId(clientOrderId: string): Promise<Message> {
    return this.#sendSigned('DELETE', `/v1/orders/by-client-id/${segment(clientOrderId)}`);
  }

  /** At most 200; each succeeds or fails by itself. */
  cancelOrders(orderHashes: string[], idempotencyKey?: string): Promise<BatchCancelResponse> {
    return this.#sendPlacing('DELETE', '/v1/orders/batch', { order_hashes: orderHashes }, { idempotencyKey });
  }

  /** Where an open order stands in the queue of its price. */
  queuePosition(orderHash: string): Promise<QueuePosition> {
    return this.#sendSigned('GET', `/v1/orders/${segment(orderHash)}/queue`);
  }

  orderGroups(): Promise<{ order_groups: OrderGroup[] }> {
    return this.#sendSigned('GET', '/v1/user/order-groups');
  }

  /** Makes the group or changes it. */
  setOrderGroup(name: string, settings: OrderGroupSettings): Promise<OrderGroup> {
    return this.#sendSigned('PUT', `/v1/user/order-groups/${segment(name)}`, settings);
  }

  /** Lets it take orders again, from nothing filled on. */
  resetOrderGroup(name: string): Promise<OrderGroup> {
    return this.#sendSigned('POST', `/v1/user/order-groups/${segment(name)}/reset`);
  }

  getOrder(orderHash: string): Promise<OrderRecord> {
    return this.#sendSigned('GET', `/v1/orders/${segment(orderHash)}`);
  }

  openOrders(marketId: string): Promise<OrderRecord[]> {
    return this.#sendSigned('GET', `/v1/orders/open/${segment(marketId)}`);
  }

  cancelAll(): Promise<CancelAllResponse> {
    return this.#sendSigned('DELETE', '/v1/orders/cancel-all');
  }

  /** Both outcomes unless one is named. */
  cancelMarket(marketId: string, outcomeIndex?: Outcome): Promise<CancelMarketResponse> {
    const payload = { market_id: marketId, outcome_index: outcomeIndex };
    return this.#sendSigned('DELETE', '/v1/orders/cancel-market', payload);
  }

  /** Arms the dead-man's switch: from then on 15 seconds without another one cancel all open orders. */
  heartbeat(): Promise<HeartbeatResponse> {
    return this.#sendSigned('POST', '/v1/orders/heartbeat', {});
  }

  /** What is left of the key's limits, by endpoint. */
  rateLimits(): Promise<RateLimits> {
    return this.#sendSigned('GET', '/v1/rate-limits');
  }

  userOrders(query: UserOrdersQuery = {}): Promise<UserOrders> {
    return this.#sendSigned('GET', withQuery('/v1/user/orders/v2', query));
  }

  userTrades(query: UserTradesQuery = {}): Promise<UserTrades> {
    return this.#sendSigned('GET', withQuery('/v1/user/trades/v2', query));
  }

  balances(): Promise<Balances> {
    return this.#sendSigned('GET', '/v1/user/balances');
  }

  /** USDC into as many Yes and No tokens; atomic units, whole lots. */
  split(marketId: string, amountAtomic: number): Promise<FullSets> {
    return this.#sendSigned('POST', `/v1/markets/${segment(marketId)}/split`, { amount: String(amountAtomic) });
  }

  merge(marketId: string, amountAtomic: number): Promise<FullSets> {
    return this.#sendSigned('POST', `/v1/markets/${segment(marketId)}/merge`, { amount: String(amountAtomic) });
  }

  /** What can be claimed; the rows of one market add up to what its claim pays. */
  redeemable(): Promise<Redeemable[]> {
    return this.#sendSigned('GET', '/v1/user/redeemable');
  }

  /** All tokens of a decided market into what they pay. */
  claim(marketId: string): Promise<ClaimResponse> {
    return this.#sendSigned('POST', `/v1/user/positions/${segment(marketId)}/claim`);
  }

  book(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<Book> {
    return this.#sendPublic(withQuery(`/v1/orders/book/${segment(marketId)}`, query));
  }

  bothBooks(marketId: string, query: { levels?: number } = {}): Promise<BothBooks> {
    return this.#sendPublic(withQuery(`/v1/orders/book/${segment(marketId)}`, { both: true, ...query }));
  }

  /** Order by order, in the sequence in which they are filled. */
  bookOrders(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<BookOfOrders> {
    return this.#sendPublic(withQuery(`/v1/orders/book/${segment(marketId)}`, { l3: true, ...query }));
  }

  bbo(marketId: string, query: { outcome_index?: Outcome } = {}): Promise<Bbo> {
    return this.#sendPublic(withQuery(`/v1/market-data/${segment(marketId)}/bbo`, query));
  }

  /** At most 50, all of one moment. */
  bbos(markets: { market_id: string; outcome_index: Outcome }[]): Promise<{ markets: Bbo[] }> {
    return this.#send(prepareRequest('POST', '/v1/market-data/bbo', markets));
  }

  tickSize(marketId: string): Promise<TickSize> {
    return this.#sendPublic(`/v1/market-data/${segment(marketId)}/tick-size`);
  }

  /** Sign orders with its `maker_fee_bps`. */
  feeRate(marketId: string): Promise<FeeRate> {
    return this.#sendSigned('GET', `/v1/market-data/${segment(marketId)}/fee-rate`);
  }

  markets(query: MarketsQuery = {}): Promise<Markets> {
    return this.#sendPublic(withQuery('/v1/markets', query));
  }

  market(marketId: string): Promise<Market> {
    return this.#sendPublic(`/v1/markets/${segment(marketId)}`);
  }

  /** What signing needs of a market, from its record and its tick size. */
  async orderMarket(marketId: string): Promise<OrderMarket> {
    const [market, tickSize] = await Promise.all([this.market(marketId), this.tickSize(marketId)]);
    const { id, yes_token_id, no_token_id } = market;
    if (yes_token_id === undefined || no_token_id === undefined) throw new Error(`market ${id} has no tokens yet`);
    return { id, yes_token_id, no_token_id, ticks_per_unit: tickSize.ticks_per_unit };
  }

  time(): Promise<{ time: number }> {
    return this.#sendPublic('/v1/time');
  }

  health(): Promise<Status> {
    return this.#sendPublic('/health');
  }

  ready(): Promise<Status> {
    return this.#sendPublic('/ready');
  }

  /** Asked for once and kept; `signAndPlace` asks again after INVALID_SIGNATURE. */
  platformConfig(): Promise<PlatformConfig> {
    return this.#config ?? this.refreshConfig();
  }

  refreshConfig(): Promise<PlatformConfig> {
    const config = this.#sendPublic<PlatformConfig>('/v1/platform/config');
    this.#config = config;
    // A failed request is not kept: the next caller asks again.
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

  /** A signed request that is not sent yet; good once and while its timestamp holds. */
  prepareSigned(method: string, path: string, payload?: unknown): PreparedRequest {
    const signer = this.#signer;
    if (signer === undefined) throw new Error(`${method} ${path} needs an API key`);
    return prepareRequest(method, path, payload, (...parts) => signer.headers(...parts));
  }

  async #sendPlacing<T>(method: string, path: string, payload: unknown, options: PlacingOptions = {}): Promise<T> {
    const request = this.prepareSigned(method, path, payload);
    const { idempotencyKey, deadlineMs } = options;
    if (idempotencyKey !== undefined) request.headers['idempotency-key'] = idempotencyKey;
    if (deadlineMs !== undefined) request.headers['x-svc-deadline'] = String(deadlineMs);
    return this.#send(request);
  }

  async #sendSigned<T>(method: string, path: string, payload?: unknown): Promise<T> {
    return this.#send(this.prepareSigned(method, path, payload));
  }

  #sendPublic<T>(path: string): Promise<T> {
    return this.#send(prepareRequest('GET', path, undefined));
  }

  #send<T>(request: PreparedRequest): Promise<T> {
    return sendRequest(this.#origin, request, this.#timeoutMs);
  }
}

/** A path segment from outside cannot reach another route. */
function segment(text: string): string {
  return encodeURIComponent(text);
}
