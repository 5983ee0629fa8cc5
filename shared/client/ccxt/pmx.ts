/**
 * CCXT's class of this exchange: what can be watched of the account, and with it all else. The frames come on a socket
 * that a key has signed; one that is opened again continues after the last frame that was seen.
 *
 * The frames of the account say that an order has changed: it is then read whole, and so are the balances. While one
 * reading is under way, any number of further frames are one more. Of this `options` keep `readings` by name (true if
 * one more is wanted) and `userSequence`.
 */
import { Streams } from './streams.ts';
import { ArrayCacheByOutcomeById, type Dict, type Int, OrderNotFound, type Str, type Unified } from './upstream.ts';

export default class pmx extends Streams {
  async watchOrders(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    _params: Dict = {},
  ): Promise<Unified> {
    return await this.watchRows('orders', outcome, since, limit);
  }

  async watchMyTrades(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    _params: Dict = {},
  ): Promise<Unified> {
    return await this.watchRows('myTrades', outcome, since, limit);
  }

  async watchBalance(_params: Dict = {}): Promise<Unified> {
    return await this.watchUser('balance');
  }

  async watchRows(name: string, outcome: Str, since: Int, limit: Int): Promise<Unified> {
    let handle: Str;
    let messageHash = name;
    if (outcome !== undefined) {
      const found = await this.loadOutcome(outcome);
      handle = found['outcome'];
      messageHash = `${name}::${handle}`;
    }
    const rows = await this.watchUser(messageHash);
    let most = limit;
    if (this.newUpdates) {
      most = rows.getLimit(handle, limit);
    }
    return this.filterByOutcomeSinceLimit(rows, handle, since, most, true);
  }

  /** The query makes another address of it: CCXT has one socket for each. */
  async watchUser(messageHash: string): Promise<Unified> {
    const target = '/v1/ws?user=1';
    const url = await this.streamUrl(target);
    if (!(url in this.clients)) {
      const usual = this.safeDict(this.options, 'ws', {});
      const headers = this.keyHeaders('GET', target, '');
      this.options['ws'] = this.deepExtend(usual, { options: { headers } });
      this.client(url);
      this.options['ws'] = usual;
    }
    const data: Dict = { user: true };
    const sequence = this.safeInteger(this.options, 'userSequence');
    if (sequence !== undefined) {
      data['user_since'] = sequence;
    }
    return await this.watch(url, messageHash, { channel: 'subscribe', id: 'user', data }, 'user');
  }

  handleMessage(client: Unified, frame: Dict): void {
    const channel = this.safeString(frame, 'channel');
    if (channel === 'book') {
      this.handleBook(client, frame);
    } else if (channel === 'book_delta' || channel === 'trade') {
      this.handleNext(client, frame);
    } else if (channel === 'fill' || channel === 'order_status') {
      this.handleOwn(client, frame);
    } else if (channel === 'error') {
      this.handleRefusal(client, frame);
    }
  }

  handleOwn(client: Unified, frame: Dict): void {
    this.options['userSequence'] = this.safeInteger(frame, 'user_sequence');
    const hash = this.safeString(frame['data'], 'order_hash');
    this.spawn(this.readOwn, client, `order ${hash}`, hash);
    if ('balance' in client.futures) {
      this.spawn(this.readOwn, client, 'balance', undefined);
    }
    if (frame['channel'] === 'fill') {
      this.spawn(this.readFill, client, frame);
    }
  }

  /** At most one reading of a name at a time, and one more for all that came meanwhile. */
  async readOwn(client: Unified, name: string, hash: Str): Promise<void> {
    const isUnderWay = name in this.options['readings'];
    this.options['readings'][name] = true;
    if (isUnderWay) {
      return;
    }
    while (this.options['readings'][name] === true) {
      this.options['readings'][name] = false;
      try {
        if (hash === undefined) {
          client.resolve(await this.fetchBalance(), 'balance');
        } else {
          this.keepRow(client, 'orders', await this.fetchOrder(hash));
        }
      } catch (error) {
        if (!(error instanceof OrderNotFound)) {
          client.reject(error);
        }
      }
    }
    delete this.options['readings'][name];
  }

  async readFill(client: Unified, frame: Dict): Promise<void> {
    try {
      const data = this.safeDict(frame, 'data', {});
      await this.loadMarketsOf([data]);
      this.keepRow(client, 'myTrades', this.parseFill(frame));
    } catch (error) {
      client.reject(error);
    }
  }

  parseFill(frame: Dict): Unified {
    const data = this.safeDict(frame, 'data', {});
    const found = this.outcomeAt(this.safeString(data, 'market_id'), this.safeInteger(data, 'party_outcome_index'));
    return this.safePredictionTrade(
      this.extend(this.identityOf(found), {
        id: this.safeString(data, 'trade_id'),
        order: this.safeString(data, 'order_hash'),
        info: frame,
        takerOrMaker: this.safeString(data, 'role'),
        side: this.safeStringLower(data, 'party_side'),
        timestamp: this.safeInteger(frame, 'timestamp'),
        price: this.safeString(data, 'price'),
        amount: this.fromUnits(this.safeString(data, 'token_quantity_atomic')),
        cost: this.fromUnits(this.safeString(data, 'notional_usdc_micro')),
        fee: this.parseFee(data, found),
      }),
    );
  }

  keepRow(client: Unified, name: string, row: Dict): void {
    let rows: Unified;
    if (name === 'orders') {
      if (this.orders === undefined) {
        this.orders = new ArrayCacheByOutcomeById(this.safeInteger(this.options, 'ordersLimit', 1000));
      }
      rows = this.orders;
    } else {
      if (this.myTrades === undefined) {
        this.myTrades = new ArrayCacheByOutcomeById(this.safeInteger(this.options, 'tradesLimit', 1000));
      }
      rows = this.myTrades;
    }
    rows.append(row);
    client.resolve(rows, name);
    client.resolve(rows, `${name}::${row['outcome']}`);
  }
}
