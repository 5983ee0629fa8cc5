/**
 * Markets, their outcomes and events. A market is `WORDS_OF_ITS_TITLE_1A2B3C4D`: titles repeat, so the end of its id is
 * part of the handle, and no two markets share one. Its outcomes are `…:YES` and `…:NO`, by their labels, and
 * `outcomeId` is the id of the token.
 *
 * Dictionaries are written where they are kept, and no copy of one is changed: in PHP a copy is another one.
 *
 * The exchange lists markets without their grid. `loadTerms` reads the tick, the lot and the least order of one market,
 * and sets `precision`, `limits` and `tickSize`; every method that places an order calls it, and so does fetchOutcome.
 */
import { Requests } from './requests.ts';
import { ArgumentsRequired, BadSymbol, type Dict, type Int, Precise, type Str, type Unified } from './upstream.ts';

export abstract class MarketsOf extends Requests {
  /** All by pages, newest first, up to `limit`; `params.query` and `params.status` select. */
  async fetchMarkets(params: Dict = {}): Promise<Unified[]> {
    const most = this.safeInteger(params, 'limit', this.safeInteger(this.options, 'fetchMarketsLimit', 1000));
    const query = this.extend(this.searchOf(params), this.omit(params, ['limit', 'query', 'queries']));
    const markets: Dict[] = [];
    let left = most;
    let cursor: Str;
    while (left > 0) {
      const request: Dict = { limit: Math.min(100, left) };
      if (cursor !== undefined) {
        request['cursor'] = cursor;
      }
      const answer = await this.publicGetMarkets(this.extend(request, query));
      const rows = this.safeList(answer, 'markets', []);
      for (const raw of rows) {
        markets.push(this.parseMarket(raw));
      }
      cursor = this.safeString(answer, 'next_cursor');
      const found = markets.length;
      left = cursor === undefined ? 0 : most - found;
    }
    return markets;
  }

  searchOf(params: Dict): Dict {
    const queries = this.parseSearchQueries(params);
    const count = queries.length;
    return count > 0 ? { search: queries.join(' ') } : {};
  }

  /** Returns any, as the base class has a market of crypto here. */
  parseMarket(raw: Dict): Unified {
    const id = this.safeString(raw, 'id', '');
    const title = this.safeString(raw, 'title');
    const market = `${this.slugToMarketSymbol(undefined, title)}_${id.slice(-8).toUpperCase()}`;
    const status = this.safeString(raw, 'status');
    const created = this.parse8601(this.safeString(raw, 'created_at'));
    const end = this.parse8601(this.safeString(raw, 'trading_ends_at'));
    const yes = this.parseOutcome(raw, market, 0);
    const no = this.parseOutcome(raw, market, 1);
    let won: Str;
    if (yes['winner'] === true) {
      won = yes['outcome'];
    } else if (no['winner'] === true) {
      won = no['outcome'];
    }
    const fee = this.parseNumber(Precise.stringDiv(this.safeString(raw, 'fee_bps', '0'), '10000'));
    return {
      id,
      market,
      event: this.safeString(raw, 'event_id'),
      info: raw,
      outcomes: [yes, no],
      marketType: 'binary',
      executionModel: 'clob',
      collateral: 'USDC',
      type: 'prediction',
      prediction: true,
      spot: false,
      margin: false,
      swap: false,
      future: false,
      option: false,
      contract: false,
      base: market,
      baseId: id,
      quote: 'USDC',
      quoteId: 'USDC',
      maker: fee,
      taker: fee,
      percentage: true,
      tierBased: false,
      feeSide: 'get',
      fees: { trading: fee, resolution: this.parseNumber('0') },
      title,
      description: this.safeString(raw, 'description'),
      active: status === 'active',
      closed: status !== 'active' && status !== 'pending',
      resolved: this.safeList(raw, 'payouts') !== undefined,
      resolvedOutcome: won,
      created,
      createdDatetime: this.iso8601(created),
      end,
      endDatetime: this.iso8601(end),
      volume: this.safeNumber(raw, 'total_volume'),
      openInterest: this.safeNumber(raw, 'open_interest'),
      resolutionSource: this.safeString(raw, 'resolution_source'),
      precision: { amount: undefined, price: undefined },
      limits: this.limitsOf(undefined, undefined),
    };
  }

  parseOutcome(raw: Dict, market: string, index: number): Dict {
    const usual = index === 0 ? 'Yes' : 'No';
    const label = this.safeString(this.safeList(raw, 'outcomes', []), index, usual);
    const words = this.slugToOutcomeSymbol(undefined, market, label).split(':');
    const payouts = this.safeList(raw, 'payouts');
    let paid: Str;
    let winner: Unified;
    if (payouts !== undefined) {
      paid = this.fromUnits(this.safeString(payouts, index));
      winner = paid === '1';
    }
    const place: Unified = this.numberToString(index);
    return {
      outcome: `${market}:${words[1]}`,
      outcomeId: this.safeString(raw, index === 0 ? 'yes_token_id' : 'no_token_id'),
      label,
      market,
      marketId: this.safeString(raw, 'id'),
      event: this.safeString(raw, 'event_id'),
      price: this.safeNumber(this.safeDict(raw, 'current_prices', {}), place),
      active: this.safeString(raw, 'status') === 'active',
      winner,
      settleFraction: this.parseNumber(paid),
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
  async loadTerms(market: string): Promise<Dict> {
    const known: Unified = this.market(market);
    if (this.safeNumber(known, 'tickSize') !== undefined) {
      return known;
    }
    const answer = await this.publicGetMarketDataIdTickSize({ id: known['id'] });
    const tick = this.safeString(answer, 'tick_size');
    const lot = this.fromUnits(this.safeString(answer, 'lot_size_atomic'));
    const precision = { amount: this.parseNumber(lot), price: this.parseNumber(tick) };
    const limits = this.limitsOf(tick, this.fromUnits(this.safeString(answer, 'min_order_size_atomic')));
    const listed = this.safeList(known, 'outcomes', []);
    const outcomes: Dict[] = [];
    for (const outcome of listed) {
      outcomes.push(this.extend(outcome, { precision }));
    }
    const terms: Unified = this.extend(known, { precision, limits, tickSize: precision['price'], outcomes });
    if (this.markets !== undefined) {
      this.markets[market] = terms;
    }
    this.indexMarketOutcomes(terms);
    return terms;
  }

  /** The market, outcome and place of an outcome, with the grid of its market. */
  async termsOf(outcome: Str): Promise<Dict> {
    const found = await this.loadOutcome(outcome);
    await this.loadTerms(found['market']);
    return this.safeOutcome(found['outcome']);
  }

  /** Adds markets to those that are known, so that their handles work at once. */
  keepMarkets(rows: Dict[]): void {
    const byHandle: Dict = {};
    const known = this.markets === undefined ? [] : this.toArray(this.markets);
    const all = this.arrayConcat(known, rows);
    for (const row of all) {
      const handle = row['market'];
      if (!(handle in byHandle)) {
        byHandle[handle] = row;
      }
    }
    this.setMarkets(this.toArray(byHandle));
  }

  /** Rows of an account name markets by id, also those that are not listed any more. */
  async loadMarketsOf(rows: Dict[]): Promise<void> {
    const seen: Dict = {};
    const promises: Promise<Dict>[] = [];
    for (const row of rows) {
      const id = this.safeString(row, 'market_id');
      if (id !== undefined && !(id in seen) && this.safeList(this.markets_by_id, id) === undefined) {
        seen[id] = true;
        promises.push(this.publicGetMarketsId({ id }));
      }
    }
    const answers = await Promise.all(promises);
    const markets: Dict[] = [];
    for (const raw of answers) {
      markets.push(this.parseMarket(raw));
    }
    const found = markets.length;
    if (found > 0) {
      this.keepMarkets(markets);
    }
  }

  /** The outcome of a row; its market is loaded (loadMarketsOf). */
  outcomeAt(marketId: Str, index: Int): Dict {
    const markets = this.safeList(this.markets_by_id, marketId, []);
    const outcomes = this.safeList(this.safeDict(markets, 0, {}), 'outcomes', []);
    const outcome = this.safeDict(outcomes, index);
    return outcome === undefined ? this.safeOutcome(undefined) : outcome;
  }

  identityOf(outcome: Dict): Dict {
    return {
      outcome: this.safeString(outcome, 'outcome'),
      outcomeId: this.safeString(outcome, 'outcomeId'),
      label: this.safeString(outcome, 'label'),
      market: this.safeString(outcome, 'market'),
      event: this.safeString(outcome, 'event'),
    };
  }

  /** By its handle or the id of its token: the words of a handle find its market, an id is looked up in the list. */
  async fetchOutcome(outcome: string): Promise<Unified> {
    const parts = outcome.split(':');
    const words = parts[0].split('_');
    // The last of them is the end of the id of its market, which is no word of its title.
    words.pop();
    const search = this.outcomeSearchQuery(words.join('_'));
    const query: Dict = {};
    if (search !== undefined) {
      query['query'] = search;
    }
    this.keepMarkets(await this.fetchMarkets(query));
    if (!this.hasOutcome(outcome)) {
      throw new BadSymbol(`${this.id} does not have outcome ${outcome}`);
    }
    const found = this.safeOutcome(outcome);
    await this.loadTerms(found['market']);
    return this.safeOutcome(outcome);
  }

  /** With their markets. `params`: query, status (`active`, `upcoming`, `live`, `ended`, `all`), category, limit. */
  async fetchEvents(params: Dict = {}): Promise<Unified[]> {
    const slug = this.safeString2(params, 'slug', 'eventId');
    if (slug !== undefined) {
      return [await this.fetchEvent(slug)];
    }
    const rest = this.omit(params, ['query', 'queries', 'tags', 'searchIn', 'sort', 'limit']);
    const request = this.extend({ limit: this.safeInteger(params, 'limit', 100) }, this.searchOf(params));
    const answer = await this.publicGetEventsBrowse(this.extend(request, rest));
    const rows = this.safeList(answer, 'events', []);
    const events: Dict[] = [];
    for (const raw of rows) {
      events.push(this.parseEvent(raw));
    }
    const queries = this.parseSearchQueries(params);
    return this.keepEvents(this.applyEventFetchParams(events, this.omit(params, ['status']), queries));
  }

  /** By its slug, or the id of an event that fetchEvents has shown. */
  async fetchEvent(id: string, _params: Dict = {}): Promise<Unified> {
    if (id === undefined) {
      throw new ArgumentsRequired(`${this.id} fetchEvent() requires a slug`);
    }
    const known = this.safeDict(this.events, id);
    const slug = known === undefined ? id : this.safeString(known, 'slug');
    const raw = await this.publicGetEventsSlugView({ slug });
    const events = this.keepEvents([this.parseEvent(raw)]);
    return events[0];
  }

  keepEvents(events: Unified[]): Unified[] {
    this.setEvents(events);
    let markets: Dict[] = [];
    for (const event of events) {
      markets = this.arrayConcat(markets, event['markets']);
    }
    this.keepMarkets(markets);
    return events;
  }

  parseEvent(raw: Dict): Unified {
    const groups = this.safeList(raw, 'market_groups', []);
    let rows = this.safeList(raw, 'markets');
    if (rows === undefined) {
      rows = [];
      for (const group of groups) {
        rows = this.arrayConcat(rows, this.safeList(group, 'markets', []));
      }
    }
    const markets: Dict[] = [];
    for (const row of rows) {
      markets.push(this.parseMarket(row));
    }
    const id = this.safeString(raw, 'id');
    const status = this.safeString(raw, 'status');
    const category = this.safeString(raw, 'category');
    const created = this.parse8601(this.safeString(raw, 'created_at'));
    return {
      id,
      slug: this.safeString(raw, 'slug'),
      event: id,
      category,
      tags: category === undefined ? [] : [category],
      title: this.safeString(raw, 'title'),
      description: this.safeString(raw, 'description'),
      markets,
      mutuallyExclusive: this.safeBool(raw, 'external_event_mutually_exclusive'),
      active: status === 'upcoming' || status === 'live',
      resolved: status === 'ended' || status === 'cancelled',
      volume: this.safeNumber(raw, 'total_volume'),
      created,
      createdDatetime: this.iso8601(created),
      image: this.safeString(raw, 'image_url'),
      info: raw,
    };
  }
}
