/**
 * What a shard knows of a market: its book, its rules and where it stands in its life. Descriptions live in the gateway.
 * Owner: the shard thread of the market.
 *
 * Invariant G1: collateralMicro is the supply of Yes tokens and the supply of No tokens: each full set is one USDC.
 */
import { MARKET_STATUS } from '../shared/codes.ts';
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
  /** Number of the command that last changed the market. */
  touched = 0;

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
  /* locked */ [MARKET_STATUS.ACTIVE],
];

export function mayMove(from: number, to: number): boolean {
  return from === to || (MOVES[from]?.includes(to) ?? false);
}
