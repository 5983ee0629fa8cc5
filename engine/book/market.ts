/**
 * One market as its shard knows it: book, rules, status, collateral. Descriptions live in the gateway.
 * Owner: the shard thread of the market.
 *
 * Invariants (walked by core/invariants.ts):
 *   MARKET-1  Until the market is decided, collateralMicro = supply of Yes tokens = supply of No tokens: a full set is
 *             worth one USDC. (Of a member of an event set that holds in another form: eventSets.ts.)
 *   MARKET-2  Once it is decided, no order is open, no token is reserved, and in millionths of a micro-USDC
 *             collateralMicro * PPM = yes * payoutYesPpm + no * (PPM - payoutYesPpm) + roundingPpm.
 *   MARKET-3  Once it is settled, there are no tokens, no collateral, and roundingPpm is 0.
 *   MARKET-4  openOrders is the number of resting and dormant orders of the market.
 *   MARKET-5  A market that is closing trades nothing, and is locked or resolving; one that waits for its decision to
 *             take effect is resolving, and closing, as is some member of its set.
 *   MARKET-6  A market that is settling is decided and not settled yet, and the holders before its cursor have no
 *             tokens.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided, MARKET_STATUS, STAGE } from '../../shared/base/codes.ts';
import { Book } from './book.ts';
import type { Orders } from './orders.ts';

/** Means "undecided": DRAFT is never the result of a decision. */
export const UNDECIDED: number = MARKET_STATUS.DRAFT;
/** The cursor of a market that is not being settled. */
const NO_CURSOR = -1;
/** The heap index of a market that does not change by time alone. */
export const NOT_DUE = -1;

/** An event set as its members know it (eventSets.ts). */
export type EventSet = {
  /** Index of the first market, by which commands and events name the set. */
  readonly first: number;
  readonly size: number;
  /** By ordinal; dense once the set is complete. */
  readonly members: readonly (Market | undefined)[];
  excessMicro: number;
  readonly isComplete: boolean;
  /** Every member has its payout. */
  readonly isDecided: boolean;
  /** The set was decided as a whole, and waits for the last order of its members. */
  readonly isDeciding: boolean;
  /** The members that no decision has ended, also none that waits for its last order. */
  readonly undecided: readonly Market[];
};

export class Market {
  readonly index: number;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  readonly uuid: Uint32Array;
  readonly book: Book;
  status: number;
  /** One of STAGE: which orders the book accepts. */
  stage: number = STAGE.OPEN;
  feeBps: number;
  startMs: number;
  endMs: number;
  collateralMicro = 0;
  /** Sequence of the market's last public frame; grows by one a frame and never resets. */
  sequence = 0;
  /** Time of the last fill (shared/base/fillTimes.ts); 0 before the first. No part of the digest: see markets.ts. */
  lastFillMicros = 0;
  openOrders = 0;
  /** The book was closed at endMs: once its orders are closed, none is left to cancel. */
  isClosed = false;
  /** Its open orders are being closed, some in each record. */
  isClosing = false;
  /** RESOLVED or CANCELLED: the status, with this payout, that the market takes once its last order is closed. */
  decision: number = UNDECIDED;
  decisionYesPpm = 0;
  /** While holders are being paid: the row of the next one (money/positions.ts). */
  cursor: number = NO_CURSOR;
  /** Payout of a Yes token once the market is decided; a No token pays PPM less that. */
  payoutYesPpm = 0;
  /** Time of the decision (resolved or cancelled), and of the payment of every holder; 0 before. */
  resolvedMs = 0;
  settledMs = 0;
  /** The sum of payout roundings so far, in millionths of a micro-USDC: still part of the collateral. */
  roundingPpm = 0;
  /** Number of the command that last changed the market. */
  touched = 0;
  /** The market is in the list of those that may have changed since the last digest (markets.ts). */
  isDirty = false;
  /** The event set of which it is a member, and its place there (eventSets.ts). */
  set: EventSet | null = null;
  setOrdinal = 0;
  /** Its number in the order of opening (markets.ts). */
  ordinal = 0;
  /** Its index in the heap of transitions, and the time under which it is there (transitions.ts). */
  heapIndex: number = NOT_DUE;
  dueMs = 0;

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

  get isSettling(): boolean {
    return this.cursor !== NO_CURSOR;
  }

  /** Orders are still to be closed, or holders to be paid. */
  get isEnding(): boolean {
    return this.isClosing || this.isSettling;
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

/** A market is resolved only after it has traded, and cancelled at any time before its decision. It is decided once. */
export function mayDecide({ decision, status }: Market, to: number): boolean {
  if (isDecided(status) || decision !== UNDECIDED) return false;
  return to === MARKET_STATUS.CANCELLED || (to === MARKET_STATUS.RESOLVED && status >= MARKET_STATUS.ACTIVE);
}

/** A decided market is settled once. */
export function maySettle({ isSettling, settledMs, status }: Market): boolean {
  return isDecided(status) && settledMs === 0 && !isSettling;
}
