/**
 * Orders are signed here and placed, changed and cancelled. A price that is off the grid of its market is refused
 * before anything is sent, as rounding it would trade at another one; an amount is cut off at the lot, as everywhere in
 * CCXT. A market order takes what is there at once, up to `price` if that is given and else at any price.
 */
import { AccountOf } from './account.ts';
import {
  ArgumentsRequired,
  type Dict,
  type Int,
  InvalidOrder,
  type Num,
  type OrderSide,
  type OrderType,
  Precise,
  type Str,
  type Unified,
} from './upstream.ts';

export abstract class Trading extends AccountOf {
  /** `params` are those of fieldNames; `expiration` is in Unix seconds and makes the order GTD. */
  async createOrder(
    outcome: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price: Num = undefined,
    params: Dict = {},
  ): Promise<Unified> {
    const body = await this.orderBody(outcome, type, side, amount, price, params);
    const answer = await this.privatePostOrders(body);
    return this.parsePlaced(answer, body, type);
  }

  /** In one request, at most fifteen. An order that is refused has the status `rejected`, and its reason in `info`. */
  async createOrders(orders: Unified[], params: Dict = {}): Promise<Unified[]> {
    const bodies: Dict[] = [];
    for (const order of orders) {
      const all = this.extend(params, this.safeDict(order, 'params', {}));
      const outcome = this.safeString(order, 'outcome', '');
      const type = this.safeString(order, 'type', '');
      const side = this.safeString(order, 'side', '');
      const price = this.safeNumber(order, 'price');
      bodies.push(await this.orderBody(outcome, type, side, this.safeNumber(order, 'amount'), price, all));
    }
    const answer = await this.privatePostOrdersBatch({ orders: bodies });
    const rows = this.safeList(answer, 'results', []);
    const placed: Dict[] = [];
    for (const row of rows) {
      const index = this.safeInteger(row, 'index', 0);
      if (this.safeString(row, 'status') === 'success') {
        const type = this.safeString(orders[index], 'type', '');
        placed.push(this.parsePlaced(this.safeDict(row, 'response', {}), bodies[index], type));
      } else {
        this.forgetTerms(this.safeString(row, 'code'));
        placed.push(this.parseRejected(row, bodies[index]));
      }
    }
    return placed;
  }

  parseRejected(info: Dict, body: Dict): Unified {
    const found = this.outcomeAt(body['market_id'], this.safeInteger(body, 'outcome_index'));
    const clientOrderId = this.safeString(body, 'client_order_id');
    return this.safePredictionOrder(this.extend(this.identityOf(found), { status: 'rejected', clientOrderId, info }));
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
    const body = await this.orderBody(outcome, type, side, amount, price, params);
    const answer = await this.privatePutOrdersHashAmend({ hash: id, new_order: body });
    return this.parsePlaced(answer, body, type);
  }

  async cancelOrder(id: string, _outcome: Str = undefined, params: Dict = {}): Promise<Unified> {
    const info = await this.privateDeleteOrdersHash(this.extend({ hash: id }, params));
    return this.safePredictionOrder({ id, status: 'canceled', info });
  }

  /** An order that could not be cancelled has no status, and its reason in `info`. */
  async cancelOrders(ids: string[], _outcome: Str = undefined, params: Dict = {}): Promise<Unified[]> {
    const answer = await this.privateDeleteOrdersBatch(this.extend({ order_hashes: ids }, params));
    const rows = this.safeList(answer, 'results', []);
    const orders: Dict[] = [];
    for (const row of rows) {
      const status = this.safeString(row, 'status') === 'cancelled' ? 'canceled' : undefined;
      orders.push(this.safePredictionOrder({ id: this.safeString(row, 'order_hash'), status, info: row }));
    }
    return orders;
  }

  /** All of the account, or of one outcome. The exchange says how many there were, and not which. */
  async cancelAllOrders(outcome: Str = undefined, params: Dict = {}): Promise<Unified[]> {
    let info: Dict = {};
    if (outcome === undefined) {
      info = await this.privateDeleteOrdersCancelAll(params);
    } else {
      const found = await this.loadOutcome(outcome);
      info = await this.privateDeleteOrdersCancelMarket(this.extend(found['info'], params));
    }
    return [this.safePredictionOrder({ info })];
  }

  /** A whole signed order, as its route takes it. */
  async orderBody(
    outcome: string,
    type: OrderType,
    side: OrderSide,
    amount: Num,
    price: Num,
    params: Dict,
  ): Promise<Dict> {
    if (type !== 'limit' && type !== 'market') {
      throw new InvalidOrder(`${this.id} there are no orders of type ${type}`);
    }
    if (side !== 'buy' && side !== 'sell') {
      throw new InvalidOrder(`${this.id} a side is buy or sell`);
    }
    const conditions = this.conditionsOf(type, params);
    const found = await this.termsOf(outcome);
    const marketId = found['info']['market_id'];
    const scaled = this.priceOf(found, type, side, price);
    const tokens = this.amountToPredictionPrecision(found['outcome'], this.amountOf(amount));
    const quantity = this.toUnits(tokens);
    const notional = this.toUnits(Precise.stringMul(tokens, scaled));
    const isBuy = side === 'buy';
    const order = {
      market_id: marketId,
      token_id: found['outcomeId'],
      outcome_index: found['info']['outcome_index'],
      side: isBuy ? 'BUY' : 'SELL',
      maker_amount: isBuy ? notional : quantity,
      taker_amount: isBuy ? quantity : notional,
      fee_rate_bps: await this.feeRateOf(marketId),
      min_taker_net: '0',
      nonce: this.safeInteger(params, 'nonce', 0),
    };
    const domain = await this.signingDomain();
    return this.signOrder(this.extend(order, conditions), domain);
  }

  amountOf(amount: Num): number {
    if (amount === undefined) {
      throw new ArgumentsRequired(`${this.id} an order requires an amount`);
    }
    if (!(amount > 0)) {
      throw new InvalidOrder(`${this.id} an amount is more than 0`);
    }
    return amount;
  }

  /** In text, on the grid. */
  priceOf(outcome: Dict, type: OrderType, side: OrderSide, price: Num): Str {
    const market = this.market(outcome['market']);
    const limits = this.safeDict(this.safeDict(market, 'limits', {}), 'price', {});
    const least = this.safeString(limits, 'min', '');
    const most = this.safeString(limits, 'max', '');
    if (price === undefined) {
      if (type !== 'market') {
        throw new ArgumentsRequired(`${this.id} a limit order requires a price`);
      }
      return side === 'buy' ? most : least;
    }
    const given = this.numberToString(price);
    if (!(price > 0) || Precise.stringLt(given, least) || Precise.stringGt(given, most)) {
      throw new InvalidOrder(`${this.id} prices are from ${least} to ${most}`);
    }
    const onGrid = this.priceToPredictionPrecision(outcome['outcome'], price);
    if (!Precise.stringEq(given, onGrid)) {
      throw new InvalidOrder(`${this.id} ${given} is no price of this market: its step is ${least}`);
    }
    return onGrid;
  }

  /** The `params` that are fields of an order here; others are refused, as an order with `postonly` would take. */
  fieldNames(): Dict {
    return {
      timeInForce: 'time_in_force',
      postOnly: 'post_only',
      expiration: 'expiration',
      nonce: 'nonce',
      clientOrderId: 'client_order_id',
      selfTradePrevention: 'self_trade_prevention',
      orderGroup: 'order_group',
    };
  }

  conditionsOf(type: OrderType, params: Dict): Dict {
    const fields = this.fieldNames();
    const conditions: Dict = {};
    const names = Object.keys(params);
    for (const name of names) {
      if (!(name in fields)) {
        throw new InvalidOrder(`${this.id} an order has no ${name}`);
      }
      if (params[name] !== undefined) {
        conditions[fields[name]] = params[name];
      }
    }
    const expiration = this.safeInteger(params, 'expiration', 0);
    let usual = 'GTC';
    if (type === 'market') {
      usual = 'IOC';
    } else if (expiration > 0) {
      usual = 'GTD';
    }
    const given = this.safeStringUpper(params, 'timeInForce', usual);
    const sent = { GTC: 'GTC', GTD: 'GTD', FOK: 'FOK', IOC: 'FAK', FAK: 'FAK', PO: 'GTC' };
    const timeInForce = this.safeString(sent, given);
    if (timeInForce === undefined) {
      throw new InvalidOrder(`${this.id} there is no timeInForce ${given}`);
    }
    if (type === 'market' && timeInForce !== 'FAK' && timeInForce !== 'FOK') {
      throw new InvalidOrder(`${this.id} a market order does not rest: it is IOC or FOK`);
    }
    conditions['time_in_force'] = timeInForce;
    conditions['expiration'] = expiration;
    conditions['post_only'] = given === 'PO' || this.safeBool(params, 'postOnly', false);
    return conditions;
  }

  /** As the exchange requires it in the signature; kept until it refuses it. */
  async feeRateOf(id: string): Promise<Int> {
    const known = this.safeInteger(this.options['feeRates'], id);
    if (known !== undefined) {
      return known;
    }
    const answer = await this.privateGetMarketDataIdFeeRate({ id });
    const rate = this.safeInteger(answer, 'maker_fee_bps');
    this.options['feeRates'][id] = rate;
    return rate;
  }

  /** The answer says what became of the order, the body what it was. */
  parsePlaced(answer: Dict, body: Dict, type: OrderType): Unified {
    const fills = this.safeList2(answer, 'fills', 'matches', []);
    let tokens: Str = '0';
    let paid: Str = '0';
    for (const fill of fills) {
      tokens = Precise.stringAdd(tokens, this.safeString(fill, 'token_quantity_atomic'));
      paid = Precise.stringAdd(paid, this.safeString(fill, 'notional_usdc_micro'));
    }
    let quantity = body['maker_amount'];
    let notional = body['taker_amount'];
    if (body['side'] === 'BUY') {
      quantity = body['taker_amount'];
      notional = body['maker_amount'];
    }
    let status = this.safeString(answer, 'status');
    if (this.safeString(answer, 'remaining_status') === 'cancelled') {
      status = 'cancelled';
    }
    const row = this.extend(body, answer, {
      type,
      status,
      price: Precise.stringDiv(notional, quantity),
      filled_token_quantity_atomic: tokens,
      average_fill_price: tokens === '0' ? undefined : Precise.stringDiv(paid, tokens),
    });
    return this.extend(this.parsePredictionOrder(row), { info: answer });
  }
}
