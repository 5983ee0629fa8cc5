/**
 * Order groups (RULES.md 7.9): they limit how much of an account's orders may be filled within a rolling window before
 * the other orders are cancelled. A group exists in every shard and counts the fills there. Owner: the shard thread. A
 * group is never removed: its index is its account's for ever.
 *
 * Invariants (walked by core/invariants.ts):
 *   GROUPS-1  A tripped group has no open order; a group that has not tripped has less than its maximum in its window.
 *   GROUPS-2  An open order's group exists and is its account's.
 */
import { assert } from '../../shared/base/assert.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { FillWindow } from './fillWindow.ts';

export class Group {
  readonly index: number;
  readonly account: number;
  /** Its index in the order in which groups were made. */
  readonly row: number;
  windowSec = 0;
  maxAtomic = 0;
  isTripped = false;
  /** The group tripped by a fill or a change in the current command: its GROUP event makes the other shards follow. */
  hasJustTripped = false;
  readonly window = new FillWindow();
  /** Number of the command that last touched the group. */
  touched = 0;
  /** Number of the trial (lookAhead.ts) that counted fills of the group last, and the atomic tokens it counted. */
  trial = 0;
  trialAtomic = 0;

  constructor(index: number, account: number, row: number) {
    this.index = index;
    this.account = account;
    this.row = row;
  }

  get isFull(): boolean {
    return this.window.sumAtomic >= this.maxAtomic;
  }

  /** Forgets fills that have left the window by `nowMs`. */
  roll(nowMs: number): void {
    this.window.dropUntil(nowMs - this.windowSec * 1000);
  }
}

export class Groups {
  /** Groups that the current command touched, each once. */
  readonly touched: Group[] = [];
  /** Groups that changed since the last digest. */
  readonly dirty = new Set<Group>();
  readonly #all: Group[] = [];
  readonly #byIndex = new Map<number, Group>();
  #commandNumber = 1;
  #trial = 0;
  #trialMs = 0;

  get count(): number {
    return this.#all.length;
  }

  /** In the order in which they were made. */
  all(): readonly Group[] {
    return this.#all;
  }

  /** The group with this index, if it is the account's. */
  find(account: number, index: number): Group | undefined {
    const group = this.#byIndex.get(index);
    return group?.account === account ? group : undefined;
  }

  /** Returns true if the index belongs to another account. */
  isTaken(account: number, index: number): boolean {
    const group = this.#byIndex.get(index);
    return group !== undefined && group.account !== account;
  }

  /** The group of an open order: it exists (GROUPS-2). */
  get(index: number): Group {
    const group = this.#byIndex.get(index);
    assert(group !== undefined, 'GROUPS-2: the group of an order exists');
    return group;
  }

  make(account: number, index: number): Group {
    assert(!this.#byIndex.has(index), 'GROUPS-2: a group is made once');
    assert(index > 0, 'GROUPS-2: the index 0 means no group');
    const group = new Group(index, account, this.#all.length);
    this.#all.push(group);
    this.#byIndex.set(index, group);
    return group;
  }

  startCommand(): void {
    this.#commandNumber++;
    if (this.touched.length > 0) this.touched.length = 0;
  }

  touch(group: Group): void {
    assert(this.#all[group.row] === group, 'GROUPS-2: a group is one of the shard');
    if (group.touched === this.#commandNumber) return;
    group.touched = this.#commandNumber;
    this.touched.push(group);
    this.dirty.add(group);
  }

  /** Starts a trial: fills at `nowMs` are counted as if they happened, and nothing else changes. */
  startTrial(nowMs: number): void {
    this.#trial++;
    this.#trialMs = nowMs;
  }

  /** Counts a fill in the trial. */
  tryFill(index: number, atomic: number): void {
    const group = this.get(index);
    group.trialAtomic = this.#triedAtomic(group) + atomic;
  }

  /** Returns true if the trial's fills so far, plus this one, would trip the group. */
  wouldTrip(index: number, atomic = 0): boolean {
    const group = this.get(index);
    return this.#triedAtomic(group) + atomic >= group.maxAtomic;
  }

  /** Asserts the windows, and the part of GROUPS-1 that needs no orders. */
  validate(): void {
    for (const group of this.#all) {
      assert(this.#byIndex.get(group.index) === group, 'GROUPS-2: the index leads to the group');
      group.window.validate();
      assert(group.isTripped || !group.isFull, 'GROUPS-1: a full group has tripped');
      assert(!group.hasJustTripped, 'GROUPS-1: the command that tripped a group is over');
    }
  }

  persist(io: SnapshotIo): void {
    const count = io.number(this.#all.length);
    assert(this.#all.length === 0 || this.#all.length === count, 'GROUPS-2: a snapshot is read into nothing');
    for (let row = 0; row < count; row++) {
      const kept = this.#all[row];
      const index = io.number(kept?.index ?? 0);
      const account = io.number(kept?.account ?? 0);
      const group = kept ?? this.make(account, index);
      group.windowSec = io.number(group.windowSec);
      group.maxAtomic = io.number(group.maxAtomic);
      group.isTripped = io.number(group.isTripped ? 1 : 0) === 1;
      group.window.persist(io);
      this.dirty.add(group);
    }
  }

  /** The sum of the group's window, including the trial's fills so far. */
  #triedAtomic(group: Group): number {
    if (group.trial !== this.#trial) {
      group.trial = this.#trial;
      group.trialAtomic = group.window.sumAfter(this.#trialMs - group.windowSec * 1000);
    }
    return group.trialAtomic;
  }
}
