/**
 * The runs of a shard together: what it has accepted and does not keep in memory (book/acceptedHashes.ts).
 *
 * Invariants:
 *   HASHRUNS-1  They are asked only when all of their filters are in memory.
 */
import { assert, unreachable } from '../../shared/base/assert.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { type NamedRuns, NO_DAMAGE, type SpilledHashes, UNREADABLE } from '../book/acceptedHashes.ts';
import { NO_ACCOUNT } from '../book/hashIndex.ts';
import { HashRun } from './hashRun.ts';
import { SLICE_SHIFT } from './runFilter.ts';
import type { RunPlace } from './runPages.ts';

const SLICES = 2 ** (32 - SLICE_SHIFT);

export class HashRuns implements SpilledHashes {
  readonly named: NamedRuns;
  readonly #runs = new Map<string, HashRun>();
  /** Newest first: an order is most often repeated soon. */
  readonly #ofSlice: HashRun[][] = Array.from({ length: SLICES }, () => []);
  #isLoaded = false;
  /** True if a run may have damage that `takeDamage` has not returned. */
  #hasNews = false;
  #isDamaged = false;

  /** Throws SnapshotError if a file cannot be used. @param before whose open runs it shares */
  constructor(place: RunPlace, named: NamedRuns, before: SpilledHashes | null = null) {
    this.named = named;
    const known = before instanceof HashRuns ? before.#runs : new Map<string, HashRun>();
    try {
      for (const name of named.runs) {
        const run = known.get(name.id) ?? HashRun.open(place, name);
        this.#runs.set(name.id, run);
        this.#ofSlice[name.slice].unshift(run);
      }
    } catch (error) {
      this.closeAllBut(before);
      throw error;
    }
  }

  /** Reads some pages of filters. @returns true when all are there */
  load(mostPages: number): boolean {
    let left = mostPages;
    for (const run of this.#runs.values()) {
      left -= run.load(left);
      if (!run.isLoaded) return false;
    }
    this.#isLoaded = true;
    for (const run of this.#runs.values()) this.#look(run);
    return true;
  }

  accountOf(words: Uint32Array, word: number): number {
    assert(this.#isLoaded, 'HASHRUNS-1: filters are there before they are asked');
    let answer = NO_ACCOUNT;
    for (const run of this.#ofSlice[words[word] >>> SLICE_SHIFT]) {
      const account = run.accountOf(words, word);
      if (run.hasNews) this.#look(run);
      if (account > NO_ACCOUNT) return account;
      if (account === UNREADABLE) answer = UNREADABLE;
    }
    return answer;
  }

  /** The shard asks between any two batches. */
  takeDamage(): readonly string[] {
    if (!this.#hasNews) return NO_DAMAGE;
    this.#hasNews = false;
    return [...this.#runs.values()].flatMap((run) => run.takeDamage());
  }

  /** True if something of a run was found damaged. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  #look(run: HashRun): void {
    this.#hasNews ||= run.hasNews;
    this.#isDamaged ||= run.isDamaged;
  }

  hasDamagedIn(runs: NamedRuns['runs']): boolean {
    return runs.some(({ id }) => this.#runs.get(id)?.isDamaged === true);
  }

  mayHave(words: Uint32Array, word: number): boolean {
    assert(this.#isLoaded, 'HASHRUNS-1: filters are there before they are asked');
    return this.#ofSlice[words[word] >>> SLICE_SHIFT].some((run) => run.mayHave(words, word));
  }

  close(): void {
    this.closeAllBut(null);
  }

  /** Closes the runs that the other one does not have. */
  closeAllBut(other: SpilledHashes | null): void {
    const kept = other instanceof HashRuns ? other.#runs : null;
    for (const [id, run] of this.#runs) if (kept?.get(id) !== run) run.close();
  }
}

/** Runs that are only named: for states that refuse no order. */
export class NamedOnly implements SpilledHashes {
  readonly named: NamedRuns;

  constructor(named: NamedRuns) {
    this.named = named;
  }

  accountOf(): number {
    return unreachable('hashRuns: a replay refuses no order');
  }

  mayHave(): boolean {
    return this.named.runs.length > 0;
  }

  takeDamage(): readonly string[] {
    return NO_DAMAGE;
  }

  close(): void {}
}

/** Throws SnapshotError if one of the files is not there, or is another one. It does not look behind their headers. */
export function requireRuns(place: RunPlace, { runs }: NamedRuns): void {
  for (const name of runs) HashRun.open(place, name).close();
}

/** Reads all of the files. Throws SnapshotError if one is damaged. */
export function checkRuns(place: RunPlace, runs: NamedRuns['runs']): void {
  for (const name of runs) {
    const run = HashRun.open(place, name);
    try {
      run.load(Number.MAX_SAFE_INTEGER);
      run.check();
      const [damage] = run.takeDamage();
      if (damage !== undefined) throw new SnapshotError(damage);
    } finally {
      run.close();
    }
  }
}
