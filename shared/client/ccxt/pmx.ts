/**
 * CCXT's class of this exchange: what can be watched, and with it all else. Public frames come on a socket without
 * credentials, private ones on another that a key has signed. A frame out of sequence, or a book whose checksum
 * differs, rejects with a ChecksumError, and the next call subscribes anew. A private socket that is opened again
 * continues after the last frame that was seen.
 *
 * The frames of the account say that an order has changed: it is then read whole, and so are the balances. While one
 * reading is under way, any number of further frames are one more.
 */
import { Trading } from './trading.ts';
import {
  ArrayCache,
  ArrayCacheByOutcomeById,
  ChecksumError,
  type Dict,
  type Int,
  OrderNotFound,
  Precise,
  type Str,
  type Unified,
} from './upstream.ts';

const STREAM = '/v1/ws';
/** The query makes another address of it: CCXT has one socket for each. */
const PRIVATE_STREAM = `${STREAM}?user=1`;

/** The levels of Yes by their prices, in units. */
type Levels = { sequence: number; bids: Record<string, string>; asks: Record<string, string> };

export default class pmx extends Trading {
  /** By market. */
  bookLevels: Record<string, Levels> = {};
  /** By name of a reading: true if one more is wanted. */
  readings: Record<string, boolean> = {};
  userSequence: Int = undefined;

  async watchOrderBook(outcome: string, limit: Int = undefined, _params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const book = await this.watchMarket('orderbook', found);
    return limit === undefined ? book.limit() : this.extend(book.limit(), this.cutTo(book, limit));
  }

  private cutTo(book: Dict, limit: number): Dict {
    return { bids: [...book['bids']].slice(0, limit), asks: [...book['asks']].slice(0, limit) };
  }

  async watchTrades(
    outcome: string,
    since: Int = undefined,
    limit: Int = undefined,
    _params: Dict = {},
  ): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const trades = await this.watchMarket('trades', found);
    const most = this.newUpdates ? trades.getLimit(found['outcome'], limit) : limit;
    return this.filterBySinceLimit(trades, since, most, 'timestamp', true);
  }

  async watchOrders(outcome?: string, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified> {
    return this.watchRows('orders', outcome, since, limit, params);
  }

  /** These say their order and their fee, which the list of trades does not. */
  async watchMyTrades(outcome?: string, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified> {
    return this.watchRows('myTrades', outcome, since, limit, params);
  }

  async watchBalance(_params: Dict = {}): Promise<Unified> {
    return this.watchUser('balance');
  }

  private async watchRows(name: string, outcome: Str, since: Int, limit: Int, _params: Dict): Promise<Unified> {
    const handle = outcome === undefined ? undefined : (await this.loadOutcome(outcome))['outcome'];
    const rows = await this.watchUser(handle === undefined ? name : `${name}::${handle}`);
    const most = this.newUpdates ? rows.getLimit(handle, limit) : limit;
    return this.filterByOutcomeSinceLimit(rows, handle, since, most, true);
  }

  private async watchMarket(name: string, outcome: Dict): Promise<Unified> {
    const id = outcome['info']['market_id'];
    const message = { channel: 'subscribe', id, data: { markets: [id], snapshot: true, checksum: true } };
    return this.watch(await this.streamUrl(STREAM), `${name}::${outcome['outcome']}`, message, id);
  }

  private async watchUser(messageHash: string): Promise<Unified> {
    const url = await this.streamUrl(PRIVATE_STREAM);
    if (this.clients[url] === undefined) {
      const usual = this.options['ws'];
      this.options['ws'] = this.deepExtend(usual ?? {}, { options: { headers: this.upgradeHeaders() } });
      this.client(url);
      this.options['ws'] = usual;
    }
    const since = this.userSequence === undefined ? {} : { user_since: this.userSequence };
    return this.watch(url, messageHash, { channel: 'subscribe', id: 'user', data: { user: true, ...since } }, 'user');
  }

  private upgradeHeaders(): Dict {
    return this.keyHeaders('GET', PRIVATE_STREAM, '');
  }

  /** The base class opens a socket without TLS only with an agent that it has loaded. */
  private async streamUrl(target: string): Promise<string> {
    const url = this.restUrl().replace(/^http/, 'ws') + target;
    if (url.startsWith('ws:')) await this.loadHttpProxyAgent();
    return url;
  }

  handleMessage(client: Unified, frame: Dict): void {
    const channel = this.safeString(frame, 'channel');
    if (channel === 'book') this.handleBook(client, frame);
    else if (channel === 'book_delta' || channel === 'trade') this.handleNext(client, frame);
    else if (channel === 'fill' || channel === 'order_status') this.handleOwn(client, frame);
    else if (channel === 'error') this.handleRefusal(client, frame);
  }

  private handleRefusal(client: Unified, frame: Dict): void {
    const { code, error } = frame['data'];
    delete client.subscriptions[this.safeString(frame, 'id', '')];
    try {
      this.throwRefusal(error, code, `${this.id} ${this.json(frame)}`);
    } catch (refusal) {
      client.reject(refusal);
    }
  }

  private bothOutcomes(id: string): Dict[] {
    return ['0', '1'].map((index) => this.outcomeAt(id, index));
  }

  private handleBook(client: Unified, frame: Dict): void {
    const id = frame['market_id'];
    const side = (name: string): Record<string, string> =>
      Object.fromEntries(
        frame['data']['outcome_0'][name].map((level: Dict) => [level['price'], level['token_quantity_atomic']]),
      );
    const levels = { sequence: frame['sequence'], bids: side('bids'), asks: side('asks') };
    this.bookLevels[id] = levels;
    for (const outcome of this.bothOutcomes(id)) {
      const { outcome: handle, outcomeId, market } = outcome;
      this.orderbooks[handle] = this.orderBook({ outcome: handle, outcomeId, market });
      for (const name of ['bids', 'asks'] as const) {
        for (const [price, units] of Object.entries(levels[name])) this.storeLevel(outcome, name, price, units);
      }
    }
    if (this.isVerified(client, frame, levels)) this.publishBooks(client, frame);
  }

  /** A level of Yes, into the book of this outcome. */
  private storeLevel(outcome: Dict, side: 'bids' | 'asks', price: string, units: string): void {
    const isNo = outcome['info']['outcome_index'] === 1;
    const name = isNo === (side === 'bids') ? 'asks' : 'bids';
    const shown = this.parseNumber(isNo ? Precise.stringSub('1', price) : price);
    const book: Unified = this.orderbooks[outcome['outcome']];
    book[name].storeArray([shown, this.parseNumber(this.fromUnits(units))]);
  }

  private publishBooks(client: Unified, frame: Dict): void {
    for (const { outcome } of this.bothOutcomes(frame['market_id'])) {
      const book: Unified = this.orderbooks[outcome];
      book['timestamp'] = this.safeInteger(frame, 'timestamp');
      book['datetime'] = this.iso8601(book['timestamp']);
      book['nonce'] = this.safeInteger(frame, 'sequence');
      client.resolve(book, `orderbook::${outcome}`);
    }
  }

  /** Trades and changes of the book share the sequence of their market. */
  private handleNext(client: Unified, frame: Dict): void {
    const id = frame['market_id'];
    const levels = this.bookLevels[id];
    if (levels === undefined || frame['sequence'] <= levels.sequence) return;
    if (frame['sequence'] !== levels.sequence + 1) {
      this.dropBook(client, id, `a frame is missing before ${frame['sequence']}`);
      return;
    }
    levels.sequence = frame['sequence'];
    if (frame['channel'] === 'trade') {
      this.handleTrade(client, frame);
      return;
    }
    const { side, price, token_quantity_atomic: units } = frame['data']['level'];
    const name = side === 'BUY' ? 'bids' : 'asks';
    if (units === '0') delete levels[name][price];
    else levels[name][price] = units;
    for (const outcome of this.bothOutcomes(id)) this.storeLevel(outcome, name, price, units);
    if (this.isVerified(client, frame, levels)) this.publishBooks(client, frame);
  }

  private isVerified(client: Unified, frame: Dict, { bids, asks }: Levels): boolean {
    const expected = this.safeInteger(frame['data'], 'checksum');
    if (expected === undefined || !this.safeBool(this.options, 'checksum', true)) return true;
    const texts = (side: Record<string, string>, sign: number): string[] =>
      Object.keys(side)
        .sort((one, other) => (Precise.stringGt(one, other) ? sign : -sign))
        .map((price) => `${price}:${side[price]}`);
    const text = [...texts(bids, -1), ...texts(asks, 1)].join('|');
    if ((text === '' ? 0 : this.crc32(text)) === expected) return true;
    this.dropBook(client, frame['market_id'], 'the checksum differs');
    return false;
  }

  private dropBook(client: Unified, id: string, why: string): void {
    delete this.bookLevels[id];
    delete client.subscriptions[id];
    const error = new ChecksumError(`${this.id} ${id}: ${why}`);
    for (const { outcome } of this.bothOutcomes(id)) {
      delete this.orderbooks[outcome];
      for (const name of ['orderbook', 'trades']) client.reject(error, `${name}::${outcome}`);
    }
  }

  private handleTrade(client: Unified, frame: Dict): void {
    const { data } = frame;
    for (const outcome of this.bothOutcomes(frame['market_id'])) {
      const isTakers = outcome['info']['outcome_index'] === data['outcome_index'];
      const trade = this.safePredictionTrade({
        ...this.identityOf(outcome),
        ...{ id: data['trade_id'], info: frame, timestamp: this.parse8601(data['filled_at']), takerOrMaker: 'taker' },
        side: (data['taker_side'] === 'BUY') === isTakers ? 'buy' : 'sell',
        price: isTakers ? data['price'] : Precise.stringSub('1', data['price']),
        amount: this.fromUnits(data['token_quantity_atomic']),
      });
      const handle = outcome['outcome'];
      this.trades[handle] ??= new ArrayCache(this.safeInteger(this.options, 'tradesLimit', 1000));
      this.trades[handle].append(trade);
      client.resolve(this.trades[handle], `trades::${handle}`);
    }
  }

  private handleOwn(client: Unified, frame: Dict): void {
    this.userSequence = this.safeInteger(frame, 'user_sequence');
    const { data } = frame;
    const hash = data['order_hash'];
    this.readOnce(client, `order ${hash}`, () => this.readOrder(client, hash));
    if ('balance' in client.futures) {
      this.readOnce(client, 'balance', async () => client.resolve(await this.fetchBalance(), 'balance'));
    }
    if (frame['channel'] === 'fill') this.readOnce(client, data['trade_id'], () => this.handleFill(client, frame));
  }

  /** At most one reading of a name at a time, and one more for all that came meanwhile. */
  private readOnce(client: Unified, name: string, read: () => Promise<void>): void {
    const isUnderWay = name in this.readings;
    this.readings[name] = isUnderWay;
    if (isUnderWay) return;
    const ended = (): void => {
      const isAgain = this.readings[name] === true;
      delete this.readings[name];
      if (isAgain) this.readOnce(client, name, read);
    };
    read().then(ended, (error) => {
      ended();
      client.reject(error);
    });
  }

  private async readOrder(client: Unified, hash: string): Promise<void> {
    try {
      this.keepRow(client, 'orders', await this.fetchOrder(hash));
    } catch (error) {
      if (!(error instanceof OrderNotFound)) throw error;
    }
  }

  private async handleFill(client: Unified, frame: Dict): Promise<void> {
    const { data } = frame;
    await this.loadMarketsOf([data]);
    const found = this.outcomeAt(data['market_id'], this.safeString(data, 'party_outcome_index'));
    const currency = data['fee_asset'] === 'USDC' ? 'USDC' : found['outcome'];
    const trade = this.safePredictionTrade({
      ...this.identityOf(found),
      ...{ id: data['trade_id'], order: data['order_hash'], info: frame, takerOrMaker: data['role'] },
      ...{ side: this.safeStringLower(data, 'party_side'), timestamp: this.safeInteger(frame, 'timestamp') },
      ...{ price: data['price'], amount: this.fromUnits(data['token_quantity_atomic']) },
      cost: this.fromUnits(data['notional_usdc_micro']),
      fee: { cost: this.parseNumber(this.fromUnits(data['fee_amount'])), currency },
    });
    this.keepRow(client, 'myTrades', trade);
  }

  private keepRow(client: Unified, name: 'orders' | 'myTrades', row: Dict): void {
    const limit = this.safeInteger(this.options, name === 'orders' ? 'ordersLimit' : 'tradesLimit', 1000);
    this[name] ??= new ArrayCacheByOutcomeById(limit);
    const rows: Unified = this[name];
    rows.append(row);
    client.resolve(rows, name);
    client.resolve(rows, `${name}::${row['outcome']}`);
  }
}
