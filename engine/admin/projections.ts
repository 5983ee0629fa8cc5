/**
 * `projections`: rebuilds read.db from the journals, checks it, and copies it while the exchange runs.
 *
 * Invariants:
 *   REBUILD-1  read.db keeps its name until a new file is complete, checked and durable; the new file replaces it in
 *              one step. However the command ends, either the old file or the new one is there.
 *   REBUILD-2  History that only read.db has is given up only with the operator's consent, and the old file with this
 *              history is kept.
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { READ_DB_VERSION } from '../../shared/tables/readDb.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { JournalReader } from '../journal/reader.ts';
import { wrongArchiveFiles } from '../projector/archiveFiles.ts';
import { CATALOG_TABLES } from '../projector/catalog.ts';
import { contentsOf, differences } from '../projector/contents.ts';
import { copyDatabase, syncFile } from '../projector/databaseCopy.ts';
import { describe, readOpeningState } from '../projector/openingState.ts';
import { BATCH_RECORDS, Projector } from '../projector/projector.ts';
import { Cursors, HistoryStarts } from '../projector/readDb.ts';
import { differencesFromState } from '../projector/stateCheck.ts';
import { hasPresentForm } from '../projector/upgrade.ts';
import { AdminError, type ShardFile } from './directory.ts';
import { differencesFromSigned } from './orderRows.ts';
import { stateAfter } from './replica.ts';

const READ_DB = 'read.db';
const SUFFIXES = ['', '-wal', '-shm'];
/** Records between two lines of progress. */
const REPORT_RECORDS = 25 * BATCH_RECORDS;

type Print = (line: string) => void;
export type RebuildOptions = {
  /** A copy of read.db from which to continue; undefined: start from nothing. */
  readonly from: string | undefined;
  readonly acceptLoss: boolean;
  /** Part of the name of a file that is set aside. */
  readonly time: string;
  readonly nowMs: () => number;
  readonly print: Print;
};

/** Follows the journals of a stopped exchange up to their ends, without frames for clients. */
export function catchUp(files: readonly ShardFile[], print: Print): void {
  const path = join(files[0].directory, READ_DB);
  const old = factsOf(path, files);
  if (old === null || !old.continues)
    throw new AdminError(`${path} is missing, damaged or of another version: start the exchange once, and stop it`);
  const lasts = files.map(lastOf);
  if (old.followed.every((record, shard) => record === lasts[shard])) return;
  make(path, files, lasts, lasts, { print, nowMs: () => Date.now() });
}

/** The exchange must be stopped. @returns true if read.db was rebuilt. */
export function rebuild(files: readonly ShardFile[], options: RebuildOptions): boolean {
  const { from, print } = options;
  const { directory } = files[0];
  const path = join(directory, READ_DB);
  const fresh = `${path}.rebuilding`;
  removeDatabase(fresh);
  try {
    const old = factsOf(path, files);
    if (from !== undefined) copyFileSync(requireCopy(from, files), fresh);
    make(fresh, files, files.map(lastOf), old?.privateTailStarts ?? [], options);
    const problems = check(fresh, files, print);
    if (problems.length > 0) {
      for (const problem of problems) print(`problem: ${problem}`);
      print(`${path} was left as it is`);
      return false;
    }
    const made = factsOf(fresh, files);
    assert(made !== null, 'REBUILD-1: a file that was checked can be read');
    const loses = old?.continues === true && made.historyFromMs > old.historyFromMs;
    if (loses && !options.acceptLoss) {
      print(`${path} has history from before ${at(made.historyFromMs)} that the journals do not have any more:`);
      print('give a copy of it with --from, or give that history up with --accept-loss');
      return false;
    }
    // Only a file that the journals reproduce in all its parts needs no copy.
    const isSpare = old?.continues === true && !loses;
    replace(path, fresh, isSpare ? null : `${path}.before-${options.time}`);
    const since = made.historyFromMs === 0 ? 'from the first record on' : `from ${at(made.historyFromMs)} on`;
    print(`${path} is made, with the history ${since}; the next start adds the catalogue`);
    return true;
  } finally {
    removeDatabase(fresh);
  }
}

/**
 * Compares read.db of a stopped exchange with the journals, as far back as they go and up to the records that read.db
 * has followed: the newest records may be missing, and the next start adds them.
 * @returns true if read.db is right.
 */
export function verifyProjections(files: readonly ShardFile[], options: RebuildOptions): boolean {
  const { print } = options;
  const { directory } = files[0];
  const path = join(directory, READ_DB);
  const old = factsOf(path, files);
  if (old === null) throw new AdminError(`${path} is missing, damaged or of another version`);
  const problems = check(path, files, print);
  const fresh = `${path}.verifying`;
  removeDatabase(fresh);
  try {
    if (old.historyFromMs > 0 || files.some((file) => firstOf(file) > 1)) {
      print('the journals were trimmed: history before their first record cannot be compared');
    } else if (problems.length === 0) {
      make(fresh, files, old.followed, old.privateTailStarts, options);
      const contents = (of: string) => withDatabase(of, (db) => contentsOf(db, CATALOG_TABLES));
      problems.push(...differences(contents(fresh), contents(path)));
    }
  } finally {
    removeDatabase(fresh);
  }
  for (const problem of problems) print(`problem: ${problem}`);
  if (problems.length > 0) print('`npm run admin -- projections rebuild` makes it anew');
  else print('ok');
  return problems.length === 0;
}

/** Copies read.db as it is at one moment, intact and checked, even while the exchange runs. */
export function backUp(directory: string, to: string, print: Print): boolean {
  const path = join(directory, READ_DB);
  if (!existsSync(path)) throw new AdminError(`${path} does not exist`);
  if (existsSync(to)) throw new AdminError(`${to} exists`);
  const check = (part: string): void => {
    const damage = withDatabase(part, damageOf);
    if (damage !== null) throw new AdminError(`${path} is damaged: ${damage}`);
  };
  withDatabase(path, (db) => copyDatabase(db, to, check));
  const heads = withDatabase(to, (db) =>
    db.prepare<[], { shard: number; sequence: number }>('SELECT shard, sequence FROM cursors ORDER BY shard').all(),
  );
  for (const { shard, sequence } of heads) print(`shard ${shard}: up to record ${sequence}`);
  print(`${to} is a copy of ${path}`);
  return true;
}

/**
 * Follows the journals into a file from the file's cursors on; a new file starts at the beginning.
 * @param lasts by shard: the record at which to stop.
 */
function make(
  path: string,
  files: readonly ShardFile[],
  lasts: readonly number[],
  logged: readonly number[],
  { print, nowMs }: Pick<RebuildOptions, 'print' | 'nowMs'>,
) {
  const progressMemory = Progress.create(files.length);
  const progress = new Progress(progressMemory);
  for (const [shard, last] of lasts.entries()) {
    progress.setCommitted(shard, last);
    // Frames that the gateway has in its own log need not be made again.
    progress.setLogged(shard, Math.min(logged[shard] ?? 0, last));
  }
  const options = {
    journalPaths: files.map(({ journalPath }) => journalPath),
    keys: files.map(({ key }) => key),
    readDbPath: path,
    progress: progressMemory,
  };
  const total = files.reduce((sum, file, shard) => sum + lasts[shard] - startOf(path, file), 0);
  print(`${total} records to follow`);
  const projector = new Projector(options, null, undefined, readOpeningState);
  try {
    const behind = (): number =>
      lasts.reduce((sum, last, shard) => sum + last - Math.max(progress.projected(shard), 0), 0);
    const startMs = nowMs();
    let reported = total;
    while (projector.step(true)) {
      const left = behind();
      if (reported - left < REPORT_RECORDS && left > 0) continue;
      reported = left;
      const seconds = (nowMs() - startMs) / 1000;
      const speed = seconds > 0 ? `, ${Math.round((total - left) / seconds)} a second` : '';
      print(`${total - left} of ${total}${speed}`);
    }
    assert(behind() === 0, 'REBUILD-1: every record is followed');
  } finally {
    projector.close();
  }
  syncFile(path);
}

/** Returns the record after which a file continues: for a copy its cursor, for a new file the last trimmed record. */
function startOf(path: string, file: ShardFile): number {
  const trimmed = firstOf(file) - 1;
  if (!existsSync(path)) return trimmed;
  return withDatabase(path, (db) => Math.max(new Cursors(db).load(file.shard).sequence, trimmed));
}

/** @returns the problems of a file, up to its cursors. */
function check(path: string, files: readonly ShardFile[], print: Print): string[] {
  return withDatabase(path, (db) => {
    const damage = damageOf(db);
    if (damage !== null) return [damage];
    if (!hasPresentForm(db)) return ['its tables are not those of this version'];
    const cursors = new Cursors(db);
    return files.flatMap((file) => {
      const { shard } = file;
      const { sequence } = cursors.load(shard);
      if (!continuesAt(db, file)) return [`shard ${shard}: the journal does not go on after record ${sequence}`];
      const last = lastOf(file);
      const behind = sequence < last ? `; the next start follows the records up to ${last}` : '';
      print(`shard ${shard}: comparing record ${sequence} with the engine's state${behind}`);
      if (sequence === 0) return [];
      const [wrong] = wrongArchiveFiles(db);
      if (wrong !== undefined) return [`${wrong} is missing or damaged: take it from a backup`];
      const fromState = differencesFromState(db, shard, describe(stateAfter(file, sequence)));
      return [...fromState, ...differencesFromSigned(db, shard)];
    });
  });
}

type Facts = {
  /** True if every cursor is at a record after which the journal of its shard continues. */
  readonly continues: boolean;
  /** By shard: the record at its cursor. */
  readonly followed: readonly number[];
  readonly historyFromMs: number;
  /** By shard; 0 if unknown. */
  readonly privateTailStarts: readonly number[];
};

/** Null if the file is missing, damaged or of another version. */
function factsOf(path: string, files: readonly ShardFile[]): Facts | null {
  if (!existsSync(path)) return null;
  try {
    return withDatabase(path, (db) => {
      if (db.pragma('user_version', { simple: true }) !== READ_DB_VERSION) return null;
      const start = db
        .prepare<[number], number>('SELECT shard_sequence FROM private_tail_starts WHERE shard = ?')
        .pluck();
      const continues = files.every((file) => continuesAt(db, file));
      return {
        continues,
        followed: files.map(({ shard }) => new Cursors(db).load(shard).sequence),
        historyFromMs: new HistoryStarts(db).latestMs(),
        privateTailStarts: continues ? files.map(({ shard }) => start.get(shard) ?? 0) : [],
      };
    });
  } catch (error) {
    if (error instanceof Database.SqliteError) return null;
    throw error;
  }
}

/** Throws unless the journals continue the copy. */
function requireCopy(from: string, files: readonly ShardFile[]): string {
  if (!existsSync(from)) throw new AdminError(`${from} does not exist`);
  if (existsSync(`${from}-wal`)) throw new AdminError(`${from}-wal: a copy is made with \`projections backup\``);
  const copy = factsOf(from, files);
  if (copy === null) throw new AdminError(`${from} is damaged, or of another version of this program`);
  if (!copy.continues) {
    throw new AdminError(`${from}: the journals do not have the record after it any more, or are of another history`);
  }
  return from;
}

function continuesAt(db: Database.Database, file: ShardFile): boolean {
  return withJournal(file, (reader) => reader.continues(new Cursors(db).load(file.shard)));
}

/** Output of `PRAGMA integrity_check`, or null if the file is sound. */
function damageOf(db: Database.Database): string | null {
  const found = String(db.pragma('integrity_check(1)', { simple: true }));
  return found === 'ok' ? null : `SQLite finds damage: ${found}`;
}

/** @param setAside the name under which the old file is kept; null: the old file is deleted. */
function replace(path: string, fresh: string, setAside: string | null): void {
  if (existsSync(path)) {
    // The write-ahead log belongs to the old file: beside the new file, SQLite would take its pages for newer ones.
    finishLog(path);
    if (setAside !== null) for (const suffix of SUFFIXES) rename(path + suffix, setAside + suffix);
    else for (const suffix of SUFFIXES.slice(1)) rmSync(path + suffix, { force: true });
  }
  renameSync(fresh, path);
  syncDirectory(dirname(path));
}

/** Copies the write-ahead log into its file, if the log can be read. */
function finishLog(path: string): void {
  try {
    const db = openDatabase(path);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
  }
}

function rename(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to);
}

function firstOf(file: ShardFile): number {
  return withJournal(file, (reader) => reader.facts().firstSequence);
}

function lastOf(file: ShardFile): number {
  return withJournal(file, (reader) => reader.facts().lastSequence);
}

function withJournal<T>({ journalPath, key }: ShardFile, work: (reader: JournalReader) => T): T {
  const reader = new JournalReader(journalPath, key);
  try {
    return work(reader);
  } finally {
    reader.close();
  }
}

function withDatabase<T>(path: string, work: (db: Database.Database) => T): T {
  const db = openDatabase(path, { readonly: true, fileMustExist: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function removeDatabase(path: string): void {
  for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true });
}

function at(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
