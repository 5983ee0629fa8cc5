/**
 * Reads a journal while its shard writes it: for the projector, the snapshot maker and the operator's tools. Every row
 * is checked by its checksum, its chain value and its tag.
 *
 * A read has a limit of records; it ends with the whole row that reaches the limit.
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

/** Records from one sequence number to another, both included. */
export type SequenceRange = { readonly from: number; readonly to: number };

/** A source of rows, which it does not check. */
export type RowSource = {
  /** The path of the file, for error messages. */
  readonly name: string;
  facts(): StoredFacts;
  /** Returns the rows from the row with one record to the row with another, or to the end. */
  rows(from: number, to: number): Row[];
  close(): void;
};

/** The facts in the `meta` table of a file, absent if they are lost, and the range of its rows. */
export type StoredFacts = {
  readonly layoutVersion?: number | undefined;
  readonly shard?: number | undefined;
  readonly shards?: number | undefined;
  readonly oldestRow: number | null;
  readonly lastSequence: number;
};

/** Rows as SQLite returns them. Reads are short, because an open read keeps checkpoints from copying the whole WAL. */
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

  /** @param source a source other than SQLite: the rows left in a damaged file (salvagedRows.ts). */
  constructor(path: string, key: ShardKey, source: RowSource = new StoredRows(path)) {
    this.#source = source;
    this.#reader = new RowReader(path, key);
  }

  /** Returns the facts that the file states about itself, and the range of its rows, unchecked. */
  facts(): JournalFacts {
    const { oldestRow, ...facts } = this.#source.facts();
    return { ...facts, firstSequence: oldestRow === null ? 1 : this.#startOfOldest(oldestRow) };
  }

  /** Returns the head before the row that begins with a record, as the row itself claims. */
  headBefore(sequence: number): JournalHead {
    if (sequence === 1) return new JournalHead(0, 0, 0);
    return this.#reader.headBefore(this.#read(sequence, 1)[0], sequence);
  }

  /** Returns the head after the row that ends with a record. */
  headAfter(sequence: number): JournalHead {
    const row = this.#read(sequence, 1)[0];
    if (row?.sequence !== sequence) throw new JournalError(`sequence ${sequence}: no row ends with it`);
    return this.#reader.headAfter(row);
  }

  /** Returns the first record of the row that contains a record, as the row itself claims. */
  startOfRow(sequence: number): number {
    const row = this.#read(sequence, 1)[0];
    return row === undefined ? sequence : firstSequenceOf(row);
  }

  /**
   * Visits the next `limit` records after `head`, and the rest of the last record's row, and moves `head` past them.
   * The database read ends before the first visit.
   * @returns the number of records.
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

  /** Returns the rows of the next `limit` records unchanged, after checking them, and moves `head` past them. */
  copiesFrom(head: JournalHead, limit: number): Row[] {
    const rows = this.#read(head.sequence + 1, limit);
    for (const row of rows) this.#reader.load(row, head);
    return rows;
  }

  /**
   * Visits the records in a range whose rows are intact by themselves, whatever is damaged or missing between them.
   * @returns their sequence numbers, as ranges without gaps.
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

  /**
   * Returns true if the journal continues at `head` with the same history before it. Older rows may have been trimmed.
   */
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

  /** Returns `sequence` if the row's pages cannot be read: the next read of the row then finds the damage. */
  #startOfOldest(sequence: number): number {
    try {
      return this.startOfRow(sequence);
    } catch {
      return sequence;
    }
  }

  /**
   * Reads the rows of `limit` records from a sequence number on. Errors name the journal, because callers have other
   * databases too.
   */
  #read(sequence: number, limit: number): Row[] {
    try {
      return this.#source.rows(sequence, sequence + limit - 1);
    } catch (error) {
      throw located(error, this.#source.name);
    }
  }
}

type JournalFacts = Omit<StoredFacts, 'oldestRow'> & {
  /** 1 if there are no rows; then `lastSequence` is 0. */
  readonly firstSequence: number;
};
