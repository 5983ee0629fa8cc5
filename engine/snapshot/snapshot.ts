/**
 * Snapshots: a shard's whole state at one journal row, so that a start reads one file and the short rest of the journal
 * instead of all of it. Another thread makes snapshots by a replay (maker.ts), and the shard reads them when it
 * recovers (shard/recovery.ts).
 *
 * Invariants:
 *   SNAPSHOT-1  A file with its final name is complete and durable: it is written under another name, synced and
 *               renamed, and then the directory is synced.
 *   SNAPSHOT-2  The digest in the file equals the digest of the state read back from it, and every part has a CRC-32C.
 *               A file that fails either check is never used; the next older file is used instead, or the journal
 *               alone.
 *   SNAPSHOT-3  The chain value in the file binds it to one history: a journal with another history does not continue
 *               it.
 *   SNAPSHOT-4  The seal proves that this exchange wrote the file (journal/shardKey.ts). A file without a valid seal is
 *               never used.
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { FILE_LAYOUTS } from '../../shared/base/formats.ts';
import { freeName } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { SnapshotError, type SnapshotIo, SnapshotReader, SnapshotWriter } from '../base/snapshotIo.ts';
import type { ShardState } from '../core/state.ts';
import { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';

const MAGIC = 0x5358504f;
const SNAPSHOT_VERSION = FILE_LAYOUTS.snapshot;
/**
 * Version 13 has every hash ever accepted, with its account alone (book/hashIndex.ts), and neither their number nor
 * their sum. Version 12 lacks the rules in force, which were those before the first RULES record (core/rules.ts).
 * Version 11 lacks the floors of nonces (there were none) and the nonces of open orders (book/orders.ts). Version 10
 * lacks the times of last fills: the next fill gets the time of its record, and digests are computed without them
 * (book/markets.ts). Version 9 lacks the floor of numbers (there was none; core/raising.ts). Version 8 lacks stages:
 * every market was open (core/stages.ts). No release wrote an older version.
 */
export const OLDEST_READ = 8;

assert(OLDEST_READ <= SNAPSHOT_VERSION, 'snapshot: the version that is written can be read');

export type SnapshotFile = { readonly path: string; readonly sequence: number };

/** Where a state belongs: the journal's head after the last applied record, and the shard's time. */
type Position = { readonly head: JournalHead; readonly nowMs: number };

/** Lists the snapshots of a shard, newest first. */
export function listSnapshots(directory: string, shard: number): SnapshotFile[] {
  const form = new RegExp(`^snapshot-${shard}-([0-9]{1,16})\\.bin$`);
  return readdirSync(directory)
    .flatMap((name) => {
      const match = form.exec(name);
      return match === null ? [] : [{ path: join(directory, name), sequence: Number(match[1]) }];
    })
    .sort((a, b) => b.sequence - a.sequence);
}

/** Takes a snapshot out of use because the journal no longer has its records: the file is renamed. */
export function setSnapshotAside({ path }: SnapshotFile): void {
  renameSync(path, freeName(path.replace(/\.bin$/, '.unshared'), '.bin'));
}

export function saveSnapshot(
  directory: string,
  shard: number,
  content: Position & { state: ShardState },
  key: ShardKey,
): SnapshotFile {
  const { sequence } = content.head;
  assert(key.snapshots !== null, 'SNAPSHOT-4: a snapshot is sealed');
  assert(sequence > 0, 'SNAPSHOT-3: a snapshot is of a journal with rows');
  const path = join(directory, `snapshot-${shard}-${sequence}.bin`);
  const unfinished = `${path}.part`;
  rmSync(unfinished, { force: true });
  try {
    write(new SnapshotWriter(unfinished, SNAPSHOT_VERSION, key.snapshots), shard, content);
  } catch (error) {
    // A part of a snapshot must not keep a full disk full.
    rmSync(unfinished, { force: true });
    throw error;
  }
  renameSync(unfinished, path);
  syncDirectory(directory);
  return { path, sequence };
}

function write(writer: SnapshotWriter, shard: number, { head, nowMs, state }: Position & { state: ShardState }): void {
  try {
    writer.number(MAGIC);
    writer.number(writer.version);
    writer.number(shard);
    persistHead(writer, head);
    writer.number(nowMs);
    state.persist(writer);
    writer.u32(digestOf(state));
    writer.seal();
    writer.sync();
  } finally {
    writer.close();
  }
}

/** Fills a fresh state. Throws SnapshotError if the file cannot be used. */
export function loadSnapshot(file: SnapshotFile, shard: number, state: ShardState, key: ShardKey): Position {
  const reader = new SnapshotReader(file.path, key.snapshots);
  try {
    if (reader.number(0) !== MAGIC) throw new SnapshotError(`snapshot ${file.path}: not a snapshot`);
    const version = reader.number(0);
    if (version < OLDEST_READ || version > SNAPSHOT_VERSION)
      throw new SnapshotError(`snapshot ${file.path}: version ${version}`);
    reader.version = version;
    if (reader.number(0) !== shard) throw new SnapshotError(`snapshot ${file.path}: of another shard`);
    const head = persistHead(reader, new JournalHead(0, 0, 0));
    const nowMs = reader.number(0);
    state.persist(reader);
    const stored = reader.u32(new Uint32Array(2));
    reader.requireSeal();
    assert(stored.length === 2, 'SNAPSHOT-2: a digest has two lanes');
    state.rebuild();
    const found = digestOf(state);
    assert(head.sequence > 0, 'SNAPSHOT-3: a snapshot is of a journal with rows');
    if (stored[0] !== found[0] || stored[1] !== found[1]) {
      throw new SnapshotError(`snapshot ${file.path}: digest mismatch`);
    }
    return { head, nowMs };
  } finally {
    reader.close();
  }
}

function persistHead(io: SnapshotIo, head: JournalHead): JournalHead {
  return new JournalHead(io.number(head.sequence), io.number(head.chainLow), io.number(head.chainHigh));
}

function digestOf(state: ShardState): Uint32Array {
  const lanes = new Uint32Array(2);
  state.writeDigest(lanes, 0);
  return lanes;
}
