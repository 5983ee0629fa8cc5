/**
 * Trades the orders of signedAmounts.ts on a real exchange and compares all places that show them: the answer to the
 * placement, the order's record, the lists, the activity, the frames of the stream and the money that moved.
 */
import assert from 'node:assert/strict';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { PlacementBody, PlacementResponse, UserOrder } from '../../shared/client/types.ts';
import type { Json, TestServer } from './server.ts';
import { isAccepted, SIGNED_AMOUNTS } from './signedAmounts.ts';
import { makeMarket, makeTrader, type Trader } from './traders.ts';

type Vector = Extract<(typeof SIGNED_AMOUNTS)[number], { states: unknown }>;
type State = Vector['states'][number];
type Traded = { readonly hash: string; readonly vector: Vector; readonly state: State };

const FUNDS_MICRO = 4_000_000_000;
const SETS_ATOMIC = 400_000_000;
const PAGE = 100;
const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account', 'stream:user'] as const;

export class SignedTrading {
  readonly trader: Trader;
  readonly traded: Traded[] = [];
  readonly #other: Trader;
  readonly #markets: ReadonlyMap<number, OrderMarket>;
  #count = 0;

  constructor(trader: Trader, other: Trader, markets: ReadonlyMap<number, OrderMarket>) {
    this.trader = trader;
    this.#other = other;
    this.#markets = markets;
  }

  /** A market for each number of ticks, and two accounts that have enough of everything. */
  static async on(server: TestServer): Promise<SignedTrading> {
    const options = { depositMicro: FUNDS_MICRO, requestsPerSecond: 10_000, scopes: [...SCOPES] };
    const [trader, other] = [await makeTrader(server, options), await makeTrader(server, options)];
    const markets = new Map<number, OrderMarket>();
    for (const ticks_per_unit of [10, 100, 1000, 10_000] as const) {
      // A fill may be of a single lot, and so may the order that it meets.
      const market = await makeMarket(server, { ticks_per_unit, min_order_size_atomic: String(ticks_per_unit) });
      markets.set(ticks_per_unit, market);
      for (const { client } of [trader, other]) await client.split(market.id, SETS_ATOMIC);
    }
    return new SignedTrading(trader, other, markets);
  }

  /** Reads the same orders at the exchange's present address, or on a copy of it. */
  async readAgain(server: TestServer): Promise<void> {
    const { client } = this.trader.on(server);
    for (const { hash, vector, state } of this.traded) assertShown(await client.getOrder(hash), vector, state);
  }

  /** Trades every vector, or all states of the vectors with these numbers of ticks. */
  async tradeAll(everyStateOf: readonly number[]): Promise<void> {
    for (const vector of SIGNED_AMOUNTS) {
      if (!isAccepted(vector)) await this.#refused(vector);
      else if (everyStateOf.includes(vector.ticks_per_unit))
        for (const state of vector.states) await this.trade(vector, state);
      else await this.trade(vector, vector.states.at(-1)!);
    }
  }

  /** Places an order that meets the fills of its state, alternating outcomes and kinds. */
  async trade(vector: Vector, state: State): Promise<PlacementResponse> {
    const turn = this.#count++;
    const outcomeIndex = turn & 1 ? 1 : 0;
    const isSameOutcome = (turn & 2) === 0;
    for (const [lots, ticks] of state.fills) await this.#offer(vector, outcomeIndex, isSameOutcome, lots, ticks);
    const before = await this.trader.holdings(this.#marketOf(vector));
    const answer = await this.trader.client.placeOrder(this.bodyOf(vector, outcomeIndex));
    if (state.status === 'cancelled' && vector.time_in_force === 'GTC')
      await this.trader.client.cancelOrder(answer.order_hash);
    this.traded.push({ hash: answer.order_hash, vector, state });
    const { fills } = answer;
    assert.deepEqual(
      fills.map(({ token_quantity_atomic, notional_usdc_micro }) => [token_quantity_atomic, notional_usdc_micro]),
      state.fills.map(([lots, ticks]) => [String(lots * vector.ticks_per_unit), String(lots * ticks)]),
      vector.name,
    );
    assertShown(await this.trader.client.getOrder(answer.order_hash), vector, state);
    const after = await this.trader.holdings(this.#marketOf(vector));
    const notional = state.fills.reduce((sum, [lots, ticks]) => sum + lots * ticks, 0);
    const moved = after.usdc + after.reserved - before.usdc - before.reserved;
    const paid = vector.side === 'BUY' ? 0 - notional : notional - feeOn(notional);
    assert.equal(moved, paid, `${vector.name}: the money that moved`);
    if (state.status === 'open' || state.status === 'partially_filled') {
      await this.trader.client.cancelOrder(answer.order_hash);
      this.traded.pop();
    }
    return answer;
  }

  bodyOf(
    vector: Pick<Vector, 'ticks_per_unit' | 'side' | 'time_in_force' | 'maker_amount' | 'taker_amount'>,
    outcomeIndex: 0 | 1,
    minTakerNet = '0',
  ): PlacementBody {
    const intent = {
      outcomeIndex,
      side: vector.side,
      timeInForce: vector.time_in_force,
      price: '0.50',
      size: '1',
      minTakerNet,
    };
    return this.trader.bodyOf(this.#marketOf(vector), intent, Number(vector.maker_amount), Number(vector.taker_amount));
  }

  async #refused(vector: Exclude<(typeof SIGNED_AMOUNTS)[number], Vector>): Promise<void> {
    const answer = await this.trader.post(this.bodyOf(vector, 0));
    assert.equal(answer.body.code, vector.refusal, vector.name);
  }

  async #offer(vector: Vector, outcome: 0 | 1, isSameOutcome: boolean, lots: number, ticks: number): Promise<void> {
    const d = vector.ticks_per_unit;
    const side = (vector.side === 'BUY') === isSameOutcome ? 'SELL' : 'BUY';
    const own = isSameOutcome ? ticks : d - ticks;
    const [usdc, tokens] = [lots * own, lots * d];
    const outcomeIndex = isSameOutcome ? outcome : outcome === 0 ? 1 : 0;
    const intent = { outcomeIndex, side, price: '0.50', size: '1' } as const;
    const amounts = side === 'BUY' ? ([usdc, tokens] as const) : ([tokens, usdc] as const);
    await this.#other.client.placeOrder(this.#other.bodyOf(this.#marketOf(vector), intent, ...amounts));
  }

  /** One Yes at a price in the market of 100 ticks, for a buyer or a seller to meet. */
  async offer(side: 'BUY' | 'SELL', price: string): Promise<void> {
    await this.#other.place(this.market(100), { side: side === 'BUY' ? 'SELL' : 'BUY', price, size: '1' });
  }

  market(ticksPerUnit: number): OrderMarket {
    return this.#markets.get(ticksPerUnit)!;
  }

  #marketOf({ ticks_per_unit }: { readonly ticks_per_unit: number }): OrderMarket {
    return this.market(ticks_per_unit);
  }
}

/** All that the account has in a list, page by page. */
export async function allOrders({ client }: Trader): Promise<UserOrder[]> {
  const found: UserOrder[] = [];
  for (let cursor: string | undefined; ; ) {
    const { orders, next_cursor } = await client.userOrders({ limit: PAGE, cursor });
    found.push(...orders);
    if (next_cursor === null) return found;
    cursor = next_cursor;
  }
}

/** The record has the signed values beside the paid ones. A field that this form of it lacks is not compared. */
export function assertShown(record: Json, vector: Vector, { fills: _, ...shown }: State): void {
  const { price, initial_limit_notional_usdc_micro } = vector;
  const expected: Json = { price, initial_limit_notional_usdc_micro, ...shown };
  const names = Object.keys(expected).filter((name) => name in record);
  const pick = (from: Json): Json => Object.fromEntries(names.map((name) => [name, from[name]]));
  assert.deepEqual(pick(record), pick(expected), vector.name);
  assert.ok(names.length >= 6, `the record has ${names}`);
}

/** RULES.md 2.3, with the usual fee. */
function feeOn(received: number): number {
  return Math.floor((received * 50) / 10_000);
}
