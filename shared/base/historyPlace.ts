/**
 * The directory of the public history: everything in it may be read by everyone, so it is refused where files with the
 * names of owners are, or could come to be.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { HISTORY_STATE_FILE, isDayName } from './historyTables.ts';
import { openDatabase } from './openDatabase.ts';

export const WORKING_FOLDER = '.working';
/** Names beside those of the days; the writer replaces a state by a file of another name. */
const OWN_NAMES: ReadonlySet<string> = new Set([WORKING_FOLDER, HISTORY_STATE_FILE, `${HISTORY_STATE_FILE}.new`]);
/** Files of a data directory, of what is replaced in it, and of the folder of backups. */
const PRIVATE_FILE = new RegExp(
  [
    '^(control|read|settlement|answers|journal-\\d+)\\.db|^orders-\\d+-',
    '^journal(-\\d+)?\\.(key|given-up)|^master\\.key|^points$|^objects$',
  ].join('|'),
);

export class HistoryPlaceError extends Error {
  override readonly name = 'HistoryPlaceError';
}

/**
 * Why a directory cannot be HISTORY_DIR, in one line; null if it can.
 * @param backupTarget null: there is none
 */
export function historyPlaceProblem(historyDir: string, dataDir: string, backupTarget: string | null): string | null {
  const history = realPath(historyDir);
  if (backupTarget !== null && isWithin(history, realPath(backupTarget))) {
    return `HISTORY_DIR ${historyDir} is in BACKUP_TARGET: name one outside of it`;
  }
  const data = realPath(dataDir);
  if (isWithin(history, data)) return `HISTORY_DIR ${historyDir} is in the data directory: name one outside of it`;
  if (isWithin(data, history)) return `HISTORY_DIR ${historyDir} holds the data directory: name one of its own`;
  for (let folder = history; ; folder = dirname(folder)) {
    const found = existsSync(folder) ? readdirSync(folder).find((name) => PRIVATE_FILE.test(name)) : undefined;
    if (found !== undefined) {
      return `HISTORY_DIR ${historyDir} is public, and ${join(folder, found)} is not: name a directory of its own`;
    }
    if (folder === dirname(folder)) break;
  }
  const foreign = existsSync(history)
    ? readdirSync(history).find((name) => !isDayName(name) && !OWN_NAMES.has(name))
    : undefined;
  if (foreign === undefined) return null;
  return `HISTORY_DIR ${historyDir} is public and holds ${foreign}: name an empty directory`;
}

/** One writer at a time; the lock ends with its process. */
export class HistoryLock {
  readonly #db: Database.Database;

  constructor(historyDir: string) {
    mkdirSync(join(historyDir, WORKING_FOLDER), { recursive: true });
    this.#db = openDatabase(join(historyDir, WORKING_FOLDER, 'lock.db'), { timeout: 0 });
    try {
      this.#db.pragma('locking_mode = EXCLUSIVE');
      this.#db.exec('BEGIN EXCLUSIVE');
    } catch {
      this.#db.close();
      throw new HistoryPlaceError(`${historyDir}: another process writes the history here`);
    }
  }

  release(): void {
    this.#db.close();
  }
}

/** The path without links, also of what does not exist yet. */
function realPath(path: string): string {
  const whole = resolve(path);
  if (existsSync(whole)) return realpathSync(whole);
  return whole === dirname(whole) ? whole : join(realPath(dirname(whole)), basename(whole));
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || !way.startsWith('..');
}
