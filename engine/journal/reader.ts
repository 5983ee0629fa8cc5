/**
 * Reads a journal while its shard writes it: for the projector, the snapshot maker and the operator's tools. Every row
 * is checked by its checksum, its chain value and its tag.
 *
 * Reads are limited in records and end with a whole row: the one that reaches the limit.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { BUSY_TIMEOUT_MS, located, requireSqlite } from './file.ts';
import type { RecordVisitor } from './journalRecord.ts';
import { firstSequenceOf, JournalError, JournalHead, type Row } from './row.ts';
import { RowReader } from './rowReader.ts';
import type { ShardKey } from './shardKey.ts';

/** Records that `visitWhole` reads at a time. */
const WHOLE_ROWS = 1000;

/** Records from one sequence to another, both included. */
export type SequenceRange = { readonly from: number; readonly to: number };

/** Where a reader has its rows from, unchecked. */
export type RowSource = {
  /** The path of the file, for errors. */
  readonly name: string;
  facts(): StoredFacts;
  /** From the row with one record to the row with another, or to the end. */
  rows(from: number, to: number): Row[];
  close(): void;
};

/** The facts in the `meta` table of a file, absent where they are lost, and the range of its rows. */
export type StoredFacts = {
  readonly layoutVersion?: number | undefined;
  readonly shard?: number | undefined;
  readonly shards?: number | undefined;
  readonly oldestRow: number | null;
  readonly lastSequence: number;
};

/** The rows as SQLite has them. Reads are short: an open read keeps checkpoints from copying the whole WAL. */
class StoredRows implements RowSource {
  readonly #db: Database.Database;
  readonly #rows: Database.Statement<[number, number, number], Row>;

  constructor(path: string) {
    this.#db = openDatabase(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      requireSqlite(this.#db);
      this.#rows = this.#db.prepare(
        `SELECT sequence, bytes FROM journal
         WHERE sequence >= ? AND sequence <= ifnull((SELECT min(sequence) FROM journal WHERE sequence >= ?), ?)
         ORDER BY sequence`,
      );
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  get name(): string {
    return this.#db.name;
  }

  facts(): StoredFacts {
    const stored = prepared<[], StoredFacts>(
      this.#db,
      `SELECT layout_version AS layoutVersion, shard, shards,
           (SELECT min(sequence) FROM journal) AS oldestRow,
           ifnull((SELECT max(sequence) FROM journal), 0) AS lastSequence
         FROM meta`,
    ).get();
    if (stored === undefined) throw new JournalError('does not say which shard it belongs to');
    return stored;
  }

  rows(from: number, to: number): Row[] {
    return this.#rows.all(from, to, Number.MAX_SAFE_INTEGER);
  }

  close(): void {
    this.#db.close();
  }
}

export class JournalReader {
  readonly #source: RowSource;
  readonly #reader: RowReader;

  /** @param source other than SQLite: what is left in a damaged file (salvagedRows.ts). */
  constructor(path: string, key: ShardKey, source: RowSource = new StoredRows(path)) {
    this.#source = source;
    this.#reader = new RowReader(path, key);
  }

  /** The facts that the file has of itself, and the range of its rows, unchecked. */
  facts(): JournalFacts {
    const { oldestRow, ...facts } = this.#source.facts();
    return { ...facts, firstSequence: oldestRow === null ? 1 : this.#startOfOldest(oldestRow) };
  }

  /** The head before the row that begins with a record, as the row itself claims it. */
  headBefore(sequence: number): JournalHead {
    if (sequence === 1) return new JournalHead(0, 0, 0);
    return this.#reader.headBefore(this.#read(sequence, 1)[0], sequence);
  }

  /** The head after the row that ends with a record. */
  headAfter(sequence: number): JournalHead {
    const row = this.#read(sequence, 1)[0];
    if (row?.sequence !== sequence) throw new JournalError(`sequence ${sequence}: no row ends with it`);
    return this.#reader.headAfter(row);
  }

  /** The first record of the row with a record, as the row itself claims it. */
  startOfRow(sequence: number): number {
    const row = this.#read(sequence, 1)[0];
    return row === undefined ? sequence : firstSequenceOf(row);
  }

  /**
   * Visits the next `limit` records after `head` and the rest of the row of the last one, and moves `head` with them.
   * The read ends before the first visit. @returns the number of records.
   */
  readFrom(head: JournalHead, limit: number, visit: RecordVisitor): number {
    assert(limit > 0, 'journal reader: a read has a bound');
    const before = head.sequence;
    const rows = this.#read(before + 1, limit);
    for (const row of rows) {
      this.#reader.load(row, head);
      this.#reader.show(visit);
    }
    const last = rows.at(-1);
    assert(last === undefined || head.sequence === last.sequence, 'ROW-3: the head stands after the last row');
    return head.sequence - before;
  }

  /** The rows of the next `limit` records as they are, checked; `head` moves with them. */
  copiesFrom(head: JournalHead, limit: number): Row[] {
    const rows = this.#read(head.sequence + 1, limit);
    for (const row of rows) this.#reader.load(row, head);
    return rows;
  }

  /**
   * Visits the records of a range whose rows are whole by themselves, whatever is damaged or missing between them.
   * @returns their sequences, as ranges without a gap.
   */
  visitWhole({ from, to }: SequenceRange, visit: RecordVisitor): SequenceRange[] {
    const ranges: { from: number; to: number }[] = [];
    for (let next = from; next <= to; ) {
      const rows = this.#read(next, Math.min(WHOLE_ROWS, to - next + 1));
      if (rows.length === 0) break;
      for (const row of rows) {
        if (!this.#isWhole(row)) continue;
        this.#reader.show((record) => {
          if (record.sequence < from || record.sequence > to) return;
          visit(record);
          const last = ranges.at(-1);
          if (last?.to === record.sequence - 1) last.to = record.sequence;
          else ranges.push({ from: record.sequence, to: record.sequence });
        });
      }
      next = rows.at(-1)!.sequence + 1;
    }
    return ranges;
  }

  /** True if the journal continues at `head` with the same history before it. Older rows may be trimmed. */
  continues(head: JournalHead): boolean {
    const row = this.#read(head.sequence, 1)[0];
    if (row?.sequence === head.sequence) return this.#reader.headAfter(row).equals(head);
    const first = this.facts().firstSequence;
    return first === head.sequence + 1 && this.headBefore(first).equals(head);
  }

  close(): void {
    this.#source.close();
  }

  #isWhole(row: Row): boolean {
    try {
      this.#reader.headAfter(row);
      return true;
    } catch (error) {
      if (error instanceof JournalError) return false;
      throw error;
    }
  }

  /** Its last record where its pages cannot be read: what is wrong with it is found out by who reads it. */
  #startOfOldest(sequence: number): number {
    try {
      return this.startOfRow(sequence);
    } catch {
      return sequence;
    }
  }

  /** The rows of `limit` records from a sequence on. An error names the journal: callers have other databases, too. */
  #read(sequence: number, limit: number): Row[] {
    try {
      return this.#source.rows(sequence, sequence + limit - 1);
    } catch (error) {
      throw located(error, this.#source.name);
    }
  }
}

type JournalFacts = Omit<StoredFacts, 'oldestRow'> & {
  /** 1 when there are no rows, and then `lastSequence` is 0. */
  readonly firstSequence: number;
};
