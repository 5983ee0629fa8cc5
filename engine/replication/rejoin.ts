/**
 * Compares a journal of this machine with its shard's rows in the replicated log, before the shard starts. A member
 * that led and was cut off has rows that the log never took: no client received an answer based on them, and another
 * leader may have continued without them. If that is proved (standing.ts), these rows are set aside in a separate file,
 * and the journal continues where both agree. Owner: the replication thread, while no shard runs.
 *
 * Invariants:
 *   REJOIN-1  The last common row is the same in both, byte for byte. A row holds the chain value of all rows before
 *             it, so those are the same too.
 *   REJOIN-2  Only rows after the last common one are removed, and only once they are durable in the other file. An
 *             interrupted removal is done again by the next start.
 *   REJOIN-3  A record is removed only if it is proved that no client received an answer that depends on it.
 *   REJOIN-4  No snapshot of a removed record remains: the rows that replace the removed ones make a different state.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { freeName } from '../../shared/base/freeName.ts';
import { closeKeepingRoom } from '../../shared/base/keptRoom.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { located, markPath } from '../journal/file.ts';
import { Journal } from '../journal/journal.ts';
import { Mark } from '../journal/mark.ts';
import { JournalHead, type Row } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { listSnapshots, setSnapshotAside } from '../snapshot/snapshot.ts';
import { JoinAnewError, LostRowsError } from './log.ts';

/** The rows of one stream in the log. */
export type LoggedRows = {
  range(): Promise<Range>;
  /** The row that ends with a record, or null if the log has no such row. */
  row(sequence: number): Promise<Uint8Array | null>;
  /** The oldest row, or null. */
  oldest(): Promise<Row | null>;
};
/**
 * The log holds the rows after record `after` up to record `last`. If the log was founded with earlier records, it
 * states the chain value there.
 */
type Range = { readonly after: number; readonly last: number; readonly head: string | null };

export type JournalFile = {
  readonly shard: number;
  readonly shards: number;
  readonly journalPath: string;
  readonly key: ShardKey;
};

/** The end of a journal, and the last row that it has in common with the log. */
type Compared = { readonly end: number; readonly common: JournalHead };

type Rejoined = {
  readonly shard: number;
  /** The last record that both have. */
  readonly sequence: number;
  /** The records that only this machine had, and the file that holds them now. */
  readonly setAside: {
    readonly from: number;
    readonly to: number;
    readonly path: string;
    readonly proof: string;
    /** Number of snapshots of states after those records; they are set aside too. */
    readonly snapshots: number;
  } | null;
};

/** Rows compared per read of the journal; usually the last few rows are in the log. */
const FIRST_ROWS = 4;
const SLICE_ROWS = 100;

/**
 * Changes nothing. Throws a JoinAnewError if the log no longer has the rows after the journal's last.
 * @param end the last record of the journal
 */
export async function compare(file: JournalFile, log: LoggedRows, end = lastIn(file.journalPath)): Promise<Compared> {
  return { end, common: await commonHead(file, log, end, await log.range()) };
}

/**
 * @param time part of the name of the file in which rows are set aside.
 * @param proof why rows that only this machine has were never acknowledged; null if unknown
 */
export async function rejoin(
  file: JournalFile,
  log: LoggedRows,
  time: string,
  proof: string | null,
): Promise<Rejoined> {
  const { shard } = file;
  const last = endOf(file);
  const { common } = await compare(file, log, last);
  if (common.sequence === last) return { shard, sequence: last, setAside: null };
  // REJOIN-3: the start has compared all streams before; the log has lost rows since.
  if (proof === null) {
    throw new LostRowsError(
      `journal ${file.journalPath}: the log agrees up to record ${common.sequence} only, and records up to ${last} ` +
        'may have been held',
    );
  }
  const path = freeName(file.journalPath.replace(/(\.db)?$/, `.unshared-${time}`), '.db');
  copyTail(file, common, path);
  const snapshots = setSnapshotsAside(file, common.sequence);
  setBackMark(file, common);
  removeTail(file, common.sequence);
  assert(endOf(file) === common.sequence, 'REJOIN-2: the journal ends where both agree');
  return {
    shard,
    sequence: common.sequence,
    setAside: { from: common.sequence + 1, to: last, path, proof, snapshots },
  };
}

/** For the log and the operator: one line. */
export function rejoinedText({ shard, sequence, setAside }: Rejoined): string {
  if (setAside === null) return `shard ${shard}: the journal agrees with the log up to record ${sequence}`;
  const { from, to, path, proof, snapshots } = setAside;
  const records = from === to ? `record ${from} was` : `records ${from} to ${to} were`;
  return (
    `shard ${shard}: ${records} on this machine only and never acknowledged (${proof}): set aside in ${path}` +
    `${snapshots === 0 ? '' : `, with snapshots of them: ${snapshots}`}; the journal goes on after record ${sequence}`
  );
}

/** The journal's last record. Its file, mark and last row are checked; a missing file is created. */
function endOf(file: JournalFile): number {
  const journal = Journal.open({ ...file, journalSync: 'full' });
  try {
    return journal.lastSequence;
  } finally {
    closeKeepingRoom({ name: file.journalPath, close: () => journal.close() });
  }
}

/** REJOIN-1. */
async function commonHead(file: JournalFile, log: LoggedRows, end: number, range: Range): Promise<JournalHead> {
  const { journalPath, key, shard } = file;
  const { after, last } = range;
  if (end < after) {
    throw new JoinAnewError(
      `journal ${journalPath}: ends at ${end}, and the log holds shard ${shard} only from ${after + 1} on`,
    );
  }
  const reader = new RowReader(journalPath, key);
  for (const row of rowsFromEnd(journalPath)) {
    if (row.sequence <= after) break;
    const logged = row.sequence > last ? null : await log.row(row.sequence);
    if (logged !== null && Buffer.from(logged).equals(row.bytes)) return reader.headAfter(row);
  }
  const head = await headBeforeLog(file, log, reader, range);
  if (head !== null) return head;
  throw new JoinAnewError(
    `journal ${journalPath}: has no row in common with what the log holds of shard ${shard}: ` +
      'it is of another exchange, or of another history of this one',
  );
}

/** The head after record `after` if the oldest row of the log continues there, otherwise null. */
async function headBeforeLog(
  { journalPath, key }: JournalFile,
  log: LoggedRows,
  reader: RowReader,
  { after, head: known }: Range,
): Promise<JournalHead | null> {
  const row = rowAt(journalPath, after);
  if (row === undefined && after > 0) return null;
  const head = row === undefined ? new JournalHead(0, 0, 0) : reader.headAfter(row);
  if (known !== null && known !== headText(head)) return null;
  const oldest = await log.oldest();
  if (oldest === null) return head;
  return new RowReader('of the log', key).headBefore(oldest, after + 1).equals(head) ? head : null;
}

/** Writes the rows after the head into a journal of their own. */
function copyTail(file: JournalFile, after: JournalHead, path: string): void {
  const copy = Journal.open({ ...file, journalPath: path, journalSync: 'full', knownHead: after }, after);
  try {
    const reader = new RowReader(file.journalPath, file.key);
    const head = after.copy();
    withDatabase(file.journalPath, (db) => {
      const rows = db.prepare<[number], Row>(
        'SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence',
      );
      for (const row of rows.iterate(after.sequence)) {
        reader.load(row, head);
        copy.appendCopy(row);
      }
    });
    copy.commit();
  } finally {
    copy.close();
  }
  syncDirectory(dirname(path));
}

/** REJOIN-4. @returns how many there were */
function setSnapshotsAside({ journalPath, shard }: JournalFile, after: number): number {
  const directory = dirname(journalPath);
  const files = listSnapshots(directory, shard).filter(({ sequence }) => sequence > after);
  for (const file of files) setSnapshotAside(file);
  if (files.length > 0) syncDirectory(directory);
  return files.length;
}

/** The mark may lie before the end of the journal but never after it, so it is moved first. */
function setBackMark({ journalPath, shard }: JournalFile, head: JournalHead): void {
  const path = markPath(journalPath);
  const fresh = `${path}.part`;
  rmSync(fresh, { force: true });
  const mark = new Mark(fresh, shard);
  mark.advance(head);
  mark.close();
  renameSync(fresh, path);
  syncDirectory(dirname(path));
}

function removeTail({ journalPath }: JournalFile, after: number): void {
  withDatabase(journalPath, (db) => {
    db.pragma('synchronous = FULL');
    db.prepare('DELETE FROM journal WHERE sequence > ?').run(after);
  });
}

/** A chain value in the form in which a founder's log has it. */
export function headText({ chainLow, chainHigh }: JournalHead): string {
  return `${chainLow}:${chainHigh}`;
}

/** The last record of a file that may not exist. */
export function lastIn(journalPath: string): number {
  return withRows(journalPath, 0, (db) => {
    return db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get() ?? 0;
  });
}

/** The row that ends with this record. */
export function rowAt(journalPath: string, sequence: number): Row | undefined {
  return withRows<Row | undefined>(journalPath, undefined, (db) => {
    return db.prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence = ?').get(sequence);
  });
}

/** All rows, the last one first. */
export function* rowsFromEnd(journalPath: string): Generator<Row> {
  let before = Number.MAX_SAFE_INTEGER;
  for (let count = FIRST_ROWS; ; count = SLICE_ROWS) {
    const rows = withRows<Row[]>(journalPath, [], (db) => {
      const slice = db.prepare<[number, number], Row>(
        'SELECT sequence, bytes FROM journal WHERE sequence < ? ORDER BY sequence DESC LIMIT ?',
      );
      return slice.all(before, count);
    });
    yield* rows;
    const oldest = rows.at(-1);
    if (oldest === undefined) return;
    before = oldest.sequence;
  }
}

/** @returns `none` if the file does not exist or was not completely created */
function withRows<T>(journalPath: string, none: T, use: (db: Database.Database) => T): T {
  if (!existsSync(journalPath)) return none;
  return withDatabase(journalPath, (db) => {
    const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'journal'").get();
    return table === undefined ? none : use(db);
  });
}

function withDatabase<T>(journalPath: string, use: (db: Database.Database) => T): T {
  const db = openDatabase(journalPath, { fileMustExist: true });
  try {
    return use(db);
  } catch (error) {
    throw located(error, journalPath);
  } finally {
    closeKeepingRoom(db);
  }
}
