/**
 * The statements of a connection, each prepared once and kept as long as the connection.
 *
 * `prepare` and `pragma` of a connection make a native object of about 4 kB each time, of which V8 sees a hundred
 * bytes. A finalizer frees it: after a garbage collection, which those hundred bytes rarely cause, and in a turn of the
 * event loop, which a thread that waits in Atomics.wait takes only now and then (TURNS-1). So repeated code prepares
 * nothing: statements are made in constructors, or cached here by their text. `exec` makes no object, and serves for
 * settings that change (`PRAGMA synchronous = …`), which SQLite carries out while it compiles them.
 *
 * Invariant:
 *   PREPARED-1  A connection has few texts: each is written in the source, or composed of a few parts from the source.
 *               A mode (`raw`, `safeIntegers`) stays with the statement, so a text has the same mode wherever it is
 *               used.
 */
import type { Statement } from 'better-sqlite3';

type Connection = { prepare(sql: string): unknown };
type Kept = WeakMap<Connection, Map<string, unknown>>;

const statements: Kept = new WeakMap();
const values: Kept = new WeakMap();

export function prepared<P extends unknown[] = unknown[], R = unknown>(db: Connection, sql: string): Statement<P, R> {
  return keptIn(statements, db, sql) as Statement<P, R>;
}

/** A statement that returns the first column of each row. */
export function preparedValue<P extends unknown[], R>(db: Connection, sql: string): Statement<P, R> {
  return (keptIn(values, db, sql) as Statement<P, R>).pluck();
}

function keptIn(kept: Kept, db: Connection, sql: string): unknown {
  let ofConnection = kept.get(db);
  if (ofConnection === undefined) {
    ofConnection = new Map();
    kept.set(db, ofConnection);
  }
  let statement = ofConnection.get(sql);
  if (statement === undefined) {
    statement = db.prepare(sql);
    ofConnection.set(sql, statement);
  }
  return statement;
}
