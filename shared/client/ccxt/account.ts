/** The money, positions, trades and orders of the account. The id of an order is its hash. */
import { Quotes } from './quotes.ts';
import { ArgumentsRequired, type Dict, type Int, Precise, type Str, type Strings, type Unified } from './upstream.ts';

const STATUSES: Readonly<Record<string, string>> = {
  open: 'open',
  partially_filled: 'open',
  filled: 'closed',
  cancelled: 'canceled',
  expired: 'expired',
};
const TIMES_IN_FORCE: Readonly<Record<string, string>> = { GTC: 'GTC', GTD: 'GTD', FOK: 'FOK', FAK: 'IOC' };
const MOST_ORDERS = 200;
const MOST_TRADES = 100;

export abstract class AccountOf extends Quotes {
  /** USDC, and the tokens of each outcome by its handle. */
  async fetchBalance(params: Dict = {}): Promise<Unified> {
    const answer = await this.privateGetUserBalances(params);
    await this.loadMarketsOf(this.safeList(answer, 'tokens', [])!);
    return this.parseBalance(answer);
  }

  parseBalance(answer: Dict): Unified {
    const of = (row: Dict): Dict => ({
      free: this.fromUnits(this.safeString(row, 'available')),
      used: this.fromUnits(this.safeString(row, 'reserved')),
    });
    const result: Dict = { info: answer, USDC: of(this.safeDict(answer, 'usdc', {})!) };
    for (const row of this.safeList(answer, 'tokens', [])!) {
      const outcome = this.outcomeAt(row['market_id'], this.safeString(row, 'outcome_index'));
      if (outcome['outcome'] !== undefined) result[outcome['outcome']] = of(row);
    }
    return this.safeBalance(result);
  }

  async fetchPositions(outcomes: Strings = undefined, params: Dict = {}): Promise<Unified[]> {
    const rows: Dict[] = this.toArray(await this.privateGetUserPositions(params));
    await this.loadMarketsOf(rows);
    const handles: string[] = [];
    for (const outcome of outcomes ?? []) handles.push((await this.loadOutcome(outcome))['outcome']);
    return this.filterByArray(this.parsePredictionPositions(rows), 'outcome', outcomes && handles, false);
  }

  /** With no tokens where the account has none. */
  async fetchPosition(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const request = this.extend({ market_id: found['info']['market_id'] }, params);
    const [position] = await this.fetchPositions([found['outcome']], request);
    return (
      position ?? this.safePredictionPosition({ ...this.identityOf(found), contracts: '0', side: 'long', info: {} })
    );
  }

  parsePredictionPosition(row: Dict): Unified {
    const found = this.outcomeAt(row['market_id'], this.safeString(row, 'outcome_index'));
    const contracts = this.fromUnits(this.safeString(row, 'quantity'))!;
    // Markets that a program has kept in a file have null for what is not known.
    const [entry, paid] = [this.safeString(row, 'average_entry_price'), this.safeNumber(found, 'settleFraction')];
    return this.safePredictionPosition({
      ...this.identityOf(found),
      ...{ id: this.safeString(row, 'id'), info: row, side: 'long', contracts, contractSize: '1' },
      ...{ entryPrice: entry, realizedPnl: this.safeString(row, 'realized_pnl') },
      collateral: entry === undefined ? undefined : Precise.stringMul(contracts, entry),
      ...{ resolved: paid !== undefined, won: this.safeBool(found, 'winner'), settleFraction: paid },
      payout: paid === undefined ? undefined : Precise.stringMul(contracts, this.numberToString(paid)),
    });
  }

  async fetchTradingFee(outcome: string, params: Dict = {}): Promise<Unified> {
    const found = await this.loadOutcome(outcome);
    const info = await this.privateGetMarketDataIdFeeRate(this.extend({ id: found['info']['market_id'] }, params));
    const [maker, taker] = ['maker_fee_bps', 'taker_fee_bps'].map((name) =>
      this.parseNumber(Precise.stringDiv(this.safeString(info, name, '0'), '10000')),
    );
    const { outcome: handle, outcomeId, market } = found;
    return { info, maker, taker, percentage: true, tierBased: false, outcome: handle, outcomeId, market };
  }

  /** Newest first by pages until `limit`, or until `since`. */
  async fetchMyTrades(outcome: Str = undefined, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    const found = outcome === undefined ? undefined : await this.loadOutcome(outcome);
    const request = found === undefined ? {} : { market_id: found['info']['market_id'] };
    const query = this.extend(since === undefined ? {} : { since: this.iso8601(since) }, request, params);
    const read = (page: Dict): Promise<Dict> => this.privateGetUserTradesV2(page);
    const rows = await this.pagesOf(read, 'trades', query, found === undefined ? limit : undefined, MOST_TRADES);
    await this.loadMarketsOf(rows);
    return this.parsePredictionTrades(rows, found, since, limit);
  }

  /** All that the query selects, or the newest `limit`. */
  private async pagesOf(
    read: (query: Dict) => Promise<Dict>,
    name: string,
    query: Dict,
    limit: Int,
    most: number,
  ): Promise<Dict[]> {
    const rows: Dict[] = [];
    let cursor: Str;
    do {
      const size = Math.min(most, limit === undefined ? most : limit - rows.length);
      const answer = await read(this.extend({ limit: size }, query, cursor === undefined ? {} : { cursor }));
      rows.push(...this.safeList(answer, name, [])!);
      cursor = this.safeString(answer, 'next_cursor');
    } while (cursor !== undefined && (limit === undefined || rows.length < limit));
    return rows;
  }

  /** The account's own part of a fill. The exchange names its order by a number of its own, `info.party_order_id`. */
  protected parseMyTrade(row: Dict): Unified {
    const found = this.outcomeAt(row['market_id'], this.safeString(row, 'party_outcome_index'));
    const cost = this.fromUnits(this.safeString(row, 'notional_usdc_micro'));
    const amount = this.fromUnits(this.safeString(row, 'token_quantity_atomic'));
    const isKnown = cost !== undefined && amount !== undefined;
    return this.safePredictionTrade({
      ...this.identityOf(found),
      ...{ id: this.safeString(row, 'id'), info: row },
      ...{ side: this.safeStringLower(row, 'party_side'), takerOrMaker: this.safeString(row, 'role') },
      ...{ timestamp: this.parse8601(this.safeString(row, 'matched_at')), cost, amount },
      price: isKnown ? Precise.stringDiv(cost, amount) : undefined,
    });
  }

  async fetchOrder(id: string, _outcome: Str = undefined, params: Dict = {}): Promise<Unified> {
    if (id === undefined) throw new ArgumentsRequired(`${this.id} fetchOrder() requires an id`);
    const answer = await this.privateGetOrdersHash(this.extend({ hash: id }, params));
    await this.loadMarketsOf([answer]);
    return this.parsePredictionOrder(answer);
  }

  /** By creation, newest first by pages. With an outcome all pages are read, as the list has no filter by market. */
  async fetchOrders(outcome: Str = undefined, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    const found = outcome === undefined ? undefined : await this.loadOutcome(outcome);
    const from = since === undefined ? {} : { since: this.iso8601(since) };
    const query = this.extend({ sort: 'created_at', ...from }, params);
    const read = (page: Dict): Promise<Dict> => this.privateGetUserOrdersV2(page);
    const rows = await this.pagesOf(read, 'orders', query, found === undefined ? limit : undefined, MOST_ORDERS);
    await this.loadMarketsOf(rows);
    return this.parsePredictionOrders(rows, found, since, limit);
  }

  async fetchOpenOrders(outcome: Str = undefined, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    if (outcome === undefined) {
      return this.fetchOrders(outcome, since, limit, this.extend({ status: 'open,partially_filled' }, params));
    }
    const found = await this.loadOutcome(outcome);
    const rows = await this.privateGetOrdersOpenId(this.extend({ id: found['info']['market_id'] }, params));
    return this.parsePredictionOrders(this.toArray(rows), found, since, limit);
  }

  async fetchClosedOrders(outcome: Str = undefined, since?: Int, limit?: Int, params: Dict = {}): Promise<Unified[]> {
    return this.fetchOrders(outcome, since, limit, this.extend({ status: 'filled,cancelled,expired' }, params));
  }

  /** The whole amount follows from the part that is done and the part that is left, both at the signed price. */
  parsePredictionOrder(row: Dict): Unified {
    const found = this.outcomeAt(row['market_id'], this.safeString(row, 'outcome_index'));
    const of = (name: string): Str => this.safeString(row, name);
    const [isBuy, price] = [of('side') === 'BUY', of('price')];
    const tokens = (units: Str): Str =>
      units !== undefined && isBuy && price !== undefined ? Precise.stringDiv(units, price, 0) : units;
    const filled = of('filled_token_quantity_atomic');
    const left = tokens(of('remaining'));
    const average = filled === '0' ? undefined : of('average_fill_price');
    const timeInForce = this.safeString(TIMES_IN_FORCE, of('time_in_force'));
    return this.safePredictionOrder({
      ...this.identityOf(found),
      ...{ id: of('order_hash'), clientOrderId: of('client_order_id'), info: row, timeInForce },
      ...{ timestamp: this.parse8601(of('created_at')), lastUpdateTimestamp: this.parse8601(of('updated_at')) },
      ...{ status: this.safeString(STATUSES, of('status')), side: this.safeStringLower(row, 'side'), price, average },
      type: this.safeString(row, 'type', 'limit'),
      ...{ filled: this.fromUnits(filled), remaining: this.fromUnits(left) },
      ...{ postOnly: this.safeBool(row, 'post_only'), reduceOnly: false },
    });
  }
}
