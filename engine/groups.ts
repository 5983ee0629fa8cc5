/**
 * Order groups (RULES.md 7.9): how much of an account's orders may be filled within a rolling window before the rest of
 * them is taken off the book. A group lives in every shard and counts what is filled there.
 * Owner: the shard thread. A group is never removed: its index is its account's for ever.
 *
 * Invariants (walked by check.ts, cited there by number):
 *   Q1  A tripped group has no open order; a group that has not tripped has less than its maximum in its window.
 *   Q2  An open order's group exists and is its account's.
 */
import { assert } from '../shared/assert.ts';
import { FillWindow } from './fillWindow.ts';
import type { SnapshotIo } from './snapshotIo.ts';

export class Group {
  readonly index: number;
  readonly account: number;
  /** Position in order of making. */
  readonly row: number;
  windowSec = 0;
  maxAtomic = 0;
  isTripped = false;
  /** It tripped in the current command by what happened in this shard: the others have to be told. */
  isNews = false;
  readonly window = new FillWindow();
  /** Number of the command that last touched it. */
  touched = 0;
  /** What the look-ahead `probeRun` has filled of it. */
  probeRun = 0;
  probeAtomic = 0;

  constructor(index: number, account: number, row: number) {
    this.index = index;
    this.account = account;
    this.row = row;
  }

  get isFull(): boolean {
    return this.window.sumAtomic >= this.maxAtomic;
  }

  /** Forgets what has left the window by `nowMs`. */
  roll(nowMs: number): void {
    this.window.dropUntil(nowMs - this.windowSec * 1000);
  }
}

export class Groups {
  /** Of the command at hand: set by whoever is about to match, where there are groups. */
  nowMs = 0;
  /** What the current command touched, each once. */
  readonly touched: Group[] = [];
  /** What the digest does not know yet. */
  readonly unsealed = new Set<Group>();
  readonly #all: Group[] = [];
  readonly #byIndex = new Map<number, Group>();
  #commandNumber = 1;
  #probeRun = 0;

  get count(): number {
    return this.#all.length;
  }

  /** In order of making. */
  all(): readonly Group[] {
    return this.#all;
  }

  /** The group when it is the account's. */
  of(account: number, index: number): Group | undefined {
    const group = this.#byIndex.get(index);
    return group?.account === account ? group : undefined;
  }

  /** Whether the index is another account's. */
  isTaken(account: number, index: number): boolean {
    const group = this.#byIndex.get(index);
    return group !== undefined && group.account !== account;
  }

  /** Of an open order: it exists (Q2). */
  must(index: number): Group {
    const group = this.#byIndex.get(index);
    assert(group !== undefined, 'Q2: the group of an order exists');
    return group;
  }

  make(account: number, index: number): Group {
    assert(!this.#byIndex.has(index), 'Q2: a group is made once');
    const group = new Group(index, account, this.#all.length);
    this.#all.push(group);
    this.#byIndex.set(index, group);
    return group;
  }

  beginCommand(): void {
    this.#commandNumber++;
    if (this.touched.length > 0) this.touched.length = 0;
  }

  touch(group: Group): void {
    if (group.touched === this.#commandNumber) return;
    group.touched = this.#commandNumber;
    this.touched.push(group);
    this.unsealed.add(group);
  }

  /** Begins to try out fills that are not made. */
  beginProbe(): void {
    this.#probeRun++;
  }

  /** What the group would have filled by now, were the fills tried out so far made. */
  #probe(group: Group): number {
    if (group.probeRun !== this.#probeRun) {
      group.probeRun = this.#probeRun;
      group.probeAtomic = group.window.sumAfter(this.nowMs - group.windowSec * 1000);
    }
    return group.probeAtomic;
  }

  /** Whether the fills tried out so far would have tripped the group. */
  wouldTrip(index: number): boolean {
    const group = this.must(index);
    return this.#probe(group) >= group.maxAtomic;
  }

  /** Tries out a fill. */
  tryFill(index: number, atomic: number): void {
    const group = this.must(index);
    group.probeAtomic = this.#probe(group) + atomic;
  }

  persist(io: SnapshotIo): void {
    const count = io.number(this.#all.length);
    for (let row = 0; row < count; row++) {
      const kept = this.#all[row];
      const index = io.number(kept?.index ?? 0);
      const account = io.number(kept?.account ?? 0);
      const group = kept ?? this.make(account, index);
      group.windowSec = io.number(group.windowSec);
      group.maxAtomic = io.number(group.maxAtomic);
      group.isTripped = io.number(group.isTripped ? 1 : 0) === 1;
      group.window.persist(io);
      this.unsealed.add(group);
    }
  }
}
