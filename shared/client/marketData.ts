/** The part of the client that reads markets, events, books and prices: public, but counted on the account's limit. */
import type { Outcome } from '../base/codes.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain } from '../crypto/eip712.ts';
import type { AccountRequests } from './accountRequests.ts';
import type { OrderMarket } from './order.ts';
import { eachRow } from './pages.ts';
import { segment, withQuery } from './request.ts';
import type {
  Bbo,
  Bbos,
  Book,
  BookOfOrders,
  BothBooks,
  BrowsedEvents,
  BrowsedQuotes,
  BrowseQuery,
  Candle,
  Candles,
  CandlesQuery,
  CatalogMetadata,
  ChainHealth,
  EventsQuery,
  EventView,
  FeeRate,
  Health,
  Market,
  MarketEvents,
  Markets,
  MarketsQuery,
  PlatformConfig,
  Readiness,
  RelatedMarkets,
  ServerTime,
  SportsTaxonomy,
  Ticker,
  Tickers,
  TickSize,
} from './types.ts';

/** The platform's config is fetched once for all clients made from one. */
export type KeptConfig = { config: Promise<PlatformConfig> | undefined };

export class MarketDataClient {
  protected readonly requests: AccountRequests;
  readonly #kept: KeptConfig;

  constructor(requests: AccountRequests, kept: KeptConfig) {
    this.requests = requests;
    this.#kept = kept;
  }

  /** The levels of one outcome, best first: 20 unless `levels` says another number up to 100. Prices are decimals. */
  book(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<Book> {
    return this.requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, query));
  }

  /** The levels of both outcomes at the same moment. */
  bothBooks(marketId: string, query: { levels?: number } = {}): Promise<BothBooks> {
    return this.requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, { both: true, ...query }));
  }

  /** The single orders of the book, in the order in which they are filled. */
  bookOrders(marketId: string, query: { outcome_index?: Outcome; levels?: number } = {}): Promise<BookOfOrders> {
    return this.requests.read(withQuery(`/v1/orders/book/${segment(marketId)}`, { l3: true, ...query }));
  }

  /** The best bid and ask of one outcome, Yes unless it is given; null where a side is empty. */
  bbo(marketId: string, query: { outcome_index?: Outcome } = {}): Promise<Bbo> {
    return this.requests.read(withQuery(`/v1/market-data/${segment(marketId)}/bbo`, query));
  }

  /** Best prices of at most 50 books, all at the same moment. */
  bbos(markets: { market_id: string; outcome_index: Outcome }[]): Promise<Bbos> {
    return this.requests.sendPublic('POST', '/v1/market-data/bbo', markets);
  }

  /** The grid: ticks to one USDC, and the least lot and order in units of a token. */
  tickSize(marketId: string): Promise<TickSize> {
    return this.requests.read(`/v1/market-data/${segment(marketId)}/tick-size`);
  }

  /** Its `maker_fee_bps` is the fee rate that orders are signed with. */
  feeRate(marketId: string): Promise<FeeRate> {
    return this.requests.send('GET', `/v1/market-data/${segment(marketId)}/fee-rate`);
  }

  /** Events with what a page about many of them shows; with `quotes_only` perhaps only the quotes of their markets. */
  browseEvents(query: Partial<BrowseQuery> = {}): Promise<BrowsedEvents | BrowsedQuotes> {
    return this.requests.read(withQuery('/v1/events/browse', query));
  }

  /** An event with everything that its page shows. */
  eventView(slug: string): Promise<EventView> {
    return this.requests.read(`/v1/events/${segment(slug)}/view`);
  }

  /**
   * The trading of a market by interval, an hour unless it is given, oldest first; `next_cursor` as `cursor` leads to
   * the intervals before. Those without a trade have no prices.
   */
  candles(marketId: string, query: CandlesQuery = {}): Promise<Candles> {
    return this.requests.read(withQuery(`/v1/markets/${segment(marketId)}/candles`, query));
  }

  /** Every interval of `candles`, newest first, page by page as they are read. */
  eachCandle(marketId: string, query: Omit<CandlesQuery, 'cursor'> = {}): AsyncGenerator<Candle, void, undefined> {
    return eachRow(
      (cursor) => this.candles(marketId, { ...query, cursor }),
      ({ candles }) => candles.toReversed(),
    );
  }

  /** The last price, what was traded in 24 hours, and the best prices, of one outcome: Yes unless it is given. */
  ticker(marketId: string, query: { outcome_index?: Outcome } = {}): Promise<Ticker> {
    return this.requests.read(withQuery(`/v1/markets/${segment(marketId)}/ticker`, query));
  }

  /** The tickers of Yes of every market that is not decided, all of one moment. */
  tickers(): Promise<Tickers> {
    return this.requests.read('/v1/tickers');
  }

  /** The other markets of the same event or series. */
  relatedMarkets(marketId: string): Promise<RelatedMarkets> {
    return this.requests.read(`/v1/markets/${segment(marketId)}/related`);
  }

  /** A page of the markets that fit; `next_cursor` as `cursor` leads to the next one. */
  markets(query: MarketsQuery = {}): Promise<Markets> {
    return this.requests.read(withQuery('/v1/markets', query));
  }

  /** The categories of the markets, and how many markets there are. */
  marketsMetadata(): Promise<CatalogMetadata> {
    return this.requests.read('/v1/markets/metadata');
  }

  /** The leagues of the events and their teams. */
  sportsTaxonomy(): Promise<SportsTaxonomy> {
    return this.requests.read('/v1/sports/taxonomy');
  }

  /** A page of the events that fit. */
  events(query: EventsQuery = {}): Promise<MarketEvents> {
    return this.requests.read(withQuery('/v1/events', query));
  }

  /** One market with its status, times, tokens and fee; 404 if it is unknown or not public yet. */
  market(marketId: string): Promise<Market> {
    return this.requests.read(`/v1/markets/${segment(marketId)}`);
  }

  /** The parts of a market that signing needs, from its record and its tick size. */
  async orderMarket(marketId: string): Promise<OrderMarket> {
    const [market, tickSize] = await Promise.all([this.market(marketId), this.tickSize(marketId)]);
    const { id, yes_token_id, no_token_id } = market;
    if (yes_token_id === undefined || no_token_id === undefined) throw new Error(`market ${id} has no tokens yet`);
    return { id, yes_token_id, no_token_id, ticks_per_unit: tickSize.ticks_per_unit };
  }

  /** Unix seconds, in one attempt. */
  time(): Promise<ServerTime> {
    return this.requests.probe('/v1/time');
  }

  /** Milliseconds that the exchange's clock is ahead, as they are used to sign; 0 until a difference is known. */
  get clockOffsetMs(): number {
    return this.requests.clock.offsetMs;
  }

  /**
   * Reads the exchange's clock and signs by it from now on. @returns what it is ahead in milliseconds, right to about
   * half a second and half the time of the request
   */
  async measureClock(): Promise<number> {
    const { clock } = this.requests;
    const sentMs = clock.ownMs;
    return clock.measured((await this.time()).time, sentMs);
  }

  /** Resolves if the process answers; one attempt. */
  health(): Promise<Health> {
    return this.requests.probe('/health');
  }

  /** Resolves if the exchange reaches the chain, or its own ledger where it has none; one attempt. */
  chainHealth(): Promise<ChainHealth> {
    return this.requests.probe('/health/polygon');
  }

  /** Resolves if the exchange trades, in one attempt; 503 with its `status` while it starts, recovers or stops. */
  ready(): Promise<Readiness> {
    return this.requests.probe('/ready');
  }

  /** Fetched once and kept; `signAndPlace` fetches it again after INVALID_SIGNATURE. */
  platformConfig(): Promise<PlatformConfig> {
    return this.#kept.config ?? this.refreshConfig();
  }

  /** Fetches the platform's config now, and keeps it for all who ask later. */
  refreshConfig(): Promise<PlatformConfig> {
    const config = this.requests.sendPublic<PlatformConfig>('GET', '/v1/platform/config');
    this.#kept.config = config;
    // A failed request is not kept: the next caller fetches again.
    config.catch(() => {
      if (this.#kept.config === config) this.#kept.config = undefined;
    });
    return config;
  }

  /** The EIP-712 domain that orders are signed for (RULES.md 5.1), of the config that is kept. */
  async signingDomain(): Promise<Eip712Domain> {
    const { chain_id, exchange_address, eip712_domain } = await this.platformConfig();
    const { name, version } = eip712_domain ?? { name: DOMAIN_NAME, version: DOMAIN_VERSION };
    return { name, version, chainId: chain_id, verifyingContract: exchange_address };
  }
}
