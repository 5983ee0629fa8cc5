/**
 * Snapshots: a shard's whole state at one record, so that a start reads a file and a short tail instead of its history.
 * Made by another thread from a replay (snapshots.ts), read by the shard when it recovers (recovery.ts).
 *
 * Invariants:
 *   T1  A file with its final name is complete and on the disk: it is written under another name, synced, renamed, and
 *       the directory is synced.
 *   T2  The digest in the file is the digest of what was read back from it; every part carries a CRC-32C besides. A
 *       file that fails either is never used: the next older one is, or the journal alone.
 *   T3  The chain value in the file ties it to one history: a journal of another does not continue it.
 */
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { JournalHead } from './journalRow.ts';
import { SnapshotError, type SnapshotIo, SnapshotReader, SnapshotWriter } from './snapshotIo.ts';

const MAGIC = 0x5358504f;
export const SNAPSHOT_VERSION = 4;
/** Version 3 has unused entries among those of the hash indexes (hashIndex.ts); the rest of it is the same. */
const OLDEST_READ = 3;

export type SnapshotFile = { readonly path: string; readonly sequence: number };

/** The snapshots of a shard, newest first. */
export function listSnapshots(directory: string, shard: number): SnapshotFile[] {
  const form = new RegExp(`^snapshot-${shard}-([0-9]{1,16})\\.bin$`);
  return readdirSync(directory)
    .flatMap((name) => {
      const match = form.exec(name);
      return match === null ? [] : [{ path: join(directory, name), sequence: Number(match[1]) }];
    })
    .sort((a, b) => b.sequence - a.sequence);
}

/** @param head where the journal stood when the engine had applied its last record. */
export function saveSnapshot(directory: string, shard: number, engine: Engine, head: JournalHead): SnapshotFile {
  const path = join(directory, `snapshot-${shard}-${head.sequence}.bin`);
  const unfinished = `${path}.part`;
  rmSync(unfinished, { force: true });
  try {
    write(new SnapshotWriter(unfinished), shard, engine, head);
  } catch (error) {
    // A disk that is full must not be kept full by half a snapshot.
    rmSync(unfinished, { force: true });
    throw error;
  }
  renameSync(unfinished, path);
  syncDirectory(directory);
  return { path, sequence: head.sequence };
}

function write(writer: SnapshotWriter, shard: number, engine: Engine, head: JournalHead): void {
  try {
    writer.number(MAGIC);
    writer.number(SNAPSHOT_VERSION);
    writer.number(shard);
    persistHead(writer, head);
    writer.number(engine.nowMs);
    engine.state.persist(writer);
    writer.u32(sealed(engine));
    writer.sync();
  } finally {
    writer.close();
  }
}

/** Fills a fresh engine. @returns where the journal goes on; throws SnapshotError for a file that cannot be used. */
export function loadSnapshot(file: SnapshotFile, shard: number, engine: Engine): JournalHead {
  const reader = new SnapshotReader(file.path);
  try {
    if (reader.number(0) !== MAGIC) throw new SnapshotError(`snapshot ${file.path}: not a snapshot`);
    const version = reader.number(0);
    if (version < OLDEST_READ || version > SNAPSHOT_VERSION)
      throw new SnapshotError(`snapshot ${file.path}: version ${version}`);
    if (reader.number(0) !== shard) throw new SnapshotError(`snapshot ${file.path}: of another shard`);
    const head = persistHead(reader, new JournalHead(0, 0, 0));
    const nowMs = reader.number(0);
    engine.state.persist(reader);
    const stored = reader.u32(new Uint32Array(2));
    engine.state.rebuild();
    engine.resumeAt(head.sequence, nowMs);
    const found = sealed(engine);
    if (stored[0] !== found[0] || stored[1] !== found[1]) {
      throw new SnapshotError(`snapshot ${file.path}: digest mismatch`);
    }
    return head;
  } finally {
    reader.close();
  }
}

function persistHead(io: SnapshotIo, head: JournalHead): JournalHead {
  return new JournalHead(io.number(head.sequence), io.number(head.chainLow), io.number(head.chainHigh));
}

function sealed(engine: Engine): Uint32Array {
  const lanes = new Uint32Array(2);
  engine.state.sealedDigest(lanes, 0);
  return lanes;
}

/** A renamed file is only there after a power cut when its directory was synced. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  fsyncSync(fd);
  closeSync(fd);
}
