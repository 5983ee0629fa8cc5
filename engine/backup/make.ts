/**
 * Makes a point of a backup from a data directory, beside an exchange that runs on it or without one (RULES.md 10.26).
 *
 *   journal.key, held.mark, databases, private frames, snapshots ──► journals, to their ends ──►
 *   control.db, and the cut ──► journals, up to it ──► audit.log and small files ──► the manifest
 *
 * If file A depends on file B, B is copied after A, as for a member that joins a cluster (GIVING-2). So every file is
 * at most older than the journals, and a start brings it up to date from them. BACKUPPOINT-1 defines the cut.
 *
 * Invariants:
 *   MAKEBACKUP-1  A database is read in one transaction of its own connection, so the copy shows one moment.
 *   MAKEBACKUP-2  If a journal's oldest records are trimmed, the point also contains a snapshot that the journal
 *                 continues.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { partsOfFile } from '../../shared/base/fileParts.ts';
import { lastLineOf } from '../../shared/base/lastLine.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { snapshotFiles } from '../snapshot/filesOf.ts';
import type { Pace } from './pace.ts';
import { type BackedFile, POINT_VERSION, type Point, pointName } from './point.ts';
import { type BackupShard, JournalBackup } from './segments.ts';
import { BackupError, type BackupStore } from './store.ts';

/** control.db at one moment, and the records that the journals must have beside it. */
export type ControlCut = {
  /** The path of the copy. */
  readonly path: string;
  /** By shard: the last record of the journal. */
  readonly cuts: readonly number[];
  readonly takenMs: number;
  readonly wasRunning: boolean;
};

type MakeOptions = {
  readonly directory: string;
  readonly shards: readonly BackupShard[];
  readonly store: BackupStore;
  readonly pace: Pace;
  /** Names of databases to leave out because they can be rebuilt. */
  readonly leaveOut: readonly string[];
  /** The copy exists until `work` has returned. */
  readonly withControl: (work: (cut: ControlCut) => Promise<void>) => Promise<void>;
  readonly print: (line: string) => void;
};

/** The size of a part of a file or database: whole pages, so that a changed page changes one part. */
const PART_BYTES = 256 << 10;
const PAGE_BYTES = 4096;
const STEP_PAGES = 256;
const DATABASES = ['read.db', 'idempotency.db', 'settlement.db', 'ramp.db'] as const;
/** Databases that can be rebuilt from the journals. */
export const REMADE = ['read.db'] as const;
const SMALL_FILES = ['master.key', 'admin.token', 'demo.json', 'ramp.json'] as const;
const MOST_TRIMS = 5;

export async function makePoint(options: MakeOptions): Promise<Point> {
  return new Making(options).run();
}

class Making {
  readonly #options: MakeOptions;
  readonly #files: BackedFile[] = [];
  readonly #journals: JournalBackup[];

  constructor(options: MakeOptions) {
    this.#options = options;
    const { shards, store, pace } = options;
    const before = store.newest();
    const isSame = before?.shards === shards.length;
    this.#journals = shards.map((shard) => {
      return new JournalBackup(shard, store, pace, isSame ? before.journals[shard.shard] : null);
    });
  }

  async run(): Promise<Point> {
    const { directory, shards, store, leaveOut, withControl } = this.#options;
    this.#file('journal.key');
    // Exists only on a member of a cluster. Copied before the journals, which contain what it says.
    this.#file('held.mark');
    for (const name of DATABASES) {
      if (existsSync(join(directory, name)) && !leaveOut.includes(name)) await this.#database(name);
    }
    // After read.db, which lists them.
    for (const name of filesIn(join(directory, 'archive'))) this.#archived(`archive/${name}`);
    for (const name of filesIn(join(directory, 'private'))) this.#file(`private/${name}`);
    for (const shard of shards) this.#journal(shard.shard);
    let point: Point | undefined;
    await withControl(async ({ path, cuts, takenMs, wasRunning }) => {
      const from = this.#files.length;
      try {
        this.#file('control.db', path);
        for (const [shard, cut] of cuts.entries()) await this.#journals[shard].takeTo(cut);
        this.#auditLog();
        for (const name of SMALL_FILES) this.#file(name);
      } catch (error) {
        this.#files.length = from;
        throw error;
      }
      point = {
        version: POINT_VERSION,
        name: pointName(takenMs),
        takenMs,
        wasRunning,
        shards: shards.length,
        leftOut: leaveOut.filter((name) => existsSync(join(directory, name))),
        files: this.#files,
        journals: this.#journals.map((journal) => journal.done()),
      };
    });
    assert(point !== undefined, 'BACKUPPOINT-1: control.db is a part of every point');
    requireWhole(point);
    store.addPoint(point);
    return point;
  }

  /** A file of the archive is never changed: the parts that the point before has of it are not read again. */
  #archived(name: string): void {
    const before = this.#options.store.newest()?.files.find((file) => file.name === name);
    if (before === undefined) this.#file(name);
    else this.#files.push(before);
  }

  /** Copies a file that is only appended to, or replaced as a whole. A missing file is skipped. */
  #file(name: string, path = join(this.#options.directory, name), lengthBytes?: number): void {
    const { store, pace } = this.#options;
    const bytes = partsOfFile(path, PART_BYTES, lengthBytes);
    if (bytes === null) return;
    const parts: string[] = [];
    let length = 0;
    for (const part of bytes) {
      parts.push(store.put(part));
      length += part.length;
      pace.took(part.length);
    }
    this.#files.push({ name, bytes: length, parts });
  }

  /**
   * May be ahead of control.db, which recognizes lines that it already has. Room for more lines may follow the last
   * line.
   */
  #auditLog(): void {
    const path = join(this.#options.directory, 'audit.log');
    if (existsSync(path)) this.#file('audit.log', path, lastLineOf(path).endBytes);
  }

  /** MAKEBACKUP-1 */
  async #database(name: string): Promise<void> {
    const { directory, store, pace, print } = this.#options;
    const copy = store.temporary(name);
    const database = openDatabase(join(directory, name), { readonly: true, timeout: 5000 });
    try {
      database.exec('BEGIN');
      // The transaction begins with its first read.
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
      await database.backup(copy, {
        progress: () => {
          pace.took(STEP_PAGES * PAGE_BYTES);
          return STEP_PAGES;
        },
      });
      database.exec('COMMIT');
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error;
      throw new BackupError(`${name} cannot be read: ${error.message}`);
    } finally {
      database.close();
    }
    print(`${name} is copied`);
    this.#file(name, copy);
    rmSync(copy);
  }

  /**
   * MAKEBACKUP-2. Copies the snapshots first: meanwhile a trim may remove the snapshot that the journal's oldest record
   * needs, together with the records after it.
   */
  #journal(shard: number): void {
    const { directory, shards } = this.#options;
    const journal = this.#journals[shard];
    for (let tries = 1; ; tries++) {
      const from = this.#files.length;
      const snapshots = snapshotFiles(directory, shard);
      // Several snapshots name the same runs.
      for (const name of new Set(snapshots.flatMap(({ names }) => names))) this.#file(name);
      journal.take();
      const copied = snapshots.filter(({ names }) => {
        return names.every((each) => this.#files.some(({ name }) => name === each));
      });
      // A trim removes whole rows, so the snapshot may already contain the oldest record.
      if (journal.first === 1 || copied.some(({ sequence }) => sequence >= journal.first - 1)) return;
      if (tries === MOST_TRIMS) {
        throw new BackupError(`${shards[shard].journalPath} is trimmed, and has no snapshot before its oldest record`);
      }
      this.#files.length = from;
    }
  }
}

/** Checks that all indispensable files are there and that nothing is newer than the cut (BACKUPPOINT-1). */
function requireWhole({ journals, files }: Point): void {
  for (const name of ['control.db', 'journal.key']) {
    if (!files.some((file) => file.name === name)) throw new BackupError(`${name} is not there: nothing was kept`);
  }
  for (const { name } of files) {
    const [, shard, sequence] = /^snapshot-(\d+)-(\d+)\.bin$/.exec(name) ?? [];
    if (sequence === undefined) continue;
    assert(Number(sequence) <= journals[Number(shard)].last, 'BACKUPPOINT-1: a snapshot is of records before the cut');
  }
}

function filesIn(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => !name.endsWith('.new') && !name.endsWith('.part'))
        .sort()
    : [];
}
