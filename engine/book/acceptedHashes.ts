/**
 * The orders that a shard has accepted and could accept again, in the places where they may be. A search asks these in
 * turn:
 *
 *   young     in memory: what was accepted lately
 *   old       in memory: what was young until there was too much of it; it waits for runs that have it
 *   spilled   in runs on the disk (snapshot/hashRuns.ts), behind filters in memory
 *
 *   young ──retire: more than the budget──► old ──the snapshot thread has written it──► spilled
 *
 * The snapshot thread replays the same records and writes the runs (snapshot/spilling.ts); the shard only takes them
 * over (snapshot/adoption.ts). Where a hash lies changes no record, no event and no digest, as with what is forgotten.
 * Owner: the shard thread.
 *
 * Invariants:
 *   ACCEPTED-1  A hash leaves the memory only when runs have all that was accepted up to the record at which it was
 *               retired, and are durable.
 *   ACCEPTED-2  There is at most one old part: while it waits, the young one grows.
 */
import { assert } from '../../shared/base/assert.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { HashIndex, NO_ACCOUNT } from './hashIndex.ts';
import { Retention } from './retention.ts';

/** One run: the hashes of a slice of all that there can be. */
export type RunName = { readonly id: string; readonly slice: number; readonly count: number };

/** Runs that together have what was accepted up to a record, without what could be forgotten when they were written. */
export type NamedRuns = { readonly through: number; readonly runs: readonly RunName[] };

/** In place of an account: a page that may have the hash is damaged. Whether it was accepted is not known. */
export const UNREADABLE = -1;

export const NO_DAMAGE: readonly string[] = [];

export type SpilledHashes = {
  readonly named: NamedRuns;
  /** NO_ACCOUNT if no run has the hash; UNREADABLE if a run may have it, and cannot be read there. */
  accountOf(words: Uint32Array, word: number): number;
  /** False only if no run has the hash. It reads no file. */
  mayHave(words: Uint32Array, word: number): boolean;
  /** Returns a text for each damage that was found since the last call. */
  takeDamage(): readonly string[];
  close(): void;
};

const NOTHING_SPILLED: SpilledHashes = {
  named: { through: 0, runs: [] },
  accountOf: () => NO_ACCOUNT,
  mayHave: () => false,
  takeDamage: () => NO_DAMAGE,
  close: () => undefined,
};

export class AcceptedHashes {
  /** It decides what may be forgotten by now. */
  readonly retention = new Retention(() => {
    this.#young.forgetMore();
    this.#old?.forgetMore();
  });
  spilled = NOTHING_SPILLED;
  #young = this.#empty();
  #old: HashIndex | null = null;

  /** Hashes in memory. */
  get size(): number {
    return this.#young.size + (this.#old?.size ?? 0);
  }

  get youngSize(): number {
    return this.#young.size;
  }

  /** True while hashes wait in memory for runs that have them. */
  get isWaiting(): boolean {
    return this.#old !== null;
  }

  /** The account that placed the order with this hash, or NO_ACCOUNT, or UNREADABLE. */
  accountOf(words: Uint32Array, word: number): number {
    const account = this.#young.accountOf(words, word);
    if (account !== NO_ACCOUNT) return account;
    const before = this.#old === null ? NO_ACCOUNT : this.#old.accountOf(words, word);
    return before !== NO_ACCOUNT ? before : this.spilled.accountOf(words, word);
  }

  /** False only if no order with this hash was accepted, but for forgotten ones. */
  has(words: Uint32Array, word: number): boolean {
    return this.accountOf(words, word) !== NO_ACCOUNT;
  }

  /** As far as can be said without a disk, the account has placed the order with this hash. */
  mayBeOf(account: number, words: Uint32Array, word: number): boolean {
    const found = this.#young.accountOf(words, word) || (this.#old?.accountOf(words, word) ?? NO_ACCOUNT);
    return found === NO_ACCOUNT ? this.spilled.mayHave(words, word) : found === account;
  }

  /** Returns true if a memory that may hold `most` hashes has room for one more of the account (RULES.md 2.12). */
  hasRoom(account: number, most: number): boolean {
    if (this.size * 2 < most) return true;
    return this.size < most && this.countOf(account) * 8 < most;
  }

  /** The number of hashes in memory of an account. */
  countOf(account: number): number {
    return this.#young.countOf(account) + (this.#old?.countOf(account) ?? 0);
  }

  /** As `HashIndex.insert`. */
  insert(words: Uint32Array, word: number, account: number, market: number, lastHour: number): void {
    this.#young.insert(words, word, account, market, lastHour);
  }

  /** As `HashIndex.insertKept`. */
  insertKept(words: Uint32Array, entry: number): void {
    this.#young.insertKept(words, entry);
  }

  sweep(entries: number): void {
    this.#young.sweep(entries);
    this.#old?.sweep(entries);
  }

  /** Nothing is added any more to what is in memory by now: it waits for runs. */
  retire(): void {
    assert(this.#old === null, 'ACCEPTED-2: at most one part waits');
    this.#old = this.#young;
    this.#young = this.#empty();
  }

  /** Takes over runs. @param hasOld true if they have what waits */
  adopt(spilled: SpilledHashes, hasOld: boolean): void {
    assert(
      spilled.named.through >= this.spilled.named.through,
      'ACCEPTED-1: later runs have all that earlier ones had',
    );
    this.spilled = spilled;
    if (hasOld) this.#old = null;
  }

  /** All that is in memory is in these runs. */
  replaceBy(spilled: SpilledHashes): void {
    this.retire();
    this.adopt(spilled, true);
  }

  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    this.#old?.visit(visitor);
    this.#young.visit(visitor);
  }

  /** As `HashIndex.visitKept`, of a shard of which nothing waits. */
  visitKept(visitor: (words: Uint32Array, entry: number) => void): void {
    assert(this.#old === null, 'ACCEPTED-2: whoever writes runs has nothing that waits for them');
    this.#young.visitKept(visitor);
  }

  /** @returns the number of hashes in memory */
  validate(): number {
    return this.#young.validate() + (this.#old?.validate() ?? 0);
  }

  /** Writes or reads the hashes in memory: the snapshot names the runs by itself. */
  persist(io: SnapshotIo): void {
    assert(this.#old === null, 'ACCEPTED-2: whoever writes snapshots has nothing that waits for runs');
    this.#young.persist(io);
  }

  #empty(): HashIndex {
    return new HashIndex(new KeyedHash(), this.retention);
  }
}
