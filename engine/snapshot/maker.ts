/**
 * Makes snapshots outside of the shard: loads the last snapshot, replays the journal's rows after it, and writes the
 * next snapshot.
 * Owner: the snapshot thread (main.ts). It writes snapshot files and the `trimmable` cells, and nothing else.
 *
 * Invariants:
 *   SNAPMAKER-1  A snapshot counts only after all of it was read back. Journal rows are trimmed only up to the older of
 *                two snapshots that count, and the last `keepRecords` records before the newest snapshot are never
 *                trimmed.
 *   SNAPMAKER-2  The work uses a small share of one core: after each slice of rows the thread sleeps PAUSE_MS.
 *   SNAPMAKER-3  A new snapshot is newer than the one it was made from.
 *   SNAPMAKER-4  Rows are trimmed exactly up to a snapshot, and this snapshot is kept as long as the row after it. So a
 *                read.db that has to be rebuilt begins where the journal begins.
 *   SNAPMAKER-5  Runs of hashes are written, merged and read back before the snapshot that names them is written, and
 *                removed after the last snapshot that names them (spilling.ts).
 *   SNAPMAKER-6  A damaged run is made anew, or left as it is: no later one hides what it lacks (mending.ts).
 */
import { rmSync, statSync } from 'node:fs';
import { assert } from '../../shared/base/assert.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { type MakerNews, rowsDue } from '../../shared/wire/snapshotsDue.ts';
import type { SnapshotOptions } from '../../shared/wire/threads.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import type { NamedRuns } from '../book/acceptedHashes.ts';
import type { Engine } from '../core/engine.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import type { Keyed } from '../journal/shardKey.ts';
import { NamedOnly } from './hashRuns.ts';
import { mendRuns } from './mending.ts';
import { makeReplica } from './replica.ts';
import { type RunPlace, runFile } from './runPages.ts';
import {
  listSnapshots,
  loadSnapshot,
  runsNamedIn,
  type SnapshotFile,
  saveSnapshot,
  setSnapshotAside,
} from './snapshot.ts';
import { mergeRuns, type Pause, prune, spillIfDue } from './spilling.ts';

const SLICE_RECORDS = 1000;
/** About nine times as long as a slice takes. */
const PAUSE_MS = 30;
const KEPT_SNAPSHOTS = 2;

assert(KEPT_SNAPSHOTS === 2, 'SNAPMAKER-1: rows are trimmed up to the older of two snapshots');

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function sleep(): void {
  Atomics.wait(sleeper, 0, 0, PAUSE_MS);
}

/** The state from which the next snapshot is made. */
type Base = { readonly engine: Engine; readonly head: JournalHead; readonly fromSequence: number };

export class SnapshotMaker {
  readonly #options: Keyed<SnapshotOptions>;
  readonly #progress: Progress;
  readonly #pause: Pause;
  readonly #report: (news: MakerNews) => void;
  /** By shard: damages of its runs that the shard had found when they were looked for last. */
  readonly #mendedAt: number[];
  /** Ids of runs that are damaged and cannot be made anew: they are not merged. */
  readonly #damaged = new Set<string>();
  /** By shard: the sequence number and the size of its newest snapshot, 0 if it has none. */
  readonly #newest: { readonly sequence: number; readonly bytes: number }[];

  /** @param pause given by tests only: they end the thread in it. */
  constructor(
    options: Keyed<SnapshotOptions>,
    pause: Pause = sleep,
    report: (news: MakerNews) => void = () => undefined,
  ) {
    this.#options = options;
    this.#pause = pause;
    this.#report = report;
    this.#mendedAt = options.journalPaths.map(() => 0);
    this.#progress = new Progress(options.progress);
    this.#newest = options.journalPaths.map((_, shard) => sizeOf(listSnapshots(options.directory, shard)[0]));
  }

  /**
   * Makes the snapshots that are due. @param isStopping if true, snapshots of fewer rows are made too, and without
   * pauses.
   */
  makeDue(isStopping: boolean): void {
    const { journalPaths, everyRecords } = this.#options;
    for (let shard = 0; shard < journalPaths.length; shard++) {
      const { sequence, bytes } = this.#newest[shard];
      const due = rowsDue(everyRecords, bytes, isStopping);
      const isHurt = this.#progress.damages(shard) > this.#mendedAt[shard];
      const fresh = this.#progress.committed(shard) - sequence;
      if (fresh >= due || (isHurt && fresh > 0)) this.#make(shard, isStopping);
    }
  }

  #make(shard: number, isStopping: boolean): void {
    const { directory, journalPaths, keepRecords, keys } = this.#options;
    const key = keys[shard];
    const reader = new JournalReader(journalPaths[shard], key);
    let base: Base;
    try {
      base = this.#load(shard, reader);
      replayTo(this.#progress.committed(shard), reader, base.head, base.engine, isStopping);
      assert(base.head.sequence > base.fromSequence, 'SNAPMAKER-3: a new snapshot is newer than its base');
      this.#spill(shard, base, reader, isStopping);
    } finally {
      reader.close();
    }
    const { engine, head } = base;
    const file = saveSnapshot(directory, shard, { state: engine.state, nowMs: engine.nowMs, head }, key);
    loadSnapshot(file, shard, makeReplica().state, key);
    this.#newest[shard] = sizeOf(file);

    const { kept, base: start } = keptSnapshots(listSnapshots(directory, shard), keepRecords);
    const [, older] = kept;
    if (start !== null && older !== undefined && base.fromSequence === older.sequence) {
      assert(start.sequence <= older.sequence, 'SNAPMAKER-1: the newest snapshot can always be reached by a replay');
      this.#progress.setTrimmable(shard, start.sequence);
    }
    for (const old of listSnapshots(directory, shard)) {
      if (!kept.some(({ sequence }) => sequence === old.sequence)) rmSync(old.path, { force: true });
    }
    if (!isStopping) this.#pause();
    this.#pruneRuns(shard);
  }

  /** SNAPMAKER-5. Runs are written and merged before the snapshot that names them. */
  #spill(shard: number, { engine, head }: Base, reader: JournalReader, isStopping: boolean): void {
    const { hashesInMemory } = this.#options;
    const place = this.#placeOf(shard);
    const { hashes } = engine.state;
    const pause = isStopping ? () => undefined : this.#pause;
    spillIfDue(place, hashes, head.sequence, hashesInMemory, pause);
    if (isStopping) return;
    const { named } = hashes.spilled;
    const known = this.#damaged.size;
    const merged = mergeRuns(place, named, hashes.retention, pause, this.#damaged);
    const found = this.#progress.damages(shard);
    const isHurt = this.#damaged.size > known || found > this.#mendedAt[shard];
    this.#mendedAt[shard] = found;
    const runs = isHurt ? this.#mend(place, merged, { reader, retention: hashes.retention }) : merged;
    if (runs.runs !== named.runs) hashes.adopt(new NamedOnly(runs), false);
  }

  /** SNAPMAKER-6. */
  #mend(place: RunPlace, named: NamedRuns, sources: Parameters<typeof mendRuns>[2]): NamedRuns {
    const mended = mendRuns(place, named, sources, this.#pause);
    const left = new Set(mended.beyond);
    for (const damagedRun of mended.damages) this.#report({ damagedRun });
    for (const { id } of named.runs) if (!left.has(id)) this.#damaged.delete(id);
    for (const id of left) this.#damaged.add(id);
    for (const { id } of named.runs.filter((run) => !mended.named.runs.includes(run)))
      this.#report({ news: `${runFile(place.shard, id)} was damaged, and is made anew from the journal` });
    return mended.named;
  }

  #pruneRuns(shard: number): void {
    const files = listSnapshots(this.#options.directory, shard);
    try {
      const named = files.map((file) => runsNamedIn(file, shard, this.#options.keys[shard].snapshots));
      prune(this.#placeOf(shard), named);
    } catch (error) {
      // Of a damaged snapshot it is not known what it names: nothing is removed until it has gone.
      if (!(error instanceof SnapshotError)) throw error;
    }
  }

  #placeOf(shard: number): RunPlace {
    return { directory: this.#options.directory, shard, mac: this.#options.keys[shard].snapshots };
  }

  /**
   * Loads the newest usable snapshot, or else the state before the first record. Removes a damaged snapshot. Sets aside
   * a snapshot whose history the journal does not continue.
   */
  #load(shard: number, reader: JournalReader): Base {
    for (const file of listSnapshots(this.#options.directory, shard)) {
      const engine = makeReplica();
      try {
        const { head, nowMs } = loadSnapshot(file, shard, engine.state, this.#options.keys[shard]);
        if (!reader.continues(head)) {
          setSnapshotAside(file);
          continue;
        }
        engine.resumeAt(head.sequence, nowMs);
        return { engine, head, fromSequence: head.sequence };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        rmSync(file.path, { force: true });
      }
    }
    return { engine: makeReplica(), head: new JournalHead(0, 0, 0), fromSequence: 0 };
  }
}

/**
 * Returns the snapshots to keep: the two newest; the base, which is the newest one that leaves `keepRecords` rows of
 * the journal; and, of those between, few enough that may become the next base: one for each half of those rows.
 * @param files newest first.
 */
export function keptSnapshots(
  files: readonly SnapshotFile[],
  keepRecords: number,
): { readonly kept: readonly SnapshotFile[]; readonly base: SnapshotFile | null } {
  const [newest, ...others] = files;
  if (newest === undefined) return { kept: [], base: null };
  const base = others.find(({ sequence }) => sequence <= newest.sequence - keepRecords) ?? null;
  const kept = new Set(files.slice(0, KEPT_SNAPSHOTS));
  let last = base?.sequence ?? 0;
  if (base !== null) kept.add(base);
  for (const file of others.toReversed()) {
    if (file.sequence < last + keepRecords / 2 || file.sequence <= last) continue;
    kept.add(file);
    last = file.sequence;
  }
  return { kept: files.filter((file) => kept.has(file)), base };
}

function sizeOf(file: SnapshotFile | undefined): { readonly sequence: number; readonly bytes: number } {
  return file === undefined ? { sequence: 0, bytes: 0 } : { sequence: file.sequence, bytes: statSync(file.path).size };
}

function replayTo(
  sequence: number,
  reader: JournalReader,
  head: JournalHead,
  engine: Engine,
  isHurried: boolean,
): void {
  while (head.sequence < sequence) {
    const limit = Math.min(SLICE_RECORDS, sequence - head.sequence);
    const count = reader.readFrom(head, limit, (record) => engine.replay(record));
    assert(count >= limit, 'snapshot maker: committed records can be read');
    if (!isHurried) sleep();
  }
}
