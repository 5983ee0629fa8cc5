/** The money, positions, trades and orders of the account. The id of an order is its hash. */
import { Quotes } from './quotes.ts';
import { ArgumentsRequired, type Dict, type Int, Precise, type Str, type Strings, type Unified } from './upstream.ts';

export abstract class AccountOf extends Quotes {
  /** USDC, and the tokens of each outcome by its handle. */
  async fetchBalance(params: Dict = {}): Promise<Unified> {
    const answer = await this.privateGetUserBalances(params);
    await this.loadMarketsOf(this.safeList(answer, 'tokens', []));
    return this.parseBalance(answer);
  }

  parseAmounts(row: Dict): Dict {
    return {
      free: this.fromUnits(this.safeString(row, 'available')),
      used: this.fromUnits(this.safeString(row, 'reserved')),
    };
  }

  parseBalance(answer: Dict): Unified {
    const result: Dict = { info: answer, USDC: this.parseAmounts(this.safeDict(answer, 'usdc', {})) };
    const rows = this.safeList(answer, 'tokens', []);
    for (const row of rows) {
      const outcome = this.outcomeAt(this.safeString(row, 'market_id'), this.safeInteger(row, 'outcome_index'));
      const handle = this.safeString(outcome, 'outcome');
      if (handle !== undefined) {
        result[handle] = this.parseAmounts(row);
      }
    }
    return this.safeBalance(result);
  }

  async fetchPositions(outcomes: Strings = undefined, params: Dict = {}): Promise<Unified[]> {
    const answer = await this.privateGetUserPositions(params);
    const rows = this.toArray(answer);
    await this.loadMarketsOf(rows);
    const positions = this.parsePredictionPositions(rows);
    if (outcomes === undefined) {
      return positions;
    }
    const handles: string[] = [];
    for (const outcome of outcomes) {
      const found = await this.loadOutcome(outcome);
      handles.push(found['outcome']);
    }
    return this.filterByArray(positions, 'outcome', handles, false);
  }

  /** With no tokens where the account has none. */
  async fetchPosition(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const request = this.extend({ market_id: found['info']['market_id'] }, params);
    const positions = await this.fetchPositions([found['outcome']], request);
    const none = this.extend(this.identityOf(found), { contracts: '0', side: 'long', info: {} });
    return this.safeDict(positions, 0, this.safePredictionPosition(none));
  }

  parsePredictionPosition(row: Dict, _market: Unified = undefined): Unified {
    const found = this.outcomeAt(this.safeString(row, 'market_id'), this.safeInteger(row, 'outcome_index'));
    const contracts = this.fromUnits(this.safeString(row, 'quantity'));
    const entry = this.safeString(row, 'average_entry_price');
    const paid = this.safeNumber(found, 'settleFraction');
    return this.safePredictionPosition(
      this.extend(this.identityOf(found), {
        id: this.safeString(row, 'id'),
        info: row,
        side: 'long',
        contracts,
        contractSize: '1',
        entryPrice: entry,
        realizedPnl: this.safeString(row, 'realized_pnl'),
        collateral: Precise.stringMul(contracts, entry),
        resolved: paid !== undefined,
        won: this.safeBool(found, 'winner'),
        settleFraction: paid,
        payout: paid === undefined ? undefined : Precise.stringMul(contracts, this.numberToString(paid)),
      }),
    );
  }

  async fetchTradingFee(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const info = await this.privateGetMarketDataIdFeeRate(this.extend({ id: found['info']['market_id'] }, params));
    return {
      info,
      outcome: found['outcome'],
      outcomeId: found['outcomeId'],
      market: found['market'],
      maker: this.parseNumber(Precise.stringDiv(this.safeString(info, 'maker_fee_bps', '0'), '10000')),
      taker: this.parseNumber(Precise.stringDiv(this.safeString(info, 'taker_fee_bps', '0'), '10000')),
      percentage: true,
      tierBased: false,
    };
  }

  /** Newest first by pages until `limit`, or until `since`. */
  async fetchMyTrades(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    const request: Dict = {};
    if (since !== undefined) {
      request['since'] = this.iso8601(since);
    }
    let found: Unified;
    let most = limit;
    if (outcome !== undefined) {
      found = await this.loadOutcome(outcome);
      request['market_id'] = found['info']['market_id'];
      // The other outcome of the market counts among the rows of a page.
      most = undefined;
    }
    const rows = await this.pagesOf('trades', this.extend(request, params), most, 100);
    await this.loadMarketsOf(rows);
    return this.parsePredictionTrades(rows, found, since, limit);
  }

  /** All that the query selects, or the newest `limit`. */
  async pagesOf(name: string, query: Dict, limit: Int, size: number): Promise<Dict[]> {
    let rows: Dict[] = [];
    let request = this.extend({ limit: limit === undefined ? size : Math.min(limit, size) }, query);
    let isMore = true;
    while (isMore) {
      let answer: Dict = {};
      if (name === 'trades') {
        answer = await this.privateGetUserTradesV2(request);
      } else {
        answer = await this.privateGetUserOrdersV2(request);
      }
      rows = this.arrayConcat(rows, this.safeList(answer, name, []));
      const cursor = this.safeString(answer, 'next_cursor');
      const count = rows.length;
      const left = limit === undefined ? size : limit - count;
      isMore = cursor !== undefined && left > 0;
      request = this.extend(request, { limit: Math.min(left, size), cursor });
    }
    return rows;
  }

  /** The account's own part of a fill. */
  parseMyTrade(row: Dict): Unified {
    const found = this.outcomeAt(this.safeString(row, 'market_id'), this.safeInteger(row, 'party_outcome_index'));
    const cost = this.fromUnits(this.safeString(row, 'notional_usdc_micro'));
    const amount = this.fromUnits(this.safeString(row, 'token_quantity_atomic'));
    return this.safePredictionTrade(
      this.extend(this.identityOf(found), {
        id: this.safeString(row, 'id'),
        order: this.safeString(row, 'order_hash'),
        info: row,
        side: this.safeStringLower(row, 'party_side'),
        takerOrMaker: this.safeString(row, 'role'),
        timestamp: this.parse8601(this.safeString(row, 'matched_at')),
        cost,
        amount,
        price: Precise.stringDiv(cost, amount),
        fee: this.parseFee(row, found),
      }),
    );
  }

  /** It is taken from what an order receives: USDC, or tokens of its outcome. */
  parseFee(row: Dict, outcome: Dict): Unified {
    const cost = this.fromUnits(this.safeString(row, 'fee_amount'));
    if (cost === undefined) {
      return undefined;
    }
    const isUsdc = this.safeString(row, 'fee_asset') === 'USDC';
    return { cost: this.parseNumber(cost), currency: isUsdc ? 'USDC' : outcome['outcome'] };
  }

  async fetchOrder(id: string, _outcome: Str = undefined, params: Dict = {}): Promise<Unified> {
    if (id === undefined) {
      throw new ArgumentsRequired(`${this.id} fetchOrder() requires an id`);
    }
    const answer = await this.privateGetOrdersHash(this.extend({ hash: id }, params));
    await this.loadMarketsOf([answer]);
    return this.parsePredictionOrder(answer);
  }

  /** By creation, newest first by pages. With an outcome all pages are read, as the list has no filter by market. */
  async fetchOrders(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    const request: Dict = { sort: 'created_at' };
    if (since !== undefined) {
      request['since'] = this.iso8601(since);
    }
    let found: Unified;
    let most = limit;
    if (outcome !== undefined) {
      found = await this.loadOutcome(outcome);
      most = undefined;
    }
    const rows = await this.pagesOf('orders', this.extend(request, params), most, 200);
    await this.loadMarketsOf(rows);
    return this.parsePredictionOrders(rows, found, since, limit);
  }

  async fetchOpenOrders(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    if (outcome === undefined) {
      return await this.fetchOrders(outcome, since, limit, this.extend({ status: 'open,partially_filled' }, params));
    }
    const found = await this.loadOutcome(outcome);
    const answer = await this.privateGetOrdersOpenId(this.extend({ id: found['info']['market_id'] }, params));
    return this.parsePredictionOrders(this.toArray(answer), found, since, limit);
  }

  async fetchClosedOrders(
    outcome: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {},
  ): Promise<Unified[]> {
    return await this.fetchOrders(outcome, since, limit, this.extend({ status: 'filled,cancelled,expired' }, params));
  }

  parseOrderStatus(status: Str): Str {
    const statuses = {
      open: 'open',
      partially_filled: 'open',
      filled: 'closed',
      cancelled: 'canceled',
      expired: 'expired',
    };
    return this.safeString(statuses, status);
  }

  parseTimeInForce(timeInForce: Str): Str {
    const names = { GTC: 'GTC', GTD: 'GTD', FOK: 'FOK', FAK: 'IOC' };
    return this.safeString(names, timeInForce);
  }

  /** The whole amount follows from the part that is done and the part that is left, both at the signed price. */
  parsePredictionOrder(row: Dict, _outcome: Unified = undefined): Unified {
    const found = this.outcomeAt(this.safeString(row, 'market_id'), this.safeInteger(row, 'outcome_index'));
    const side = this.safeStringLower(row, 'side');
    const price = this.safeString(row, 'price');
    const filled = this.safeString(row, 'filled_token_quantity_atomic');
    let left = this.safeString(row, 'remaining');
    if (side === 'buy' && left !== undefined && price !== undefined) {
      left = Precise.stringDiv(left, price, 0);
    }
    return this.safePredictionOrder(
      this.extend(this.identityOf(found), {
        id: this.safeString(row, 'order_hash'),
        clientOrderId: this.safeString(row, 'client_order_id'),
        info: row,
        timestamp: this.parse8601(this.safeString(row, 'created_at')),
        lastUpdateTimestamp: this.parse8601(this.safeString(row, 'updated_at')),
        status: this.parseOrderStatus(this.safeString(row, 'status')),
        timeInForce: this.parseTimeInForce(this.safeString(row, 'time_in_force')),
        type: this.safeString(row, 'type', 'limit'),
        side,
        price,
        average: filled === '0' ? undefined : this.safeString(row, 'average_fill_price'),
        filled: this.fromUnits(filled),
        remaining: this.fromUnits(left),
        postOnly: this.safeBool(row, 'post_only'),
        reduceOnly: false,
      }),
    );
  }
}
