/**
 * Orders are signed here and placed, changed and cancelled. A price that is off the grid of its market is refused
 * before anything is sent, as rounding it would trade at another one; an amount is cut off at the lot, as everywhere in
 * CCXT. A market order takes what is there at once, up to `price` if that is given and else at any price.
 */
import { AccountOf } from './account.ts';
import {
  ArgumentsRequired,
  type Dict,
  InvalidOrder,
  type Num,
  type OrderSide,
  type OrderType,
  Precise,
  type Str,
  type Unified,
} from './upstream.ts';

const SENT_TIMES_IN_FORCE: Readonly<Record<string, string>> = {
  GTC: 'GTC',
  GTD: 'GTD',
  FOK: 'FOK',
  IOC: 'FAK',
  FAK: 'FAK',
  PO: 'GTC',
};
/** `params` that are fields of an order here; others are refused, as an order with `postonly` would take. */
const PARAMS = ['timeInForce', 'postOnly', 'expiration', 'nonce', 'clientOrderId', 'selfTradePrevention', 'orderGroup'];

type Wanted = { outcome: Str; type: OrderType; side: OrderSide; amount: Num; price?: Num; params?: Dict };

export abstract class Trading extends AccountOf {
  /** @param params as in PARAMS; `expiration` is in Unix seconds and makes the order GTD. */
  async createOrder(
    outcome: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price: Num = undefined,
    params: Dict = {},
  ): Promise<Unified> {
    const body = await this.orderBody({ outcome, type, side, amount, price, params });
    return this.parsePlaced(await this.privatePostOrders(body), body, type);
  }

  /** In one request, at most fifteen. An order that is refused has the status `rejected`, and its reason in `info`. */
  async createOrders(orders: Unified[], params: Dict = {}): Promise<Unified[]> {
    const bodies: Dict[] = [];
    for (const order of orders) {
      const all = this.extend(params, this.safeDict(order, 'params', {}));
      bodies.push(await this.orderBody(this.extend(order, { params: all })));
    }
    const answer = await this.privatePostOrdersBatch({ orders: bodies });
    return this.safeList(answer, 'results', [])!.map((row: Dict) => {
      const index = this.safeInteger(row, 'index')!;
      if (row['status'] === 'success') return this.parsePlaced(row['response'], bodies[index], orders[index].type);
      this.forgetTerms(this.safeString(row, 'code'));
      return this.rejected(row, bodies[index]);
    });
  }

  private rejected(info: Dict, body: Dict): Unified {
    const found = this.outcomeAt(body['market_id'], body['outcome_index'].toString());
    const clientOrderId = this.safeString(body, 'client_order_id');
    return this.safePredictionOrder({ ...this.identityOf(found), status: 'rejected', clientOrderId, info });
  }

  /** The order keeps its place in the queue if it becomes smaller at the same price. It has a new id. */
  async editOrder(
    id: string,
    outcome: string,
    type: OrderType,
    side: OrderSide,
    amount: Num = undefined,
    price: Num = undefined,
    params: Dict = {},
  ): Promise<Unified> {
    const body = await this.orderBody({ outcome, type, side, amount, price, params });
    return this.parsePlaced(await this.privatePutOrdersHashAmend({ hash: id, new_order: body }), body, type);
  }

  async cancelOrder(id: string, _outcome: Str = undefined, params: Dict = {}): Promise<Unified> {
    const info = await this.privateDeleteOrdersHash(this.extend({ hash: id }, params));
    return this.safePredictionOrder({ id, status: 'canceled', info });
  }

  /** An order that could not be cancelled has no status, and its reason in `info`. */
  async cancelOrders(ids: string[], _outcome: Str = undefined, params: Dict = {}): Promise<Unified[]> {
    const answer = await this.privateDeleteOrdersBatch(this.extend({ order_hashes: ids }, params));
    return this.safeList(answer, 'results', [])!.map((row: Dict) => {
      const status = row['status'] === 'cancelled' ? 'canceled' : undefined;
      return this.safePredictionOrder({ id: this.safeString(row, 'order_hash'), status, info: row });
    });
  }

  /** All of the account, or of one outcome. The exchange says how many there were, and not which. */
  async cancelAllOrders(outcome: Str = undefined, params: Dict = {}): Promise<Unified[]> {
    if (outcome === undefined) {
      return [this.safePredictionOrder({ info: await this.privateDeleteOrdersCancelAll(params) })];
    }
    const { market_id, outcome_index } = (await this.loadOutcome(outcome))['info'];
    const request = this.extend({ market_id, outcome_index }, params);
    return [this.safePredictionOrder({ info: await this.privateDeleteOrdersCancelMarket(request) })];
  }

  /** A whole signed order, as its route takes it. */
  private async orderBody({ outcome, type, side, amount, price, params = {} }: Wanted): Promise<Dict> {
    for (const name of Object.keys(params)) {
      if (!PARAMS.includes(name)) throw new InvalidOrder(`${this.id} an order has no ${name}`);
    }
    if (type !== 'limit' && type !== 'market') throw new InvalidOrder(`${this.id} there are no orders of type ${type}`);
    if (side !== 'buy' && side !== 'sell') throw new InvalidOrder(`${this.id} a side is buy or sell`);
    const conditions = this.conditionsOf(type, params);
    const found = await this.termsOf(outcome);
    const { market_id, outcome_index } = found['info'];
    const scaled = this.priceOf(found, type, side, price);
    const tokens = this.amountToPredictionPrecision(found['outcome'], this.amountOf(amount))!;
    const [quantity, notional] = [this.toUnits(tokens), this.toUnits(Precise.stringMul(tokens, scaled)!)];
    const isBuy = side === 'buy';
    const order = {
      ...{ market_id, token_id: found['outcomeId'], outcome_index, side: isBuy ? 'BUY' : 'SELL' },
      ...{ maker_amount: isBuy ? notional : quantity, taker_amount: isBuy ? quantity : notional },
      ...{ fee_rate_bps: await this.feeRateOf(market_id), min_taker_net: '0' },
      nonce: this.safeInteger(params, 'nonce', 0),
      ...conditions,
    };
    return this.signOrder(order, await this.signingDomain());
  }

  private amountOf(amount: Num): number {
    if (amount === undefined) throw new ArgumentsRequired(`${this.id} an order requires an amount`);
    if (!(amount > 0)) throw new InvalidOrder(`${this.id} an amount is more than 0`);
    return amount;
  }

  /** In text, on the grid. */
  private priceOf(outcome: Dict, type: OrderType, side: OrderSide, price: Num): string {
    const market: Unified = this.market(outcome['market']);
    const { min, max } = market['limits']['price'];
    if (price === undefined) {
      if (type !== 'market') throw new ArgumentsRequired(`${this.id} a limit order requires a price`);
      return this.numberToString(side === 'buy' ? max : min)!;
    }
    if (!(price >= min && price <= max)) throw new InvalidOrder(`${this.id} prices are from ${min} to ${max}`);
    const given = this.numberToString(price);
    const onGrid = this.priceToPredictionPrecision(outcome['outcome'], price)!;
    if (!Precise.stringEq(given, onGrid)) {
      throw new InvalidOrder(`${this.id} ${given} is no price of this market: its step is ${min}`);
    }
    return onGrid;
  }

  private conditionsOf(type: OrderType, params: Dict): Dict {
    const expiration = this.safeInteger(params, 'expiration', 0)!;
    const usual = type === 'market' ? 'IOC' : expiration > 0 ? 'GTD' : 'GTC';
    const given = this.safeStringUpper(params, 'timeInForce', usual)!;
    const time_in_force = SENT_TIMES_IN_FORCE[given];
    if (time_in_force === undefined) throw new InvalidOrder(`${this.id} there is no timeInForce ${given}`);
    if (type === 'market' && time_in_force !== 'FAK' && time_in_force !== 'FOK') {
      throw new InvalidOrder(`${this.id} a market order does not rest: it is IOC or FOK`);
    }
    const conditions: Dict = { time_in_force, expiration };
    conditions['post_only'] = given === 'PO' || this.safeBool(params, 'postOnly', false);
    const texts = { clientOrderId: 'client_order_id', orderGroup: 'order_group' };
    for (const [name, field] of Object.entries({ ...texts, selfTradePrevention: 'self_trade_prevention' })) {
      if (params[name] !== undefined) conditions[field] = params[name];
    }
    return conditions;
  }

  /** As the exchange requires it in the signature; kept until it refuses it. */
  private async feeRateOf(id: string): Promise<number> {
    this.options['feeRates'] ??= {};
    const rates: Unified = this.options['feeRates'];
    rates[id] ??= this.safeInteger(await this.privateGetMarketDataIdFeeRate({ id }), 'maker_fee_bps');
    return rates[id];
  }

  /** The answer says what became of the order, the body what it was. */
  private parsePlaced(answer: Dict, body: Dict, type: OrderType): Unified {
    const fills = this.safeList(answer, 'fills') ?? this.toArray(this.safeValue(answer, 'matches', []));
    let [tokens, paid] = ['0', '0'];
    for (const fill of fills) {
      tokens = Precise.stringAdd(tokens, this.safeString(fill, 'token_quantity_atomic'))!;
      paid = Precise.stringAdd(paid, this.safeString(fill, 'notional_usdc_micro'))!;
    }
    const [quantity, notional] =
      body['side'] === 'BUY'
        ? [body['taker_amount'], body['maker_amount']]
        : [body['maker_amount'], body['taker_amount']];
    const isDead = this.safeString(answer, 'remaining_status') === 'cancelled';
    const row = this.extend(body, answer, {
      ...{ type, price: Precise.stringDiv(notional, quantity), filled_token_quantity_atomic: tokens },
      average_fill_price: tokens === '0' ? undefined : Precise.stringDiv(paid, tokens),
      status: isDead ? 'cancelled' : this.safeString(answer, 'status'),
    });
    return this.extend(this.parsePredictionOrder(row), { info: answer });
  }
}
