/**
 * A journal beside the shard that writes it: the projector, the snapshot maker and the operator's tools read so.
 * Nothing is written here, and nothing is believed that its checksum and chain do not say.
 */
import Database from 'better-sqlite3';
import { BUSY_TIMEOUT_MS, requireSqlite } from './journalFile.ts';
import { JournalError, JournalHead, type JournalVisitor, type Row, RowReader } from './journalRow.ts';

/** A read-only view of a journal its shard is writing. Reads are short: an open one keeps checkpoints from ending. */
export class JournalReader {
  readonly #db: Database.Database;
  readonly #rows: Database.Statement<[number, number], Row>;
  readonly #reader: RowReader;

  constructor(path: string) {
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
    this.#reader = new RowReader(path);
  }

  /** What the file says of itself, unchecked. */
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

  /** The place in front of a row: its link to the row before it is taken on trust. */
  headBefore(sequence: number): JournalHead {
    if (sequence === 1) return new JournalHead(0, 0, 0);
    return this.#reader.headBefore(this.#rows.get(sequence, 1), sequence);
  }

  /**
   * Visits at most `limit` rows behind `head`, which moves along; the read is over before the first visit.
   * @returns how many rows there were.
   */
  readFrom(head: JournalHead, limit: number, visit: JournalVisitor): number {
    const rows = this.#rows.all(head.sequence + 1, limit);
    for (const row of rows) {
      this.#reader.load(row, head);
      this.#reader.show(visit);
    }
    return rows.length;
  }

  /** Whether the journal goes on where `head` stands, with the same history before it; rows behind may be trimmed. */
  continues(head: JournalHead): boolean {
    const row = this.#rows.get(head.sequence, 1);
    if (row?.sequence === head.sequence) return this.#reader.headAfter(row).equals(head);
    const first = this.facts().firstSequence;
    return first === head.sequence + 1 && this.headBefore(first).equals(head);
  }

  close(): void {
    this.#db.close();
  }
}

export type JournalFacts = {
  readonly layoutVersion: number;
  readonly shard: number;
  readonly shards: number;
  /** 1 when there are no rows, and then `lastSequence` is 0. */
  readonly firstSequence: number;
  readonly lastSequence: number;
};
