/**
 * Orders by their two signed amounts (test/vectors/signedAmounts.json), each with the trades that it allows, its fills
 * and the expected record. Engine, audit, records, exchange and contract use this one table.
 */
import { readFileSync } from 'node:fs';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { type CommandResult, EngineRig, type PlaceOptions } from './engineRig.ts';

type SignedState = Readonly<{
  /** Lots and ticks of the order's own outcome, in their order. */
  fills: readonly (readonly [lots: number, ticks: number])[];
  status: string;
  filled_amount: string;
  remaining: string;
  filled_token_quantity_atomic: string;
  average_fill_price: string | null;
  filled_limit_notional_usdc_micro: string;
  remaining_limit_notional_usdc_micro: string;
}>;

type Signed = Readonly<{
  name: string;
  ticks_per_unit: number;
  side: keyof typeof SIDE;
  time_in_force: keyof typeof TIME_IN_FORCE;
  maker_amount: string;
  taker_amount: string;
}>;
type AcceptedAmounts = Signed &
  Readonly<{
    limit_ticks: number;
    lots: number;
    price: string;
    initial_limit_notional_usdc_micro: string;
    states: readonly SignedState[];
  }>;
type RefusedAmounts = Signed & Readonly<{ refusal: 'INVALID_TICK' | 'INVALID_LOT' }>;

const FILE = new URL('../vectors/signedAmounts.json', import.meta.url);

export const SIGNED_AMOUNTS: readonly (AcceptedAmounts | RefusedAmounts)[] = JSON.parse(
  readFileSync(FILE, 'utf8'),
).vectors;

export function isAccepted(vector: AcceptedAmounts | RefusedAmounts): vector is AcceptedAmounts {
  return 'states' in vector;
}

/** The codes and numbers of an order. */
export function signedOf(vector: Signed) {
  return {
    side: SIDE[vector.side],
    timeInForce: TIME_IN_FORCE[vector.time_in_force],
    makerAmount: Number(vector.maker_amount),
    takerAmount: Number(vector.taker_amount),
    ticksPerUnit: vector.ticks_per_unit,
  };
}

const TRADER = 1;
const OTHER = 2;
const EVERYTHING = 1_000_000_000_000;

/** An engine with a market for each number of ticks, in which two accounts have enough of everything. */
export class SignedRig {
  readonly rig = new EngineRig();
  readonly #markets = new Map<number, number>();

  constructor() {
    for (const account of [TRADER, OTHER]) this.rig.fund(account, 8 * EVERYTHING);
  }

  /** The order must leave nothing in the book. @returns the answer to the order. */
  refused(vector: RefusedAmounts, outcome: number): CommandResult {
    return this.#place(vector, outcome);
  }

  /**
   * Places the order against orders that rest there for its fills: they sell the same outcome or buy the other one.
   * @returns its own answer; the rest of a resting order is cancelled if the state says so.
   */
  traded(vector: AcceptedAmounts, state: SignedState, outcome: number, isSameOutcome: boolean): CommandResult {
    for (const [lots, ticks] of state.fills) this.#offer(vector, outcome, isSameOutcome, lots, ticks);
    const placed = this.#place(vector, outcome);
    if (state.status === 'cancelled') this.rig.cancelMany(TRADER);
    return placed;
  }

  /** Cancels everything that still rests. */
  clear(): void {
    for (const account of [TRADER, OTHER]) this.rig.cancelMany(account);
  }

  #place(vector: Signed, outcome: number): CommandResult {
    const { ticksPerUnit: _, ...order } = signedOf(vector);
    return this.rig.place({ ...order, account: TRADER, outcome, market: this.#market(vector.ticks_per_unit) });
  }

  #offer(vector: Signed, outcome: number, isSameOutcome: boolean, lots: number, ticks: number): void {
    const ticksPerUnit = vector.ticks_per_unit;
    const side = (SIDE[vector.side] === SIDE.BUY) === isSameOutcome ? SIDE.SELL : SIDE.BUY;
    const other = outcome === OUTCOME.YES ? OUTCOME.NO : OUTCOME.YES;
    const order: PlaceOptions = isSameOutcome ? { outcome, ticks } : { outcome: other, ticks: ticksPerUnit - ticks };
    this.rig.place({ ...order, account: OTHER, side, lots, market: this.#market(ticksPerUnit) });
  }

  #market(ticksPerUnit: number): number {
    const known = this.#markets.get(ticksPerUnit);
    if (known !== undefined) return known;
    const market = this.#markets.size;
    this.#markets.set(ticksPerUnit, market);
    this.rig.market(market, { ticksPerUnit, minOrderAtomic: ticksPerUnit });
    for (const account of [TRADER, OTHER]) this.rig.convert(account, market, EVERYTHING);
    return market;
  }
}
