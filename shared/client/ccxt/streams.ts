/**
 * Books and trades of markets are watched on a socket without credentials. A frame out of sequence, or a book whose
 * checksum differs, rejects with a ChecksumError, and the next call subscribes anew.
 *
 * What is kept of frames is in `options`, as everywhere in CCXT: `bookLevels` has the sequence of each market, and the
 * levels of Yes by their prices, in units.
 */
import { Trading } from './trading.ts';
import { ArrayCache, ChecksumError, type Dict, type Int, Precise, type Str, type Unified } from './upstream.ts';

export abstract class Streams extends Trading {
  async watchOrderBook(outcome: string, limit: Int = undefined, _params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const book = await this.watchMarket('orderbook', found);
    if (limit === undefined) {
      return book.limit();
    }
    return this.extend(book.limit(), {
      bids: this.firstOf(book['bids'], limit),
      asks: this.firstOf(book['asks'], limit),
    });
  }

  firstOf(side: Unified, limit: number): Unified[] {
    const levels: Unified[] = [];
    for (const level of side) {
      const count = levels.length;
      if (count < limit) {
        levels.push(level);
      }
    }
    return levels;
  }

  async watchTrades(
    outcome: string,
    since: Int = undefined,
    limit: Int = undefined,
    _params: Dict = {},
  ): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const trades = await this.watchMarket('trades', found);
    let most = limit;
    if (this.newUpdates) {
      most = trades.getLimit(found['outcome'], limit);
    }
    return this.filterBySinceLimit(trades, since, most, 'timestamp', true);
  }

  async watchMarket(name: string, outcome: Dict): Promise<Unified> {
    const id = outcome['info']['market_id'];
    const message = { channel: 'subscribe', id, data: { markets: [id], snapshot: true, checksum: true } };
    const url = await this.streamUrl('/v1/ws');
    return await this.watch(url, `${name}::${outcome['outcome']}`, message, id);
  }

  /** The base class opens a socket without TLS only with an agent that it has loaded. */
  async streamUrl(target: string): Promise<string> {
    const url = this.restUrl().replace('http', 'ws') + target;
    if (url.startsWith('ws:')) {
      await this.loadHttpProxyAgent();
    }
    return url;
  }

  handleRefusal(client: Unified, frame: Dict): void {
    const data = this.safeDict(frame, 'data', {});
    const id = this.safeString(frame, 'id', '');
    if (id in client.subscriptions) {
      delete client.subscriptions[id];
    }
    try {
      const feedback = `${this.id} ${this.json(frame)}`;
      this.throwRefusal(this.safeString(data, 'error'), this.safeString(data, 'code'), feedback);
    } catch (error) {
      client.reject(error);
    }
  }

  bothOutcomes(id: string): Dict[] {
    return [this.outcomeAt(id, 0), this.outcomeAt(id, 1)];
  }

  unitsByPrice(levels: Dict[]): Dict {
    const units: Dict = {};
    for (const level of levels) {
      units[level['price']] = level['token_quantity_atomic'];
    }
    return units;
  }

  handleBook(client: Unified, frame: Dict): void {
    const id = this.safeString(frame, 'market_id', '');
    const yes = frame['data']['outcome_0'];
    const levels = {
      sequence: this.safeInteger(frame, 'sequence'),
      bids: this.unitsByPrice(yes['bids']),
      asks: this.unitsByPrice(yes['asks']),
    };
    this.options['bookLevels'][id] = levels;
    const outcomes = this.bothOutcomes(id);
    for (const outcome of outcomes) {
      const handle = outcome['outcome'];
      const identity: Unified = { outcome: handle, outcomeId: outcome['outcomeId'], market: outcome['market'] };
      this.orderbooks[handle] = this.orderBook(identity);
      this.storeSide(outcome, 'bids', levels['bids']);
      this.storeSide(outcome, 'asks', levels['asks']);
    }
    if (this.isVerified(client, frame, levels)) {
      this.publishBooks(client, frame);
    }
  }

  storeSide(outcome: Dict, side: string, levels: Dict): void {
    const prices = Object.keys(levels);
    for (const price of prices) {
      this.storeLevel(outcome, side, price, levels[price]);
    }
  }

  /** A level of Yes, into the book of this outcome. */
  storeLevel(outcome: Dict, side: string, price: Str, units: Str): void {
    const book: Unified = this.orderbooks[outcome['outcome']];
    let shown = price;
    let name = side;
    if (outcome['info']['outcome_index'] === 1) {
      shown = Precise.stringSub('1', price);
      name = side === 'bids' ? 'asks' : 'bids';
    }
    const levels = book[name];
    levels.storeArray([this.parseNumber(shown), this.parseNumber(this.fromUnits(units))]);
  }

  publishBooks(client: Unified, frame: Dict): void {
    const outcomes = this.bothOutcomes(frame['market_id']);
    for (const outcome of outcomes) {
      const handle = outcome['outcome'];
      const book: Unified = this.orderbooks[handle];
      const timestamp = this.safeInteger(frame, 'timestamp');
      book['timestamp'] = timestamp;
      book['datetime'] = this.iso8601(timestamp);
      book['nonce'] = this.safeInteger(frame, 'sequence');
      client.resolve(book, `orderbook::${handle}`);
    }
  }

  /** Trades and changes of the book share the sequence of their market. */
  handleNext(client: Unified, frame: Dict): void {
    const id = this.safeString(frame, 'market_id', '');
    const levels = this.safeDict(this.options['bookLevels'], id);
    const sequence = this.safeInteger(frame, 'sequence', 0);
    if (levels === undefined || sequence <= levels['sequence']) {
      return;
    }
    if (sequence !== this.sum(levels['sequence'], 1)) {
      this.dropBook(client, id, 'a frame is missing before this one');
      return;
    }
    levels['sequence'] = sequence;
    if (frame['channel'] === 'trade') {
      this.options['bookLevels'][id] = levels;
      this.handleTrade(client, frame);
      return;
    }
    const level = frame['data']['level'];
    const price = this.safeString(level, 'price', '');
    const units = this.safeString(level, 'token_quantity_atomic');
    const name = level['side'] === 'BUY' ? 'bids' : 'asks';
    const side = levels[name];
    if (units !== '0') {
      side[price] = units;
    } else if (price in side) {
      delete side[price];
    }
    levels[name] = side;
    this.options['bookLevels'][id] = levels;
    const outcomes = this.bothOutcomes(id);
    for (const outcome of outcomes) {
      this.storeLevel(outcome, name, price, units);
    }
    if (this.isVerified(client, frame, levels)) {
      this.publishBooks(client, frame);
    }
  }

  isVerified(client: Unified, frame: Dict, levels: Dict): boolean {
    const expected = this.safeInteger(frame['data'], 'checksum');
    if (expected === undefined || !this.safeBool(this.options, 'checksum', true)) {
      return true;
    }
    const text = this.arrayConcat(this.textsOf(levels['bids'], true), this.textsOf(levels['asks'], false)).join('|');
    const checksum = text === '' ? 0 : this.crc32(text, false);
    if (checksum === expected) {
      return true;
    }
    this.dropBook(client, frame['market_id'], 'the checksum differs');
    return false;
  }

  /** Best first. Prices are below 1 and end with no 0, so their texts are in the order of the numbers. */
  textsOf(side: Dict, isBid: boolean): string[] {
    const prices = Object.keys(side);
    const rows: Dict[] = [];
    for (const price of prices) {
      rows.push({ price });
    }
    const sorted = this.sortBy(rows, 'price', isBid);
    const texts: string[] = [];
    for (const row of sorted) {
      const price = row['price'];
      texts.push(`${price}:${side[price]}`);
    }
    return texts;
  }

  dropBook(client: Unified, id: string, why: string): void {
    if (id in this.options['bookLevels']) {
      delete this.options['bookLevels'][id];
    }
    if (id in client.subscriptions) {
      delete client.subscriptions[id];
    }
    const error = new ChecksumError(`${this.id} ${id}: ${why}`);
    const outcomes = this.bothOutcomes(id);
    for (const outcome of outcomes) {
      const handle = outcome['outcome'];
      if (handle in this.orderbooks) {
        delete this.orderbooks[handle];
      }
      client.reject(error, `orderbook::${handle}`);
      client.reject(error, `trades::${handle}`);
    }
  }

  handleTrade(client: Unified, frame: Dict): void {
    const data = this.safeDict(frame, 'data', {});
    const outcomes = this.bothOutcomes(frame['market_id']);
    for (const outcome of outcomes) {
      const handle = outcome['outcome'];
      const isTakers = outcome['info']['outcome_index'] === this.safeInteger(data, 'outcome_index');
      const hasBought = this.safeString(data, 'taker_side') === 'BUY';
      const price = this.safeString(data, 'price');
      const trade = this.safePredictionTrade(
        this.extend(this.identityOf(outcome), {
          id: this.safeString(data, 'trade_id'),
          info: frame,
          timestamp: this.parse8601(this.safeString(data, 'filled_at')),
          takerOrMaker: 'taker',
          side: hasBought === isTakers ? 'buy' : 'sell',
          price: isTakers ? price : Precise.stringSub('1', price),
          amount: this.fromUnits(this.safeString(data, 'token_quantity_atomic')),
        }),
      );
      if (!(handle in this.trades)) {
        this.trades[handle] = new ArrayCache(this.safeInteger(this.options, 'tradesLimit', 1000));
      }
      const trades = this.trades[handle];
      trades.append(trade);
      client.resolve(trades, `trades::${handle}`);
    }
  }
}
