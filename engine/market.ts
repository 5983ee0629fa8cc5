/**
 * What a shard knows of a market: its book, its rules, where it stands in its life. Descriptions live in the gateway.
 * Owner: the shard thread of the market.
 *
 * Invariants (walked by check.ts, cited there by number):
 *   G1  Until the market is decided collateralMicro is the supply of Yes tokens and the supply of No tokens: each full
 *       set is one USDC.
 *   G2  Once it is decided no order is open, no token reserved, and collateralMicro is what the remaining tokens are
 *       worth plus what rounding kept back: in millionths, sum of worth + roundingPpm, exactly.
 *   G3  Once it is settled there are no tokens, no collateral and nothing kept back.
 */
import { isDecided, MARKET_STATUS } from '../shared/codes.ts';
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
  /** Number of the market's last public frame; grows by one a frame and never resets. */
  sequence = 0;
  openOrders = 0;
  /** The book was closed at endMs: nothing is left to cancel. */
  isClosed = false;
  /** What a Yes token pays once the market is decided; a No token pays the rest of a million. */
  payoutYesPpm = 0;
  /** When it was resolved or cancelled, and when every holder was paid; 0 before. */
  resolvedMs = 0;
  settledMs = 0;
  /** Millionths of a micro-USDC that payouts so far were rounded down by: still in the collateral, nobody's. */
  roundingPpm = 0;
  /** Number of the command that last changed the market. */
  touched = 0;
  /** In the list of those whose part of the digest has to be made anew (markets.ts). */
  isUnsealed = false;

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

  /** When time alone changes this market next, or Infinity. */
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
