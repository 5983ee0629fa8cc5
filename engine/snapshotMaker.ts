/**
 * Makes snapshots: replays a shard's journal onto its last snapshot and writes the next one, away from the shard.
 * Owner: the snapshot thread (snapshots.ts); it writes snapshot files and the `trimmable` cells, nothing else.
 *
 * Invariants:
 *   N1  A snapshot counts only after it was read back whole. Journal rows are given up only behind the older of two
 *       that count, and `keepRecords` before the newest.
 *   N2  The work takes a small share of one core: after each slice of rows it sleeps REST_MS.
 */
import { rmSync } from 'node:fs';
import { assert } from '../shared/assert.ts';
import { Balances, createBalances } from '../shared/balances.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/eip712.ts';
import { Progress } from '../shared/progress.ts';
import type { SnapshotOptions } from '../shared/threads.ts';
import { Engine } from './engine.ts';
import { JournalReader } from './journalReader.ts';
import { JournalHead } from './journalRow.ts';
import { listSnapshots, loadSnapshot, type SnapshotFile, saveSnapshot } from './snapshot.ts';
import { SnapshotError } from './snapshotIo.ts';
import { createVerifier } from './verify/verifier.ts';

const SLICE_ROWS = 1000;
/** About nine times what a slice takes. */
const REST_MS = 30;
const KEPT_SNAPSHOTS = 2;
/** At a stop a snapshot is only worth its time when it spares the next start some replay. */
const WORTH_AT_STOP = 1000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

export class SnapshotMaker {
  readonly #options: SnapshotOptions;
  readonly #progress: Progress;
  /** Sequence of the newest snapshot of each shard that was read back, or of an earlier run. */
  readonly #newest: number[];

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#progress = new Progress(options.progress);
    this.#newest = options.journalPaths.map((_, shard) => listSnapshots(options.directory, shard)[0]?.sequence ?? 0);
  }

  /** Makes what is due. @param isStopping also what is worth it before a stop, and without resting. */
  look(isStopping: boolean): void {
    const { journalPaths, everyRecords } = this.#options;
    const due = isStopping ? Math.min(WORTH_AT_STOP, everyRecords) : everyRecords;
    for (let shard = 0; shard < journalPaths.length; shard++) {
      if (this.#progress.committed(shard) - this.#newest[shard]! >= due) this.#make(shard, isStopping);
    }
  }

  #make(shard: number, isStopping: boolean): void {
    const { directory, journalPaths, keepRecords } = this.#options;
    const base = this.#load(shard);
    const reader = new JournalReader(journalPaths[shard]!);
    try {
      replayTo(this.#progress.committed(shard), reader, base.head, base.engine, isStopping);
    } finally {
      reader.close();
    }
    const file = saveSnapshot(directory, shard, base.engine, base.head);
    loadSnapshot(file, shard, this.#engine());
    this.#newest[shard] = file.sequence;

    const [, older] = listSnapshots(directory, shard);
    if (older !== undefined && base.fromSequence === older.sequence) {
      this.#progress.setTrimmable(shard, Math.min(older.sequence, file.sequence - keepRecords));
    }
    for (const old of listSnapshots(directory, shard).slice(KEPT_SNAPSHOTS)) rmSync(old.path, { force: true });
  }

  /** The newest snapshot that can be used, or the beginning. A damaged one is removed: it is worth nothing. */
  #load(shard: number): { engine: Engine; head: JournalHead; fromSequence: number } {
    for (const file of listSnapshots(this.#options.directory, shard)) {
      const engine = this.#engine();
      try {
        const head = loadSnapshot(file, shard, engine);
        return { engine, head, fromSequence: head.sequence };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        this.#discard(file);
      }
    }
    return { engine: this.#engine(), head: new JournalHead(0, 0, 0), fromSequence: 0 };
  }

  #discard(file: SnapshotFile): void {
    rmSync(file.path, { force: true });
  }

  /** An engine that only replays: its balances are its own, and nothing asks for a signature. */
  #engine(): Engine {
    const { chainId, exchangeAddress } = this.#options;
    const domain = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract: exchangeAddress };
    return new Engine({
      balances: new Balances(createBalances()),
      collateralCheck: true,
      hasher: hasherFor(domain),
      verifier: createVerifier('noble'),
      journal: { append: () => assert(false, 'snapshots: a replay journals nothing') },
    });
  }
}

function replayTo(
  sequence: number,
  reader: JournalReader,
  head: JournalHead,
  engine: Engine,
  isHurried: boolean,
): void {
  while (head.sequence < sequence) {
    const limit = Math.min(SLICE_ROWS, sequence - head.sequence);
    const count = reader.readFrom(head, limit, (at, timeMs, words, commandWord, _commandBytes, eventWord, eventBytes) =>
      engine.replay(at, timeMs, words, commandWord, eventWord, eventBytes),
    );
    assert(count === limit, 'snapshots: committed rows are there to read');
    if (!isHurried) Atomics.wait(sleeper, 0, 0, REST_MS);
  }
}
