/** Books, tickers, candles and trades, in terms of the outcome that is asked for: No is the mirror of Yes. */
import { MarketsOf } from './markets.ts';
import { BadRequest, type Dict, type Int, Precise, type Str, type Strings, type Unified } from './upstream.ts';

export abstract class Quotes extends MarketsOf {
  async fetchTime(_params: Dict = {}): Promise<Int> {
    const answer = await this.publicGetTime();
    return this.safeTimestamp(answer, 'time');
  }

  async fetchStatus(_params: Dict = {}): Promise<Unified> {
    const config = await this.publicGetPlatformConfig();
    const status = this.safeBool(config, 'paused', false) ? 'maintenance' : 'ok';
    return { status, updated: undefined, eta: undefined, url: undefined, info: config };
  }

  /** The exchange shows up to a hundred prices of a side. */
  levelsOf(limit: Int): number {
    return limit === undefined ? 100 : Math.min(limit, 100);
  }

  async fetchOrderBook(outcome: Str, limit: Int = undefined, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const place = found['info'];
    const levels = this.levelsOf(limit);
    const request = { id: place['market_id'], outcome_index: place['outcome_index'], levels };
    const answer = await this.publicGetOrdersBookId(this.extend(request, params));
    return this.parseBook(answer, answer, found);
  }

  /** Two outcomes of a market are one request. */
  async fetchOrderBooks(outcomes: Strings = undefined, limit: Int = undefined, params: Dict = {}): Promise<Unified> {
    const found = await this.outcomesOf(outcomes);
    const levels = this.levelsOf(limit);
    const ids: string[] = [];
    const promises: Promise<Dict>[] = [];
    for (const row of found) {
      const id = row['info']['market_id'];
      if (!this.inArray(id, ids)) {
        ids.push(id);
        promises.push(this.publicGetOrdersBookId(this.extend({ id, levels, both: 'true' }, params)));
      }
    }
    const answers = await Promise.all(promises);
    const byMarket: Dict = {};
    for (const answer of answers) {
      byMarket[answer['market_id']] = answer;
    }
    const books: Dict = {};
    for (const row of found) {
      const answer = byMarket[row['info']['market_id']];
      const sides = row['info']['outcome_index'] === 0 ? answer['outcome_0'] : answer['outcome_1'];
      books[row['outcome']] = this.parseBook(answer, sides, row);
    }
    return books;
  }

  async outcomesOf(outcomes: Strings): Promise<Dict[]> {
    if (outcomes === undefined || this.isEmpty(outcomes)) {
      throw new BadRequest(`${this.id} name the outcomes: no request has the books of all`);
    }
    const promises: Promise<Dict>[] = [];
    for (const outcome of outcomes) {
      promises.push(this.loadOutcome(outcome));
    }
    return await Promise.all(promises);
  }

  parseLevels(levels: Dict[]): Dict[] {
    const parsed: Dict[] = [];
    for (const level of levels) {
      parsed.push({
        price: this.safeString(level, 'price'),
        amount: this.fromUnits(this.safeString(level, 'token_quantity_atomic')),
      });
    }
    return parsed;
  }

  parseBook(answer: Dict, sides: Dict, outcome: Dict): Unified {
    const bids = this.parseLevels(this.safeList(sides, 'bids', []));
    const asks = this.parseLevels(this.safeList(sides, 'asks', []));
    const timestamp = this.safeInteger(answer, 'timestamp');
    const handle = outcome['outcome'];
    const book: Unified = this.parseOrderBook({ bids, asks }, handle, timestamp, 'bids', 'asks', 'price', 'amount');
    book['nonce'] = this.safeInteger(answer, 'sequence');
    return this.safePredictionOrderBook(book, outcome);
  }

  async fetchTicker(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const request = { id: found['info']['market_id'], outcome_index: found['info']['outcome_index'] };
    const answer = await this.publicGetMarketsIdTicker(this.extend(request, params));
    return this.parsePredictionTicker(answer, found);
  }

  /** All at once, in terms of Yes; those of No are computed from them. */
  async fetchTickers(outcomes: Strings = undefined, params: Dict = {}): Promise<Unified> {
    const answer = await this.publicGetTickers(params);
    const rows = this.safeList(answer, 'tickers', []);
    const handles: string[] = [];
    if (outcomes === undefined) {
      await this.loadMarketsOf(rows);
    } else {
      const found = await this.outcomesOf(outcomes);
      for (const outcome of found) {
        handles.push(outcome['outcome']);
      }
    }
    const tickers: Dict[] = [];
    for (const row of rows) {
      const id = this.safeString(row, 'market_id');
      tickers.push(this.parsePredictionTicker(row, this.outcomeAt(id, 0)));
      tickers.push(this.parsePredictionTicker(this.mirrorTicker(row), this.outcomeAt(id, 1)));
    }
    return this.filterByArray(tickers, 'outcome', outcomes === undefined ? undefined : handles);
  }

  mirror(price: Str): Str {
    return price === undefined ? undefined : Precise.stringSub('1', price);
  }

  mirrorTicker(row: Dict): Dict {
    const change = this.safeString(row, 'change');
    const traded = this.safeString(row, 'token_quantity_atomic');
    return this.extend(row, {
      outcome_index: 1,
      last_price: this.mirror(this.safeString(row, 'last_price')),
      open: this.mirror(this.safeString(row, 'open')),
      high: this.mirror(this.safeString(row, 'low')),
      low: this.mirror(this.safeString(row, 'high')),
      best_bid: this.mirror(this.safeString(row, 'best_ask')),
      best_bid_quantity_atomic: this.safeString(row, 'best_ask_quantity_atomic'),
      best_ask: this.mirror(this.safeString(row, 'best_bid')),
      best_ask_quantity_atomic: this.safeString(row, 'best_bid_quantity_atomic'),
      change: change === undefined ? undefined : Precise.stringNeg(change),
      notional_usdc_micro: Precise.stringSub(traded, this.safeString(row, 'notional_usdc_micro')),
    });
  }

  parsePredictionTicker(ticker: Dict, outcome: Unified = undefined): Unified {
    let found = outcome;
    if (found === undefined) {
      found = this.outcomeAt(this.safeString(ticker, 'market_id'), this.safeInteger(ticker, 'outcome_index'));
    }
    return this.safePredictionTicker(
      this.extend(this.identityOf(found), {
        info: ticker,
        timestamp: this.safeInteger(ticker, 'timestamp'),
        open: this.safeString(ticker, 'open'),
        high: this.safeString(ticker, 'high'),
        low: this.safeString(ticker, 'low'),
        last: this.safeString(ticker, 'last_price'),
        change: this.safeString(ticker, 'change'),
        bid: this.safeString(ticker, 'best_bid'),
        bidVolume: this.fromUnits(this.safeString(ticker, 'best_bid_quantity_atomic')),
        ask: this.safeString(ticker, 'best_ask'),
        askVolume: this.fromUnits(this.safeString(ticker, 'best_ask_quantity_atomic')),
        baseVolume: this.fromUnits(this.safeString(ticker, 'token_quantity_atomic')),
        quoteVolume: this.fromUnits(this.safeString(ticker, 'notional_usdc_micro')),
        openInterest: this.fromUnits(this.safeString(ticker, 'open_interest_atomic')),
      }),
    );
  }

  async fetchOpenInterest(outcome: string, params: Dict = {}): Promise<Unified> {
    const ticker = await this.fetchTicker(outcome, params);
    return {
      outcome: ticker['outcome'],
      outcomeId: ticker['outcomeId'],
      market: ticker['market'],
      openInterestAmount: ticker['openInterest'],
      timestamp: ticker['timestamp'],
      datetime: ticker['datetime'],
      info: ticker['info'],
    };
  }

  /** An interval without a trade has no prices, and is left out. */
  async fetchOHLCV(
    outcome: string,
    timeframe: string = '1m',
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    const found = await this.loadOutcome(outcome);
    const interval = this.safeString(this.timeframes, timeframe);
    if (interval === undefined) {
      throw new BadRequest(`${this.id} has no candles of ${timeframe}`);
    }
    const most = limit === undefined ? 100 : Math.min(limit, 1000);
    const place = found['info'];
    const request: Dict = { id: place['market_id'], outcome_index: place['outcome_index'], interval, limit: most };
    if (since !== undefined) {
      const step = this.parseTimeframe(timeframe) * 1000;
      const first = Math.ceil(since / step) * step;
      request['from'] = this.iso8601(first);
      request['to'] = this.iso8601(this.sum(first, most * step));
    }
    const answer = await this.publicGetMarketsIdCandles(this.extend(request, params));
    const candles = this.safeList(answer, 'candles', []);
    const traded: Dict[] = [];
    for (const candle of candles) {
      if (this.safeInteger(candle, 'trades', 0) > 0) {
        traded.push(candle);
      }
    }
    return this.parseOHLCVs(traded, undefined, timeframe, since, limit);
  }

  parseOHLCV(candle: Dict, _market: Unified = undefined): Unified {
    return [
      this.safeTimestamp(candle, 'start'),
      this.safeNumber(candle, 'open'),
      this.safeNumber(candle, 'high'),
      this.safeNumber(candle, 'low'),
      this.safeNumber(candle, 'close'),
      this.parseNumber(this.fromUnits(this.safeString(candle, 'token_quantity_atomic'))),
    ];
  }

  /** The newest hundred: the exchange lists no older ones of a market. */
  async fetchTrades(
    outcome: string,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    const found = await this.loadOutcome(outcome);
    const answer = await this.publicGetMarketsIdTrades(this.extend({ id: found['info']['market_id'] }, params));
    return this.parsePredictionTrades(this.safeList(answer, 'trades', []), found, since, limit);
  }

  /** Of a market in terms of Yes, or of the account. */
  parsePredictionTrade(trade: Dict, outcome: Unified = undefined): Unified {
    if ('party_order_id' in trade) {
      return this.parseMyTrade(trade);
    }
    const found = outcome === undefined ? this.safeOutcome(undefined) : outcome;
    const isNo = this.safeInteger(this.safeDict(found, 'info', {}), 'outcome_index') === 1;
    let price = this.safeString(trade, 'price');
    let isBought = this.safeString(trade, 'side') === 'BUY';
    if (isNo) {
      price = this.mirror(price);
      isBought = !isBought;
    }
    return this.safePredictionTrade(
      this.extend(this.identityOf(found), {
        id: this.safeString(trade, 'id'),
        info: trade,
        timestamp: this.safeTimestamp(trade, 'timestamp'),
        side: isBought ? 'buy' : 'sell',
        takerOrMaker: 'taker',
        price,
        amount: this.fromUnits(this.safeString(trade, 'amount')),
      }),
    );
  }

  abstract parseMyTrade(trade: Dict): Unified;
}
