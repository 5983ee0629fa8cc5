/**
 * A shard gives memory back to runs: once there are too many hashes in memory it sets them aside, waits for a snapshot
 * whose runs have all of them, and takes these over. Runs are made by the snapshot thread; here they are only
 * opened, and their filters read a few pages at a time, so that no order waits for long.
 *
 *   memory is full ──retire──► waiting ──a snapshot names runs that reach as far──► loading ──all filters──► adopt
 *
 * Damaged runs are given up too, for those that a later snapshot names in their place (mending.ts).
 *
 * Owner: the shard thread, between two batches.
 *
 * Invariants:
 *   ADOPTION-1  Hashes leave the memory only for runs that reach at least to the record at which they were set aside.
 */
import { errorCode } from '../../shared/base/thrown.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import type { AcceptedHashes, NamedRuns } from '../book/acceptedHashes.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { HashRuns } from './hashRuns.ts';
import { listSnapshots, runsNamedIn } from './snapshot.ts';

type AdoptionOptions = {
  readonly directory: string;
  readonly shard: number;
  readonly key: ShardKey;
  readonly hashes: AcceptedHashes;
  /** Hashes in memory from which on they are set aside. */
  readonly most: number;
};

const LOOK_EVERY_MS = 250;
/** Pages of filters that are read at once: less than a millisecond. */
const PAGES_AT_ONCE = 64;

export class RunAdoption {
  readonly #options: AdoptionOptions;
  /** The record at which hashes were set aside. */
  #retiredAt = 0;
  #lookedMs = 0;
  /** The newest snapshot that was looked at. */
  #seen = 0;
  /** Runs whose filters are being read. */
  #next: HashRuns | null = null;

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /** @param sequence of the last record that was applied */
  step(sequence: number, nowMs: number): void {
    const { hashes, most } = this.#options;
    if (!hashes.isWaiting && hashes.youngSize >= most) {
      hashes.retire();
      this.#retiredAt = sequence;
    }
    if (!hashes.isWaiting && !this.#isDamaged) return;
    if (this.#next !== null) this.#load(this.#next);
    else if (nowMs - this.#lookedMs >= LOOK_EVERY_MS) {
      this.#lookedMs = nowMs;
      this.#next = this.#look();
    }
  }

  close(): void {
    this.#next?.closeAllBut(this.#options.hashes.spilled);
    this.#options.hashes.spilled.close();
  }

  #load(next: HashRuns): void {
    const { hashes } = this.#options;
    if (!next.load(PAGES_AT_ONCE)) return;
    const before = hashes.spilled;
    // ADOPTION-1
    hashes.adopt(next, hashes.isWaiting && next.named.through >= this.#retiredAt);
    if (before instanceof HashRuns) before.closeAllBut(next);
    this.#next = null;
  }

  get #isDamaged(): boolean {
    const { spilled } = this.#options.hashes;
    return spilled instanceof HashRuns && spilled.isDamaged;
  }

  /** True if the damaged runs are among these. */
  #names({ runs }: NamedRuns): boolean {
    const { spilled } = this.#options.hashes;
    return spilled instanceof HashRuns && spilled.hasDamagedIn(runs);
  }

  /** Opens the runs of the newest snapshot, if they reach far enough. A file that is gone was of an older snapshot. */
  #look(): HashRuns | null {
    const { directory, hashes, key, shard } = this.#options;
    const [newest] = listSnapshots(directory, shard);
    if (newest === undefined || newest.sequence <= this.#seen) return null;
    try {
      const named = runsNamedIn(newest, shard, key.snapshots);
      this.#seen = newest.sequence;
      if (hashes.isWaiting && named.through < this.#retiredAt) return null;
      if (!hashes.isWaiting && this.#names(named)) return null;
      return new HashRuns({ directory, shard, mac: key.snapshots }, named, hashes.spilled);
    } catch (error) {
      if (error instanceof SnapshotError || errorCode(error) === 'ENOENT') return null;
      throw error;
    }
  }
}
