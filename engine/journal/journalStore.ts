/**
 * The journal as a shard's loop sees it: the file of one machine (journal.ts), or in a cluster that file and the
 * replicated log (replicatedJournal.ts).
 */
import type { JournalRecord, RecordVisitor } from './journalRecord.ts';
import type { JournalHead } from './row.ts';

/** The durable log of a shard. */
export type JournalStore = {
  /** The last committed or staged sequence, 0 when there is none. */
  readonly lastSequence: number;
  /** True while records are appended that are not committed. */
  readonly isStaged: boolean;
  append(record: JournalRecord): void;
  /** Returns when all appended records are durable on this machine. */
  commit(): void;
  /**
   * The last record that no failure takes away any more: of the committed ones each, or in a cluster those that the
   * replicated log has as well (replicatedJournal.ts).
   */
  readonly heldSequence: number;
  /** Hands over committed rows that another place had no room for. */
  handOver(): void;
  /** The end of the journal, between two batches. */
  readonly head: JournalHead;
  /** Visits every record after `after`; a view is valid until the visitor returns. */
  replay(after: JournalHead, visit: RecordVisitor): void;
  /** Housekeeping for a moment without commands: syncs the mark, copies the WAL. */
  idle(): void;
  /** Deletes the rows up to `sequence`, a limited number at a time. @returns whether some of them may be left. */
  trim(sequence: number): boolean;
  close(): void;
};

/** Gets each row before it is written here. Its bytes are valid until it returns. */
export type RowCopy = (sequence: number, bytes: Uint8Array) => void;
