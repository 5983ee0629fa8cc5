/**
 * Event sets (RULES.md 19): markets of which exactly one outcome wins, and whose money is one. A member's collateral is
 * the supply of its No tokens until it is decided; what the set has beyond that is its excess. So fills, splits and
 * merges of a member change its collateral as in any market, and know nothing of sets.
 * Owner: the shard thread.
 *
 * Invariants (walked by core/invariants.ts):
 *   EVENTSET-1  For every undecided member collateralMicro is the supply of No tokens, and the supply of Yes tokens is
 *               that plus excessMicro, the same number for all of them; it may be negative. So the USDC of the set are
 *               excessMicro plus the collateral of its members.
 *   EVENTSET-2  Until the set is decided at least two members are undecided, and a decided one is eliminated: its Yes
 *               pays nothing.
 *   EVENTSET-3  The payouts of Yes of a decided set add up to one USDC. Each member then has the collateral of any
 *               decided market (MARKET-2), and excessMicro is what rounding this up took, negated, and what settled
 *               members left over; once all are settled it is 0.
 *   EVENTSET-4  The members have the same grid, smallest order, fee and times. The set converts only once all of them
 *               are open.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { LEAST_MEMBERS, MOST_MEMBERS } from '../../shared/base/eventSets.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { type EventSet, type Market, UNDECIDED } from './market.ts';

class SetOfMarkets implements EventSet {
  readonly first: number;
  readonly size: number;
  readonly members: (Market | undefined)[];
  excessMicro = 0;
  #opened = 0;

  constructor(first: number, size: number) {
    assert(size >= LEAST_MEMBERS && size <= MOST_MEMBERS, 'EVENTSET-4: a set has 2 to 64 markets');
    this.first = first;
    this.size = size;
    this.members = new Array<Market | undefined>(size).fill(undefined);
  }

  get isComplete(): boolean {
    return this.#opened === this.size;
  }

  get undecided(): Market[] {
    return this.members.filter(
      (market): market is Market => market !== undefined && !isDecided(market.status) && market.decision === UNDECIDED,
    );
  }

  get isDecided(): boolean {
    return this.members.every((market) => market !== undefined && isDecided(market.status));
  }

  get isDeciding(): boolean {
    return !this.isDecided && this.isComplete && this.undecided.length === 0;
  }

  join(market: Market, ordinal: number): void {
    assert(ordinal < this.size && this.members[ordinal] === undefined, 'EVENTSET-4: a market has a place of its own');
    this.members[ordinal] = market;
    this.#opened++;
    market.set = this;
    market.setOrdinal = ordinal;
  }
}

export class EventSets {
  readonly #byFirst = new Map<number, SetOfMarkets>();

  get(first: number): EventSet | undefined {
    return this.#byFirst.get(first);
  }

  all(): Iterable<EventSet> {
    return this.#byFirst.values();
  }

  /** Puts a market that is opened into its set; the first one that is opened makes it. */
  join(market: Market, first: number, ordinal: number, size: number): void {
    let set = this.#byFirst.get(first);
    if (set === undefined) {
      set = new SetOfMarkets(first, size);
      this.#byFirst.set(first, set);
    }
    assert(set.size === size, 'EVENTSET-4: the members agree on their number');
    set.join(market, ordinal);
  }

  /** After the markets were read or written. */
  persist(io: SnapshotIo): void {
    const sets = [...this.#byFirst.values()];
    const count = io.number(sets.length);
    assert(sets.length === count, 'EVENTSET-4: every set of a snapshot has a market there');
    for (const set of sets) set.excessMicro = io.number(set.excessMicro);
  }
}
