/**
 * Hourly rows of changing values, thinned as they age (shared/tables/buckets.ts): for windows that are read by the day,
 * the first row of each day is enough. Owner: the projector thread.
 *
 * Invariant:
 *   HOURROWS-1  When a key gets its first row of a span of eight days, it has of each day that is no longer kept by the
 *               hour only the first row, and none of days that are no longer kept: however its rows were divided into
 *               batches.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { bucketOf, DAY_MS, DAYS_KEPT_MS, HOURS_KEPT_MS } from '../../shared/tables/buckets.ts';
import type { NewRowOf, Table } from '../../shared/tables/table.ts';
import { RowInserter } from './rowInserter.ts';

type Key<K> = readonly K[];
type HourRow<T extends Table> = NewRowOf<T> & { readonly hour_ms: number };

/** The columns `K` and hour_ms are the primary key. */
export class HourRows<T extends Table, K extends keyof NewRowOf<T> & string> {
  readonly #key: Key<K>;
  readonly #insert: RowInserter<T>;
  readonly #thin: Database.Statement<unknown[]>;
  readonly #waiting: HourRow<T>[] = [];
  /** The earliest hour of those that wait. */
  #waitingFromMs = Number.POSITIVE_INFINITY;

  constructor(db: Database.Database, table: T, key: Key<K>) {
    const { name } = table;
    this.#key = key;
    this.#insert = new RowInserter(db, table);
    const isSame = key.map((column) => `earlier.${column} = old.${column}`).join(' AND ');
    this.#thin = db.prepare(`
      DELETE FROM ${name} AS old WHERE ${key.map((column) => `${column} = ?`).join(' AND ')} AND hour_ms < ?
        AND (hour_ms < ? OR EXISTS (SELECT 1 FROM ${name} AS earlier WHERE ${isSame}
          AND earlier.hour_ms < old.hour_ms AND earlier.hour_ms >= old.hour_ms - old.hour_ms % ${DAY_MS}))`);
  }

  /** @param changedMs time of the previous change; 0 for the first */
  add(row: HourRow<T>, changedMs: number): void {
    assert(changedMs < row.hour_ms, 'hour rows: one for each hour');
    this.#waiting.push(row);
    this.#waitingFromMs = Math.min(this.#waitingFromMs, row.hour_ms);
    if (changedMs === 0 || changedMs >= bucketOf(row.hour_ms, HOURS_KEPT_MS)) return;
    const day = bucketOf(row.hour_ms, DAY_MS);
    const endMs = day - HOURS_KEPT_MS;
    if (this.#waitingFromMs < endMs) this.flush();
    this.#thin.run(...this.#key.map((column) => row[column]), endMs, day - DAYS_KEPT_MS);
  }

  /** In the order of the table, so that neighbours are written into a page one after the other. */
  flush(): void {
    for (const row of this.#waiting.sort((a, b) => this.#compare(a, b))) this.#insert.add(row);
    this.#waiting.length = 0;
    this.#insert.flush();
    this.#waitingFromMs = Number.POSITIVE_INFINITY;
  }

  #compare(a: HourRow<T>, b: HourRow<T>): number {
    for (const column of this.#key) if (a[column] !== b[column]) return Number(a[column]) - Number(b[column]);
    return a.hour_ms - b.hour_ms;
  }
}
