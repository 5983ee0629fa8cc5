/**
 * Compares the records in the queue of a file (shared/records/recordedFile.ts) with the replicated log, before anything
 * opens the file. Records that the log has are marked as held. Records that the log never held were never acknowledged,
 * if that is proved (standing.ts): they are set aside and undone, so that the file agrees with the log. Owner: the
 * replication thread, while no other part of the process has the file.
 *
 * Invariants:
 *   RECORDSREJOIN-1  A record is undone only once it is durable in the other file, and only together with every record
 *                    after it. An interrupted start does it again.
 *   RECORDSREJOIN-2  A record that the log has trimmed was held: the stream continues after it.
 *   RECORDSREJOIN-3  If the log has no row of the stream, nothing is undone: the file is a first member's.
 *   RECORDSREJOIN-4  A record is undone only if it is proved that no client received an answer that depends on it.
 */

import { closeSync, existsSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { CONTROL_LOCK_PATIENCE_MS } from '../../shared/base/controlLock.ts';
import { freeName, freeTime } from '../../shared/base/freeName.ts';
import { closeKeepingRoom } from '../../shared/base/keptRoom.ts';
import { memberOf } from '../../shared/base/memberOf.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { keepRowSums } from '../../shared/base/rowSums.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import { decodeStatements } from '../../shared/records/statements.ts';
import { takeBack } from '../../shared/records/undo.ts';
import type { RecordsToRejoin } from '../../shared/wire/joining.ts';
import { LostRowsError, type ReplicatedLog } from './log.ts';

type Queued = { readonly sequence: number; readonly bytes: Uint8Array };
type Log = Pick<ReplicatedLog, 'ends' | 'rowOf'>;

/**
 * Records of a file that the log does not hold: those in the queue from `unshared` on; `end` is the file's last record.
 * Every other record of the file was known to be held.
 */
export type ComparedRecords = { readonly known: number; readonly unshared: number; readonly end: number };

/** Changes nothing. Returns null for a file that does not exist or never belonged to a cluster. */
export async function compareRecords(log: Log, { path, stream }: RecordsToRejoin): Promise<ComparedRecords | null> {
  if (!existsSync(path)) return null;
  const database = openAlone(path);
  try {
    const end = endOf(database);
    if (end === null) return null;
    const queue = queueOf(database);
    const known = (queue[0]?.sequence ?? end + 1) - 1;
    const logged = (await log.ends()).find((each) => each.stream === stream)?.sequence ?? 0;
    const unshared = queue.length === 0 ? end + 1 : await firstUnshared(log, stream, queue, logged);
    return { known, unshared, end };
  } finally {
    closeKeepingRoom(database);
  }
}

/** Null for a file without the tables. */
function endOf(database: Database.Database): number | null {
  const select = "SELECT count(*) FROM sqlite_master WHERE name = 'record_end'";
  if (database.prepare<[], number>(select).pluck().get() !== 1) return null;
  return database.prepare<[], number>('SELECT sequence FROM record_end').pluck().get() ?? 0;
}

/**
 * @param proof why rows that only this machine has were never acknowledged; null if unknown: then nothing is undone
 * @returns a line for each file of which records were set aside.
 */
export async function rejoinRecords(
  log: Log,
  files: readonly RecordsToRejoin[],
  proof: string | null,
  givenTime?: string,
): Promise<string[]> {
  const lines: string[] = [];
  for (const file of files) {
    const time = givenTime ?? freeTime(dirname(file.path));
    const line = existsSync(file.path) ? await rejoinFile(log, file, proof, time) : null;
    if (line !== null) lines.push(line);
  }
  return lines;
}

async function rejoinFile(
  log: Log,
  { path, stream, hasUndo }: RecordsToRejoin,
  proof: string | null,
  time: string,
): Promise<string | null> {
  const database = openAlone(path);
  try {
    const queue = queueOf(database);
    const end = (await log.ends()).find((each) => each.stream === stream)?.sequence;
    if (queue.length === 0 || end === undefined) return null;
    const unshared = await firstUnshared(log, stream, queue, end);
    const last = queue.at(-1)!.sequence;
    if (unshared > queue[0].sequence) forget(database, unshared);
    if (unshared > last || !hasUndo) return null;
    // RECORDSREJOIN-4: the start has compared all streams before; the log has lost records since.
    if (proof === null) throw new LostRowsError(`${path}: records ${unshared} to ${last} may have been held`);
    const left = queue.filter(({ sequence }) => sequence >= unshared);
    const aside = freeName(path.replace(/\.db$/, `.unshared-${time}`), '.jsonl');
    setAside(aside, left);
    takeBack(database, unshared);
    const records = unshared === last ? `record ${last} was` : `records ${unshared} to ${last} were`;
    return (
      `${path}: ${records} on this machine only and never acknowledged (${proof}): set aside in ${aside}; ` +
      `the file goes on after record ${unshared - 1}`
    );
  } catch (error) {
    if (error instanceof RecordError) throw new RecordError(`${path}: ${error.message}`);
    throw error;
  } finally {
    closeKeepingRoom(database);
  }
}

/** The lock is the one that a server holds, so a second process on the same directory ends here. */
export function openAlone(path: string): Database.Database {
  const database = openDatabase(path, { timeout: CONTROL_LOCK_PATIENCE_MS });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    keepRowSums(database);
    return database;
  } catch (error) {
    database.close();
    const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
    throw isBusy ? new Error(`${path} is in use by another server`) : error;
  }
}

/** A file that never belonged to a cluster has none of the tables. */
function queueOf(database: Database.Database): Queued[] {
  const select = "SELECT count(*) FROM sqlite_master WHERE name IN ('record_queue', 'record_undo')";
  if (database.prepare<[], number>(select).pluck().get() !== 2) return [];
  return database.prepare<[], Queued>('SELECT sequence, bytes FROM record_queue ORDER BY sequence').all();
}

/** The records of the queue after one, with their statements; those of idempotency.db have their bytes instead. */
export function queuedAfter(
  path: string,
  after: number,
): { readonly sequence: number; readonly [contents: string]: unknown }[] {
  const database = openAlone(path);
  try {
    const left = queueOf(database).filter(({ sequence }) => sequence > after);
    return left.map(({ sequence, bytes }) => ({ sequence, ...contentsOf(bytes) }));
  } finally {
    closeKeepingRoom(database);
  }
}

function contentsOf(bytes: Uint8Array): { readonly statements: unknown } | { readonly base64: string } {
  try {
    return { statements: decodeStatements(bytes).statements };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

/**
 * RECORDSREJOIN-2. The first record that the log does not have in the same form, or the number after the last record.
 */
async function firstUnshared(log: Log, stream: number, queue: readonly Queued[], end: number): Promise<number> {
  for (const { sequence, bytes } of queue) {
    const row = sequence > end ? null : await log.rowOf(stream, sequence);
    const isShared = row === null ? sequence <= end : Buffer.compare(row.bytes, bytes) === 0;
    if (!isShared) return sequence;
  }
  return queue.at(-1)!.sequence + 1;
}

/** Forgets how to undo the records before this one. */
function forget(database: Database.Database, before: number): void {
  database.transaction(() => {
    for (const table of ['record_queue', 'record_undo']) {
      database.prepare(`DELETE FROM ${table} WHERE sequence < ?`).run(before);
    }
  })();
}

/** RECORDSREJOIN-1. A line of JSON for each record. */
function setAside(path: string, records: readonly Queued[]): void {
  const fd = openSync(path, 'w', 0o600);
  try {
    for (const { sequence, bytes } of records) {
      const { statements } = decodeStatements(bytes);
      writeSync(fd, `${JSON.stringify({ sequence, statements }, legible)}\n`);
    }
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(dirname(path));
}

/** A Buffer arrives as the result of its own `toJSON`; other bytes arrive unchanged. */
export function legible(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  const data = memberOf(value, 'data');
  const isBytes = memberOf(value, 'type') === 'Buffer' && Array.isArray(data);
  return isBytes ? `0x${Buffer.from(data).toString('hex')}` : value;
}
