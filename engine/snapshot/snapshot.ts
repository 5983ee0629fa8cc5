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
 *   SNAPSHOT-5  It names the runs that have what was accepted and is not in it (hashRuns.ts), with a tag of their own.
 *               All of them are durable before it is written, and are there as long as it is.
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { FILE_LAYOUTS } from '../../shared/base/formats.ts';
import { freeName } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import type { Mac } from '../../shared/crypto/mac.ts';
import { SnapshotError, type SnapshotIo, SnapshotReader, SnapshotWriter } from '../base/snapshotIo.ts';
import type { NamedRuns } from '../book/acceptedHashes.ts';
import type { ShardState } from '../core/state.ts';
import { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { NamedOnly, requireRuns } from './hashRuns.ts';
import { idOfWords, idWords } from './runPages.ts';

const MAGIC = 0x5358504f;
const SNAPSHOT_VERSION = FILE_LAYOUTS.snapshot;
/**
 * Versions before 18 have every field of all slots, free ones included, as columns (book/packedOrders.ts). Version 16
 * lacks event sets: no market was in one (book/eventSets.ts). Version 15 lacks the origins of orders: every order was
 * accepted by its own shard (book/orders.ts). Version 14 names no runs of hashes: everything that was accepted and may
 * come again is in it (hashRuns.ts). Version 13 has every hash ever accepted, with its account alone
 * (book/hashIndex.ts), and neither their number nor their sum. Version 12 lacks the rules in force, which were those
 * before the first RULES record (core/rules.ts). Version 11 lacks the floors of nonces (there were none) and the
 * nonces of open orders (book/orders.ts). Version 10 lacks the times of last fills: the next fill gets the time of its
 * record, and digests are computed without them (book/markets.ts). Version 9 lacks the floor of numbers (there was
 * none; core/raising.ts). Version 8 lacks stages: every market was open (core/stages.ts). No release wrote an older
 * version.
 */
export const OLDEST_READ = 8;
/** The first version that names runs. */
const RUNS_VERSION = 15;

assert(OLDEST_READ <= SNAPSHOT_VERSION, 'snapshot: the version that is written can be read');

export type SnapshotFile = { readonly path: string; readonly sequence: number };

/** Where a state belongs: the journal's head after the last applied record, and the shard's time. */
type Position = { readonly head: JournalHead; readonly nowMs: number };

/** Of a run in the file: the two words of its id, its slice, its number of entries. */
const RUN_WORDS = 4;
const NO_RUNS: NamedRuns = { through: 0, runs: [] };

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
  // The writer uses the same hasher from here on.
  const tag = tagOfRuns(key.snapshots, shard, sequence, content.state.hashes.spilled.named);
  try {
    write(new SnapshotWriter(unfinished, SNAPSHOT_VERSION, key.snapshots), shard, content, tag);
  } catch (error) {
    // A part of a snapshot must not keep a full disk full.
    rmSync(unfinished, { force: true });
    throw error;
  }
  renameSync(unfinished, path);
  syncDirectory(directory);
  return { path, sequence };
}

function write(
  writer: SnapshotWriter,
  shard: number,
  { head, nowMs, state }: Position & { state: ShardState },
  tag: Uint32Array,
): void {
  try {
    writer.number(MAGIC);
    writer.number(writer.version);
    writer.number(shard);
    persistHead(writer, head);
    writer.number(nowMs);
    persistRuns(writer, state.hashes.spilled.named);
    writer.u32(tag);
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
    const named = persistRuns(reader, NO_RUNS);
    if (version >= RUNS_VERSION) reader.u32(new Uint32Array(0));
    state.persist(reader);
    const stored = reader.u32(new Uint32Array(2));
    reader.requireSeal();
    assert(stored.length === 2, 'SNAPSHOT-2: a digest has two lanes');
    requireRuns({ directory: dirname(file.path), shard, mac: key.snapshots }, named);
    if (named.runs.length > 0) state.hashes.spilled = new NamedOnly(named);
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

/**
 * SNAPSHOT-5. The runs that a snapshot names, without reading the rest of it. Throws SnapshotError if the names cannot
 * be used.
 * @param mac null if the tag is not to be checked
 */
export function runsNamedIn(file: SnapshotFile, shard: number, mac: Mac | null): NamedRuns {
  const reader = new SnapshotReader(file.path, null);
  let named = NO_RUNS;
  let tag: Uint32Array;
  try {
    if (reader.number(0) !== MAGIC) throw new SnapshotError(`snapshot ${file.path}: not a snapshot`);
    reader.version = reader.number(0);
    if (reader.version < RUNS_VERSION) return NO_RUNS;
    reader.number(0);
    persistHead(reader, new JournalHead(0, 0, 0));
    reader.number(0);
    named = persistRuns(reader, NO_RUNS);
    tag = reader.u32(new Uint32Array(0));
  } finally {
    reader.close();
  }
  if (mac === null) return named;
  const expected = tagOfRuns(mac, shard, file.sequence, named);
  if (expected.every((word, at) => word === tag[at])) return named;
  throw new SnapshotError(`snapshot ${file.path}: the names of its runs are not written by this exchange`);
}

function persistRuns(io: SnapshotIo, { through, runs }: NamedRuns): NamedRuns {
  if (io.version < RUNS_VERSION) return NO_RUNS;
  const readThrough = io.number(through);
  const words = io.u32(Uint32Array.from(runs.flatMap(({ id, slice, count }) => [...idWords(id), slice, count])));
  const count = Math.floor(words.length / RUN_WORDS);
  return {
    through: readThrough,
    runs: Array.from({ length: count }, (_, run) => {
      const at = run * RUN_WORDS;
      return { id: idOfWords(words[at], words[at + 1]), slice: words[at + 2], count: words[at + 3] };
    }),
  };
}

function tagOfRuns(mac: Mac, shard: number, sequence: number, { through, runs }: NamedRuns): Uint32Array {
  const text = JSON.stringify([shard, sequence, through, runs.map(({ id, slice, count }) => [id, slice, count])]);
  return mac.start().update(new TextEncoder().encode(text)).end();
}

function persistHead(io: SnapshotIo, head: JournalHead): JournalHead {
  return new JournalHead(io.number(head.sequence), io.number(head.chainLow), io.number(head.chainHigh));
}

function digestOf(state: ShardState): Uint32Array {
  const lanes = new Uint32Array(2);
  state.writeDigest(lanes, 0);
  return lanes;
}
