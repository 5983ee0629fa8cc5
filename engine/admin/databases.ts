/**
 * The databases of a data directory beside its journals, for `journal verify`: each is read as a whole by SQLite's own
 * check. It only reads. control.db is locked by a running exchange, and is checked when that is stopped.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { rowsThatDiffer } from '../../shared/base/rowSums.ts';
import { SETTLEMENT_REMEDY } from '../../shared/base/settlementRemedy.ts';
import { commitsBehindDamage } from '../../shared/base/sqlitePages.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { AdminError } from './directory.ts';

type Kept = {
  readonly name: string;
  /** Checking the indexes of a large file takes minutes, and they are rebuilt with it. */
  readonly check: 'integrity_check' | 'quick_check';
  readonly whenDamaged: string;
};

const RESTORE = 'restore the data directory from a backup';
const DATABASES: readonly Kept[] = [
  {
    name: 'control.db',
    check: 'integrity_check',
    whenDamaged: `${RESTORE}, or see what \`npm run admin -- control repair\` can read of it`,
  },
  { name: 'settlement.db', check: 'integrity_check', whenDamaged: SETTLEMENT_REMEDY },
  {
    name: 'ramp.db',
    check: 'integrity_check',
    whenDamaged: 'put its backup in its place, or move it away: then the sandbox provider begins anew',
  },
  { name: 'idempotency.db', check: 'quick_check', whenDamaged: 'the next start sets it aside and makes it anew' },
  {
    name: 'read.db',
    check: 'quick_check',
    whenDamaged: '`npm run admin -- projections rebuild` makes it anew, as the exchange does where it reads the damage',
  },
];

export type DatabaseFinding = { readonly name: string; readonly state: string; readonly problem: string | null };

/** Of those that are there, or are missed beside the journals or their own write-ahead log. */
export function checkDatabases(directory: string): DatabaseFinding[] {
  const has = (name: string): boolean => existsSync(join(directory, name));
  return DATABASES.filter(({ name }) => {
    return has(name) || has(`${name}-wal`) || (name === 'control.db' && has('journal-0.db'));
  }).map((kept) => {
    const path = join(directory, kept.name);
    const found = damageOf(path, kept) ?? lossOf(path);
    if (found === null) return { name: kept.name, state: 'ok', problem: null };
    if (found === IN_USE) return { name: kept.name, state: IN_USE, problem: null };
    return { name: kept.name, state: 'damaged', problem: `${path}: ${found}: ${kept.whenDamaged}` };
  });
}

const IN_USE = 'in use';

/** Returns how much is missing from a file that SQLite reads as whole. */
function lossOf(path: string): string | null {
  if (statSync(path).size === 0) return 'it is empty';
  // The others are written by a running exchange.
  const isAlone = path.endsWith('control.db') && existsSync(`${path}-wal`);
  const commits = isAlone ? commitsBehindDamage(path) : 0;
  return commits === 0
    ? null
    : `${commits} changes in ${path}-wal stand behind a damaged page, and SQLite leaves them out`;
}

/** Returns null for a sound file. */
function damageOf(path: string, { name, check }: Kept): string | null {
  let db: Database.Database | undefined;
  try {
    if (!existsSync(path) && !existsSync(`${path}-wal`)) return 'it is missing';
    db = openDatabase(path, { readonly: true, timeout: 0 });
    const found = db.prepare<[], string>(`PRAGMA ${check}(1)`).pluck().get();
    if (found !== 'ok') return found?.replaceAll('\n', ' ') ?? 'no answer';
    const orphan = db.prepare<[], { table: string; rowid: number }>('PRAGMA foreign_key_check').get();
    if (orphan !== undefined) return `a row of ${orphan.table} names one that is not there`;
    const differing = name === 'control.db' ? rowsThatDiffer(db) : [];
    return differing.length > 0 ? differing.join('; ') : null;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return IN_USE;
    const access = accessProblem(path, error);
    if (access !== null) throw new AdminError(access);
    if (!isDamaged(error)) throw error;
    return errorMessage(error);
  } finally {
    db?.close();
  }
}
