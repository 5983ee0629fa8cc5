/**
 * Markets, their outcomes and events. A market is `WORDS_OF_ITS_TITLE_1A2B3C4D`: titles repeat, so the end of its id is
 * part of the handle, and no two markets share one. Its outcomes are `…:YES` and `…:NO`, by their labels, and
 * `outcomeId` is the id of the token.
 *
 * The exchange lists markets without their grid. `loadTerms` reads the tick, the lot and the least order of one market,
 * and sets `precision`, `limits` and `tickSize`; every method that places an order calls it, and so does fetchOutcome.
 */
import { Requests } from './requests.ts';
import { ArgumentsRequired, BadSymbol, type Dict, Precise, type Str, type Unified } from './upstream.ts';

const PAGE = 100;

export abstract class MarketsOf extends Requests {
  /** All by pages, newest first, up to `limit`; `params.search` and `params.status` select. */
  async fetchMarkets(params: Dict = {}): Promise<Unified[]> {
    const most = this.safeInteger(params, 'limit', this.safeInteger(this.options, 'fetchMarketsLimit', 1000))!;
    const queries = this.parseSearchQueries(params);
    const rest = this.omit(params, ['limit', 'query', 'queries']);
    const search = queries.length > 0 ? { search: queries.join(' ') } : {};
    const markets: Dict[] = [];
    let cursor: Str;
    do {
      const page = cursor === undefined ? {} : { cursor };
      const request = { limit: Math.min(PAGE, most - markets.length), ...search, ...page };
      const answer = await this.publicGetMarkets(this.extend(request, rest));
      for (const raw of this.safeList(answer, 'markets', [])!) markets.push(this.parseMarket(raw));
      cursor = this.safeString(answer, 'next_cursor');
    } while (cursor !== undefined && markets.length < most);
    return markets;
  }

  /** Returns any, as the base class has a market of crypto here. */
  parseMarket(raw: Dict): Unified {
    const id = this.safeString(raw, 'id')!;
    const market = this.slugToMarketSymbol(undefined, this.safeString(raw, 'title')) + this.endOf(id);
    const status = this.safeString(raw, 'status');
    const payouts = this.safeList(raw, 'payouts');
    const [created, end] = ['created_at', 'trading_ends_at'].map((name) => this.parse8601(this.safeString(raw, name)));
    const outcomes = [0, 1].map((index) => this.parseOutcome(raw, market, index));
    const won = outcomes.find((outcome) => outcome['winner'] === true);
    const fee = this.parseNumber(Precise.stringDiv(this.safeString(raw, 'fee_bps', '0'), '10000'));
    return {
      ...{ id, market, event: this.safeString(raw, 'event_id'), info: raw, outcomes },
      ...{ marketType: 'binary', executionModel: 'clob', collateral: 'USDC', type: 'prediction', prediction: true },
      ...{ spot: false, margin: false, swap: false, future: false, option: false, contract: false },
      ...{ base: market, baseId: id, quote: 'USDC', quoteId: 'USDC', maker: fee, taker: fee, percentage: true },
      ...{ tierBased: false, feeSide: 'get', fees: { trading: fee, resolution: this.parseNumber('0') } },
      title: this.safeString(raw, 'title'),
      description: this.safeString(raw, 'description'),
      active: status === 'active',
      closed: status !== 'active' && status !== 'pending',
      resolved: payouts !== undefined,
      resolvedOutcome: won === undefined ? undefined : this.safeString(won, 'outcome'),
      ...{ created, createdDatetime: this.iso8601(created), end, endDatetime: this.iso8601(end) },
      volume: this.safeNumber(raw, 'total_volume'),
      openInterest: this.safeNumber(raw, 'open_interest'),
      resolutionSource: this.safeString(raw, 'resolution_source'),
      precision: { amount: undefined, price: undefined },
      limits: this.limitsOf(undefined, undefined),
    };
  }

  private endOf(id: string): string {
    return `_${id.slice(-8).toUpperCase()}`;
  }

  private parseOutcome(raw: Dict, market: string, index: number): Dict {
    const label = this.safeString(this.safeList(raw, 'outcomes', []), index, index === 0 ? 'Yes' : 'No');
    const words = this.slugToOutcomeSymbol(undefined, market, label);
    const payouts = this.safeList(raw, 'payouts');
    const paid = payouts === undefined ? undefined : this.fromUnits(this.safeString(payouts, index));
    return {
      outcome: `${market}:${words.slice(words.indexOf(':') + 1)}`,
      outcomeId: this.safeString(raw, index === 0 ? 'yes_token_id' : 'no_token_id'),
      ...{ label, market, marketId: this.safeString(raw, 'id'), event: this.safeString(raw, 'event_id') },
      price: this.safeNumber(this.safeDict(raw, 'current_prices', {}), index.toString()),
      active: this.safeString(raw, 'status') === 'active',
      winner: paid === undefined ? undefined : paid === '1',
      settleFraction: paid === undefined ? undefined : this.parseNumber(paid),
      info: { market_id: this.safeString(raw, 'id'), outcome_index: index },
    };
  }

  limitsOf(tick: Str, least: Str): Dict {
    const dearest = tick === undefined ? undefined : Precise.stringSub('1', tick);
    return {
      amount: { min: this.parseNumber(least), max: this.parseNumber('1000000000') },
      price: { min: this.parseNumber(tick), max: this.parseNumber(dearest) },
      cost: { min: undefined, max: this.parseNumber('1000000000') },
      leverage: { min: undefined, max: undefined },
    };
  }

  /** One request for each market, once: a market keeps its grid for ever. */
  async loadTerms(market: Str): Promise<Dict> {
    const known: Unified = this.market(market!);
    if (known['tickSize'] !== undefined) return known;
    const answer = await this.publicGetMarketDataIdTickSize({ id: known['id'] });
    const [tick, lot] = [this.safeString(answer, 'tick_size'), this.safeString(answer, 'lot_size_atomic')];
    const precision = { amount: this.parseNumber(this.fromUnits(lot)), price: this.parseNumber(tick) };
    known['precision'] = precision;
    known['limits'] = this.limitsOf(tick, this.fromUnits(this.safeString(answer, 'min_order_size_atomic')));
    known['tickSize'] = precision.price;
    for (const outcome of this.safeList(known, 'outcomes', [])!) outcome['precision'] = precision;
    return known;
  }

  /** The market, outcome and place of an outcome, with the grid of its market. */
  async termsOf(outcome: Str): Promise<Dict> {
    const found = await this.loadOutcome(outcome!);
    await this.loadTerms(this.safeString(found, 'market'));
    return found;
  }

  /** Adds markets to those that are known, so that their handles work at once. */
  protected keepMarkets(rows: readonly Dict[]): void {
    const byHandle: Dict = this.extend({}, this.markets ?? {});
    for (const row of rows) byHandle[row['market']] ??= row;
    this.setMarkets(Object.values(byHandle));
  }

  /** Rows of an account name markets by id, also those that are not listed any more. */
  protected async loadMarketsOf(rows: readonly Dict[]): Promise<void> {
    const ids = new Set(rows.map((row) => this.safeString(row, 'market_id')));
    const missing = [...ids].filter((id) => id !== undefined && this.markets_by_id?.[id] === undefined);
    const found = await Promise.all(missing.map((id) => this.publicGetMarketsId({ id })));
    if (found.length > 0) this.keepMarkets(found.map((raw) => this.parseMarket(raw)));
  }

  /** The outcome of a row; its market is loaded (loadMarketsOf). */
  protected outcomeAt(marketId: Str, index: Str): Dict {
    const known: Unified = this.markets_by_id?.[marketId!]?.[0];
    const outcome = known === undefined ? undefined : this.safeDict(known['outcomes'], Number(index));
    return outcome ?? this.safeOutcome(undefined);
  }

  protected identityOf(outcome: Dict): Dict {
    const { outcome: handle, outcomeId, label, market, event } = outcome;
    return { outcome: handle, outcomeId, label, market, event };
  }

  /** By its handle or the id of its token: the words of a handle find its market, an id is looked up in the list. */
  async fetchOutcome(outcome: string): Promise<Unified> {
    const words = this.outcomeSearchQuery(outcome.replace(/_[0-9A-F]{8}(?=:|$)/, ''));
    const search = words === undefined ? {} : { query: words };
    this.keepMarkets(await this.fetchMarkets(search));
    if (!this.hasOutcome(outcome)) throw new BadSymbol(`${this.id} does not have outcome ${outcome}`);
    const found = this.safeOutcome(outcome);
    await this.loadTerms(this.safeString(found, 'market'));
    return this.safeOutcome(outcome);
  }

  /** With their markets. `params`: query, status (`active`, `upcoming`, `live`, `ended`, `all`), category, limit. */
  async fetchEvents(params: Dict = {}): Promise<Unified[]> {
    const slug = this.safeString2(params, 'slug', 'eventId');
    if (slug !== undefined) return [await this.fetchEvent(slug)];
    const queries = this.parseSearchQueries(params);
    const rest = this.omit(params, ['query', 'queries', 'tags', 'searchIn', 'sort', 'limit']);
    const limit = this.safeInteger(params, 'limit', PAGE)!;
    const search = queries.length > 0 ? { search: queries.join(' ') } : {};
    const answer = await this.publicGetEventsBrowse(this.extend({ limit, ...search }, rest));
    const events = this.safeList(answer, 'events', [])!.map((raw: Dict) => this.parseEvent(raw));
    return this.keepEvents(this.applyEventFetchParams(events, this.omit(params, ['status']), queries));
  }

  /** @param id the slug, or the id of an event that fetchEvents has shown. */
  async fetchEvent(id: string, _params: Dict = {}): Promise<Unified> {
    if (id === undefined) throw new ArgumentsRequired(`${this.id} fetchEvent() requires a slug`);
    const known = this.safeDict(this.events, id);
    const slug = known === undefined ? id : this.safeString(known, 'slug');
    const [event] = this.keepEvents([this.parseEvent(await this.publicGetEventsSlugView({ slug }))]);
    return event;
  }

  private keepEvents(events: Unified[]): Unified[] {
    this.setEvents(events);
    this.keepMarkets(events.flatMap((event) => event['markets']));
    return events;
  }

  parseEvent(raw: Dict): Unified {
    const groups = this.safeList(raw, 'market_groups', [])!;
    const rows = this.safeList(raw, 'markets') ?? groups.flatMap((group: Dict) => group['markets']);
    const [id, slug, status] = ['id', 'slug', 'status'].map((name) => this.safeString(raw, name));
    const created = this.parse8601(this.safeString(raw, 'created_at'));
    const category = this.safeString(raw, 'category');
    return {
      ...{ id, slug, event: id, category, tags: category === undefined ? [] : [category] },
      title: this.safeString(raw, 'title'),
      description: this.safeString(raw, 'description'),
      markets: rows.map((row: Dict) => this.parseMarket(row)),
      mutuallyExclusive: this.safeBool(raw, 'external_event_mutually_exclusive'),
      active: status === 'upcoming' || status === 'live',
      resolved: status === 'ended' || status === 'cancelled',
      volume: this.safeNumber(raw, 'total_volume'),
      ...{ created, createdDatetime: this.iso8601(created), image: this.safeString(raw, 'image_url'), info: raw },
    };
  }
}
