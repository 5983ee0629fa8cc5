/** Books, tickers, candles and trades, in terms of the outcome that is asked for: No is the mirror of Yes. */
import { MarketsOf } from './markets.ts';
import { BadRequest, type Dict, type Int, Precise, type Str, type Strings, type Unified } from './upstream.ts';

const TICKER_PRICES = ['last_price', 'open'];
const MOST_LEVELS = 100;
const MOST_CANDLES = 1000;

export abstract class Quotes extends MarketsOf {
  async fetchTime(): Promise<Int> {
    return this.safeTimestamp(await this.publicGetTime(), 'time');
  }

  async fetchStatus(): Promise<Unified> {
    const config = await this.publicGetPlatformConfig();
    const status = this.safeBool(config, 'paused') ? 'maintenance' : 'ok';
    return { status, updated: undefined, eta: undefined, url: undefined, info: config };
  }

  async fetchOrderBook(outcome: string, limit: Int = undefined, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const levels = Math.min(limit ?? MOST_LEVELS, MOST_LEVELS);
    const request = { id: found['info']['market_id'], outcome_index: found['info']['outcome_index'], levels };
    return this.parseBook(await this.publicGetOrdersBookId(this.extend(request, params)), found);
  }

  /** Two outcomes of a market are one request. */
  async fetchOrderBooks(outcomes: Strings = undefined, limit: Int = undefined, params: Dict = {}): Promise<Unified> {
    const found = await this.outcomesOf(outcomes);
    const levels = Math.min(limit ?? MOST_LEVELS, MOST_LEVELS);
    const ids = [...new Set(found.map(({ info }) => info['market_id']))];
    const read = ids.map((id) => this.publicGetOrdersBookId(this.extend({ id, levels, both: 'true' }, params)));
    const answers = await Promise.all(read);
    const books = found.map((row) => {
      const answer = answers[ids.indexOf(row['info']['market_id'])];
      const sides = this.safeDict(answer, `outcome_${row['info']['outcome_index']}`)!;
      return this.parseBook(this.extend(answer, sides), row);
    });
    return this.indexBy(books, 'outcome');
  }

  private async outcomesOf(outcomes: Strings): Promise<Dict[]> {
    if (outcomes === undefined || outcomes.length === 0) {
      throw new BadRequest(`${this.id} name the outcomes: no request has the books of all`);
    }
    return Promise.all(outcomes.map((outcome) => this.loadOutcome(outcome)));
  }

  private parseBook(answer: Dict, outcome: Dict): Unified {
    const levels = (name: string): Dict[] =>
      this.safeList(answer, name, [])!.map((level: Dict) => ({
        price: this.safeString(level, 'price'),
        amount: this.fromUnits(this.safeString(level, 'token_quantity_atomic')),
      }));
    const raw = { bids: levels('bids'), asks: levels('asks') };
    const timestamp = this.safeInteger(answer, 'timestamp');
    const book = this.parseOrderBook(raw, outcome['outcome'], timestamp, 'bids', 'asks', 'price', 'amount');
    book['nonce'] = this.safeInteger(answer, 'sequence');
    return this.safePredictionOrderBook(book, outcome);
  }

  async fetchTicker(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const request = { id: found['info']['market_id'], outcome_index: found['info']['outcome_index'] };
    return this.parsePredictionTicker(await this.publicGetMarketsIdTicker(this.extend(request, params)), found);
  }

  /** All at once, in terms of Yes; those of No are computed from them. */
  async fetchTickers(outcomes: Strings = undefined, params: Dict = {}): Promise<Unified> {
    const rows: Dict[] = this.safeList(await this.publicGetTickers(params), 'tickers', [])!;
    await (outcomes === undefined ? this.loadMarketsOf(rows) : this.outcomesOf(outcomes));
    const tickers = rows.flatMap((row) => {
      const [yes, no] = ['0', '1'].map((index) => this.outcomeAt(this.safeString(row, 'market_id'), index));
      return [this.parsePredictionTicker(row, yes), this.parsePredictionTicker(this.mirrorTicker(row), no)];
    });
    const handles = outcomes?.map((outcome) => this.safeOutcomeSymbol(outcome)!);
    return this.filterByArray(tickers, 'outcome', handles);
  }

  private mirror(price: Str): Str {
    return price === undefined ? undefined : Precise.stringSub('1', price);
  }

  private mirrorTicker(row: Dict): Dict {
    const mirrored = Object.fromEntries(TICKER_PRICES.map((name) => [name, this.mirror(this.safeString(row, name))]));
    const of = (name: string): Str => this.safeString(row, name);
    const change = of('change');
    return this.extend(row, mirrored, {
      ...{ high: this.mirror(of('low')), low: this.mirror(of('high')), outcome_index: 1 },
      ...{ best_bid: this.mirror(of('best_ask')), best_ask: this.mirror(of('best_bid')) },
      ...{ best_bid_quantity_atomic: of('best_ask_quantity_atomic') },
      ...{ best_ask_quantity_atomic: of('best_bid_quantity_atomic') },
      change: change === undefined ? undefined : Precise.stringNeg(change),
      notional_usdc_micro: Precise.stringSub(of('token_quantity_atomic'), of('notional_usdc_micro')),
    });
  }

  parsePredictionTicker(ticker: Dict, outcome: Unified = undefined): Unified {
    const of = (name: string): Str => this.safeString(ticker, name);
    const found = outcome ?? this.outcomeAt(of('market_id'), of('outcome_index'));
    return this.safePredictionTicker({
      ...this.identityOf(found),
      ...{ info: ticker, timestamp: this.safeInteger(ticker, 'timestamp') },
      ...{ open: of('open'), high: of('high'), low: of('low'), last: of('last_price'), change: of('change') },
      ...{ bid: of('best_bid'), bidVolume: this.fromUnits(of('best_bid_quantity_atomic')) },
      ...{ ask: of('best_ask'), askVolume: this.fromUnits(of('best_ask_quantity_atomic')) },
      baseVolume: this.fromUnits(of('token_quantity_atomic')),
      quoteVolume: this.fromUnits(of('notional_usdc_micro')),
      openInterest: this.fromUnits(of('open_interest_atomic')),
    });
  }

  async fetchOpenInterest(outcome: string, params: Dict = {}): Promise<Unified> {
    const { info, timestamp, datetime, openInterest, ...ticker } = await this.fetchTicker(outcome, params);
    const { outcome: handle, outcomeId, market } = ticker;
    return { ...{ openInterestAmount: openInterest, timestamp, datetime, info }, outcome: handle, outcomeId, market };
  }

  /** An interval without a trade has no prices, and is left out. */
  async fetchOHLCV(outcome: string, timeframe = '1m', since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    const found = await this.loadOutcome(outcome);
    const interval = this.safeString(this.timeframes, timeframe);
    if (interval === undefined) throw new BadRequest(`${this.id} has no candles of ${timeframe}`);
    const [most, step] = [Math.min(limit ?? 100, MOST_CANDLES), this.parseTimeframe(timeframe) * 1000];
    const range: Dict = {};
    if (since !== undefined) {
      const first = Math.ceil(since / step) * step;
      range['from'] = this.iso8601(first);
      range['to'] = this.iso8601(first + most * step);
    }
    const { market_id: id, outcome_index } = found['info'];
    const request = { id, outcome_index, interval, limit: most, ...range };
    const answer = await this.publicGetMarketsIdCandles(this.extend(request, params));
    const traded = this.safeList(answer, 'candles', [])!.filter((candle: Dict) => candle['trades'] > 0);
    return this.parseOHLCVs(traded, undefined, timeframe, since, limit);
  }

  parseOHLCV(candle: Dict): Unified {
    return [
      this.safeTimestamp(candle, 'start'),
      ...['open', 'high', 'low', 'close'].map((name) => this.safeNumber(candle, name)),
      this.parseNumber(this.fromUnits(this.safeString(candle, 'token_quantity_atomic'))),
    ];
  }

  /** The newest hundred: the exchange lists no older ones of a market. */
  async fetchTrades(outcome: string, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    const found = await this.loadOutcome(outcome);
    const answer = await this.publicGetMarketsIdTrades(this.extend({ id: found['info']['market_id'] }, params));
    return this.parsePredictionTrades(this.safeList(answer, 'trades', [])!, found, since, limit);
  }

  /** Of a market in terms of Yes, of the account or of the stream. The fee is known where the exchange says it. */
  parsePredictionTrade(trade: Dict, outcome: Unified = undefined): Unified {
    if ('party_order_id' in trade) return this.parseMyTrade(trade);
    const isNo = outcome?.['info']?.['outcome_index'] === 1;
    const [price, side] = [this.safeString(trade, 'price'), this.safeString(trade, 'side')];
    const bought = isNo ? side === 'SELL' : side === 'BUY';
    return this.safePredictionTrade({
      ...this.identityOf(outcome ?? this.safeOutcome(undefined)),
      ...{ id: this.safeString(trade, 'id'), info: trade, timestamp: this.safeTimestamp(trade, 'timestamp') },
      ...{ side: bought ? 'buy' : 'sell', takerOrMaker: 'taker', price: isNo ? this.mirror(price) : price },
      amount: this.fromUnits(this.safeString(trade, 'amount')),
    });
  }

  protected abstract parseMyTrade(trade: Dict): Unified;
}
