/**
 * The journal as a shard's loop sees it: the file of one machine (journal.ts), or in a cluster that file and the
 * replicated log (replicatedJournal.ts).
 */
import type { JournalRecord, RecordVisitor } from './journalRecord.ts';
import type { JournalHead } from './row.ts';

/** The durable log of a shard. */
export type JournalStore = {
  /** The sequence number of the last committed or staged record, 0 if there is none. */
  readonly lastSequence: number;
  /** True while there are appended records that are not committed. */
  readonly isStaged: boolean;
  append(record: JournalRecord): void;
  /** Returns when all appended records are durable on this machine. */
  commit(): void;
  /**
   * The last record that no failure can take away: the last committed record, or in a cluster the last one that the
   * replicated log has too (replicatedJournal.ts).
   */
  readonly heldSequence: number;
  /** Hands over committed rows for which the other place had no room before. */
  handOver(): void;
  /** The end of the journal, between two batches. */
  readonly head: JournalHead;
  /** Visits every record after `after`; a view is valid until the visitor returns. */
  replay(after: JournalHead, visit: RecordVisitor): void;
  /** Housekeeping in a moment without commands: syncs the mark, copies the WAL. */
  idle(): void;
  /** Deletes the rows up to `sequence`, a limited number at a time. @returns true if some of the rows may remain. */
  trim(sequence: number): boolean;
  close(): void;
};

/** Gets each row before it is written here. The row's bytes are valid until the call returns. */
export type RowCopy = (sequence: number, bytes: Uint8Array) => void;
