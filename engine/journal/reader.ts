/**
 * Reads a journal while its shard writes it: for the projector, the snapshot maker and the operator's tools. Every row
 * is checked by its checksum, its chain value and its tag.
 */
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { BUSY_TIMEOUT_MS, located, requireSqlite } from './file.ts';
import { JournalError, JournalHead, type Row, RowReader } from './row.ts';
import type { RowVisitor } from './rowView.ts';
import type { ShardKey } from './shardKey.ts';

/** Reads are short, because an open read keeps checkpoints from copying the whole WAL. */
export class JournalReader {
  readonly #db: Database.Database;
  readonly #rows: Database.Statement<[number, number], Row>;
  readonly #reader: RowReader;

  constructor(path: string, key: ShardKey) {
    this.#db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      requireSqlite(this.#db);
      this.#rows = this.#db.prepare(
        'SELECT sequence, bytes FROM journal WHERE sequence >= ? ORDER BY sequence LIMIT ?',
      );
    } catch (error) {
      this.#db.close();
      throw error;
    }
    this.#reader = new RowReader(path, key);
  }

  /** The facts in the file's `meta` table and the range of its rows, unchecked. */
  facts(): JournalFacts {
    const facts = this.#db
      .prepare<[], JournalFacts>(
        `SELECT layout_version AS layoutVersion, shard, shards,
           ifnull((SELECT min(sequence) FROM journal), 1) AS firstSequence,
           ifnull((SELECT max(sequence) FROM journal), 0) AS lastSequence
         FROM meta`,
      )
      .get();
    if (facts === undefined) throw new JournalError('does not say which shard it belongs to');
    return facts;
  }

  /** The head before a row, as the row itself claims it. */
  headBefore(sequence: number): JournalHead {
    if (sequence === 1) return new JournalHead(0, 0, 0);
    return this.#reader.headBefore(this.#read(sequence, 1)[0], sequence);
  }

  /**
   * Visits at most `limit` rows after `head`, and moves `head` with them. The read ends before the first visit.
   * @returns the number of rows.
   */
  readFrom(head: JournalHead, limit: number, visit: RowVisitor): number {
    assert(limit > 0, 'journal reader: a read has a bound');
    const rows = this.#read(head.sequence + 1, limit);
    for (const row of rows) {
      this.#reader.load(row, head);
      this.#reader.show(visit);
    }
    const last = rows.at(-1);
    assert(last === undefined || head.sequence === last.sequence, 'ROW-3: the head stands after the last row');
    return rows.length;
  }

  /** The next rows as they are, checked; `head` moves with them. */
  copiesFrom(head: JournalHead, limit: number): Row[] {
    const rows = this.#read(head.sequence + 1, limit);
    for (const row of rows) this.#reader.load(row, head);
    return rows;
  }

  /** True if the journal continues at `head` with the same history before it. Older rows may be trimmed. */
  continues(head: JournalHead): boolean {
    const row = this.#read(head.sequence, 1)[0];
    if (row?.sequence === head.sequence) return this.#reader.headAfter(row).equals(head);
    const first = this.facts().firstSequence;
    return first === head.sequence + 1 && this.headBefore(first).equals(head);
  }

  close(): void {
    this.#db.close();
  }

  /** An error names the journal: callers have databases of their own. */
  #read(sequence: number, limit: number): Row[] {
    try {
      return this.#rows.all(sequence, limit);
    } catch (error) {
      throw located(error, this.#db.name);
    }
  }
}

type JournalFacts = {
  readonly layoutVersion: number;
  readonly shard: number;
  readonly shards: number;
  /** 1 when there are no rows, and then `lastSequence` is 0. */
  readonly firstSequence: number;
  readonly lastSequence: number;
};
