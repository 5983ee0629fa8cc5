/**
 * News for the gateway (shared/wire/chainQuestions.ts, NEWS-1 and -2): rows that are written in the transaction of the
 * change that they report, and sent until the gateway acknowledges them. Only the oldest of each kind is in flight.
 */
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainNews, NewsKind, NewsOf } from '../../shared/wire/chainQuestions.ts';

/** The gateway may have been starting, or may have failed to process it. */
const REPEAT_MS = 2000;

type Row = { readonly number: number; readonly kind: NewsKind; readonly facts: string };

export class News {
  readonly #db: StoreDatabase;
  readonly #nowMs: () => number;
  /** By kind: the last news that was sent, and its time. */
  readonly #sent = new Map<NewsKind, { readonly number: number; readonly atMs: number }>();

  constructor(db: StoreDatabase, nowMs: () => number) {
    this.#db = db;
    this.#nowMs = nowMs;
  }

  /** Called inside the transaction of the change that it reports. */
  add<K extends NewsKind>(kind: K, facts: ChainNews[K]): void {
    prepared(this.#db, 'INSERT INTO news (kind, facts) VALUES (?, ?)').run(kind, JSON.stringify(facts));
  }

  /** Returns the news that are due to be sent. */
  due(): NewsOf[] {
    const nowMs = this.#nowMs();
    const due = [...this.#oldest()].filter(({ number, kind }) => {
      const last = this.#sent.get(kind);
      return last?.number !== number || nowMs - last.atMs >= REPEAT_MS;
    });
    for (const { number, kind } of due) this.#sent.set(kind, { number, atMs: nowMs });
    return due.map(({ number, kind, facts }) => ({ number, kind, facts: JSON.parse(facts) }));
  }

  /** Finds the oldest of each kind with one index step per kind: thousands may wait. */
  *#oldest(): Generator<Row> {
    const sql = 'SELECT number, kind, facts FROM news WHERE kind > ? ORDER BY kind, number LIMIT 1';
    const next = prepared<[string], Row>(this.#db, sql);
    for (let row = next.get(''); row !== undefined; row = next.get(row.kind)) yield row;
  }

  count(kind: NewsKind): number {
    return preparedValue<[string], number>(this.#db, 'SELECT count(*) FROM news WHERE kind = ?').get(kind)!;
  }

  acknowledge(number: number): void {
    prepared(this.#db, 'DELETE FROM news WHERE number = ?').run(number);
  }
}
