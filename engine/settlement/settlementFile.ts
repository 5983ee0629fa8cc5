/**
 * settlement.db: the file of a single process or, in a cluster, a stream of the replicated log, with an equal copy on
 * each member. Owner: the settlement thread.
 *
 *   alone     transaction ──► COMMIT ──► chain
 *   leads     transaction ──► record ──► log ──held──► COMMIT ──► chain
 *   follows   log ──► record ──► the same rows; nothing is signed, nothing is sent
 *
 * Invariants:
 *   SETTLEFILE-1  The log holds whatever the leader's file has: a nonce is reserved, bytes are signed and a mark is
 *                 handed out only once they would survive a takeover. The thread blocks until the log holds its record.
 *   SETTLEFILE-2  Rows that follow from journals are derived, not copied: their record has the shard, the journal's
 *                 record up to which it was followed, and the time. Every member has the same journals and makes the
 *                 same rows.
 *   SETTLEFILE-3  A time in a derived row is the one in the record.
 *   SETTLEFILE-4  While members of an older version may follow, no record uses tables or columns that they lack, and a
 *                 transaction that needs these is not made (RULES.md 18.15).
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import type { SqlValue } from '../../shared/records/bytes.ts';
import { OlderTables } from '../../shared/records/olderTables.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { derivedValues, type FileRecord, RecordedFile } from '../../shared/records/recordedFile.ts';
import { NOT_KNOWN, type Progress } from '../../shared/wire/progress.ts';
import { type Replication, STREAM } from '../../shared/wire/replication.ts';
import { isLocalTable, mayDerive } from './recordedTables.ts';
import { emptySettlementDb } from './settlementDb.ts';

type SettlementFileOptions = {
  readonly db: Database.Database;
  /** Null without a cluster. A member of a cluster follows until it leads. */
  readonly memory: Pick<Replication, 'held' | 'state' | 'bell' | 'waitForBell'> | null;
  readonly nowMs: () => number;
  /** Called now and then while the thread is blocked inside a transaction (SETTLEFILE-1). */
  readonly onWaiting?: () => void;
};

/** Makes the rows that follow from the journal of a shard up to a record. */
type Derive = (shard: number, sequence: number) => void;

/** Time between two checks of the log's state. */
const LOOK_MS = 1000;

export class SettlementFile {
  readonly database: StoreDatabase;
  readonly #options: SettlementFileOptions;
  readonly #recorded: RecordedFile | null;
  #derive: Derive = () => assert(false, 'SETTLEFILE-2: the follower is attached first');
  #derivedMs: number | null = null;

  constructor(options: SettlementFileOptions) {
    const { db: database, memory } = options;
    this.#options = options;
    this.#recorded =
      memory === null
        ? null
        : new RecordedFile({
            ...{ database, isFollowing: true, isLocal: isLocalTable, mayDerive },
            derive: (values) => this.#deriveFrom(values),
          });
    this.database = this.#recorded?.database ?? database;
  }

  /** SETTLEFILE-3. The clock for everything that settlement writes. */
  readonly nowMs = (): number => this.#derivedMs ?? this.#options.nowMs();

  attach(derive: Derive): void {
    this.#derive = derive;
  }

  get isFollowing(): boolean {
    return this.#recorded?.isFollowing === true;
  }

  /** The last record that the file holds durably; 0 without a cluster. */
  get sequence(): number {
    return this.#recorded?.sequence ?? 0;
  }

  /** SETTLEFILE-2. Follows the journal of a shard up to this record, as one durable step. */
  follow(shard: number, sequence: number): void {
    if (this.#recorded !== null) this.#recorded.derive([shard, sequence, this.#options.nowMs()]);
    else this.database.transaction(() => this.#derive(shard, sequence))();
  }

  /**
   * Applies a record of the leader.
   * @returns false while a journal of this machine is behind the record
   */
  apply(record: FileRecord, progress: Pick<Progress, 'committed'>): boolean {
    if (record.sequence > this.sequence) {
      for (const values of derivedValues(record)) {
        const [shard, sequence] = values.map(Number);
        const committed = progress.committed(shard);
        if (committed === NOT_KNOWN || committed < sequence) return false;
      }
    }
    this.#recorded!.apply(record);
    return true;
  }

  /**
   * From now on this member leads.
   *
   * @param put appends a record to the log
   * @param last the last record given to the log by an earlier thread: the file may not have it
   * @param layout the tables of this lead (FORMATS.settlement)
   */
  lead(put: (record: FileRecord) => void, last: FileRecord | null, layout: number): void {
    const recorded = this.#recorded!;
    if (last !== null && last.sequence > recorded.sequence) {
      this.#awaitHeld(last);
      recorded.apply(last);
    }
    const isOlder = layout < FORMATS.settlement.newest;
    recorded.leadHeld(
      (record) => {
        put(record);
        this.#awaitHeld(record);
      },
      isOlder ? new OlderTables(emptySettlementDb(layout)) : null,
    );
  }

  /** Keeps SETTLEFILE-1: blocks the thread, inside the transaction. */
  #awaitHeld({ sequence }: FileRecord): void {
    const memory = this.#options.memory!;
    for (;;) {
      const bell = memory.bell();
      if (memory.held(STREAM.SETTLEMENT) >= sequence) return;
      if (memory.state() === 'lost') throw new Error('another member leads: nothing is settled by this one any more');
      memory.waitForBell(bell, LOOK_MS);
      this.#options.onWaiting?.();
    }
  }

  #deriveFrom(values: readonly SqlValue[]): void {
    const [shard, sequence, atMs] = values.map(Number);
    this.#derivedMs = atMs;
    try {
      this.#derive(shard, sequence);
    } finally {
      this.#derivedMs = null;
    }
  }
}
