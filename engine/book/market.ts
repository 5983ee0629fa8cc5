/**
 * One market as its shard knows it: book, rules, status, collateral. Descriptions live in the gateway.
 * Owner: the shard thread of the market.
 *
 * Invariants (walked by core/invariants.ts):
 *   MARKET-1  Until the market is decided, collateralMicro = supply of Yes tokens = supply of No tokens: a full set is
 *             worth one USDC.
 *   MARKET-2  Once it is decided, no order is open, no token is reserved, and in millionths of a micro-USDC
 *             collateralMicro * PPM = yes * payoutYesPpm + no * (PPM - payoutYesPpm) + roundingPpm.
 *   MARKET-3  Once it is settled, there are no tokens, no collateral, and roundingPpm is 0.
 *   MARKET-4  openOrders is the number of resting and dormant orders of the market.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided, MARKET_STATUS } from '../../shared/base/codes.ts';
import { Book } from './book.ts';
import type { Orders } from './orders.ts';

export class Market {
  readonly index: number;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  readonly uuid: Uint32Array;
  readonly book: Book;
  status: number;
  feeBps: number;
  startMs: number;
  endMs: number;
  collateralMicro = 0;
  /** Sequence of the market's last public frame; grows by one a frame and never resets. */
  sequence = 0;
  openOrders = 0;
  /** The book was closed at endMs, so no order is left to cancel. */
  isClosed = false;
  /** Payout of a Yes token once the market is decided; a No token pays PPM less that. */
  payoutYesPpm = 0;
  /** Time of the decision (resolved or cancelled), and of the payment of every holder; 0 before. */
  resolvedMs = 0;
  settledMs = 0;
  /** Millionths of a micro-USDC that payouts so far were rounded down by: still part of the collateral. */
  roundingPpm = 0;
  /** Number of the command that last changed the market. */
  touched = 0;
  /** The market is in the list of those that may have changed since the last digest (markets.ts). */
  isDirty = false;

  constructor(
    orders: Orders,
    index: number,
    uuid: Uint32Array,
    ticksPerUnit: number,
    minOrderAtomic: number,
    status: number,
    feeBps: number,
    startMs: number,
    endMs: number,
  ) {
    assert(ticksPerUnit >= 2, 'market: there is a price between 0 and 1 USDC');
    assert(minOrderAtomic >= ticksPerUnit, 'market: a minimum order is at least one lot');
    assert(uuid.length === 4, 'market: a UUID is four words');
    this.index = index;
    this.uuid = uuid;
    this.ticksPerUnit = ticksPerUnit;
    this.minOrderAtomic = minOrderAtomic;
    this.status = status;
    this.feeBps = feeBps;
    this.startMs = startMs;
    this.endMs = endMs;
    this.book = new Book(orders, ticksPerUnit);
  }

  /** The next time at which time alone changes this market, or Infinity. */
  nextTransitionMs(): number {
    if (this.isClosed) return Number.POSITIVE_INFINITY;
    if (this.status === MARKET_STATUS.PENDING) return Math.min(this.startMs, this.endMs);
    if (this.status === MARKET_STATUS.ACTIVE || this.status === MARKET_STATUS.LOCKED) return this.endMs;
    return Number.POSITIVE_INFINITY;
  }
}

/** Moves the administrator may make by hand; time makes pending → active and active → locked by itself. */
const MOVES: readonly (readonly number[])[] = [
  /* draft */ [MARKET_STATUS.PENDING],
  /* pending */ [MARKET_STATUS.ACTIVE, MARKET_STATUS.LOCKED],
  /* active */ [MARKET_STATUS.LOCKED],
  /* locked */ [MARKET_STATUS.ACTIVE, MARKET_STATUS.RESOLVING],
];

export function mayMove(from: number, to: number): boolean {
  return from === to || (MOVES[from]?.includes(to) ?? false);
}

/** A market is resolved once it has traded, and cancelled at any time before that. */
export function mayDecide(from: number, to: number): boolean {
  if (isDecided(from)) return false;
  return to === MARKET_STATUS.CANCELLED || (to === MARKET_STATUS.RESOLVED && from >= MARKET_STATUS.ACTIVE);
}
