/**
 * Brings a read.db of an older version to the present one, in one transaction and without its journals.
 *
 * Invariant:
 *   READDBSTEPS-1  A file that was brought up has the tables, columns and indexes of one that is made now; otherwise
 *                  nothing of it was changed.
 */
import Database from 'better-sqlite3';
import { setUserVersion } from '../../shared/base/openDatabase.ts';
import { READ_DB_SCHEMA, READ_DB_TABLES, READ_DB_VERSION } from '../../shared/tables/readDb.ts';
import { READ_DB_STEPS } from '../../shared/tables/readDbSteps.ts';

type Column = { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number };

class NotTheSame extends Error {}

/** @returns whether the file has the present version now. */
export function upgradeReadDb(db: Database.Database, from: number, steps = READ_DB_STEPS): boolean {
  const due: string[] = [];
  for (let version = from; version < READ_DB_VERSION; version++) {
    const step = steps[version];
    if (step === undefined) return false;
    due.push(step);
  }
  if (due.length === 0) return false;
  try {
    db.transaction(() => {
      const known = new Set(names(db, 'table'));
      for (const { name, schema } of READ_DB_TABLES) if (!known.has(name)) db.exec(schema);
      for (const step of due) db.exec(step);
      setUserVersion(db, READ_DB_VERSION);
      if (!hasPresentForm(db)) throw new NotTheSame();
    }).immediate();
    return true;
  } catch (error) {
    if (error instanceof NotTheSame) return false;
    throw error;
  }
}

/** True if the tables, columns and indexes are those of a file that is made now. */
export function hasPresentForm(db: Database.Database): boolean {
  const present = new Database(':memory:');
  try {
    present.exec(READ_DB_SCHEMA);
    return formOf(db) === formOf(present);
  } finally {
    present.close();
  }
}

/** Columns may stand in another order: a new one comes last. */
function formOf(db: Database.Database): string {
  const columns = names(db, 'table').flatMap((table) =>
    db
      .prepare<[], Column>(`PRAGMA table_xinfo('${table}')`)
      .all()
      .map(({ name, type, notnull, pk }) => `${table}.${name} ${type} ${notnull} ${pk}`),
  );
  const indexes = db
    .prepare<[], string>("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    .pluck()
    .all();
  return [...columns, ...indexes.map((sql) => sql.replace(/\s+/g, ' '))].sort().join('\n');
}

function names(db: Database.Database, type: string): string[] {
  return db
    .prepare<[string], string>("SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all(type);
}
