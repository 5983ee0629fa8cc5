/**
 * control.db in a cluster: changes of the leading member are records of the replicated log; a following member applies
 * them to its own file and reads the changed rows again.
 * Owner: the gateway thread.
 *
 *   leads     stores ──► file ──► log.put ──held──► the answers that waited
 *   follows   log ──► apply ──► file ──► reload of the stores whose rows are other ones
 *
 * Only the changed rows are read again: rows of large tables by their keys. Sums and counts are computed on demand;
 * `rebate_rates`, `session_keys` and `platform` have a few rows each and are read whole.
 *
 * Invariants:
 *   CONTROLRECORDS-1  After `apply` every reader of every store answers as it does on the member that made the record.
 *   CONTROLRECORDS-2  The leader answers a change only once the log holds it, so that a takeover keeps it.
 *   CONTROLRECORDS-3  While members of an older version may follow, a change that needs tables or columns unknown to
 *                     them is refused as a whole, and is in no record (RULES.md 18.15).
 */
import Sqlite from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { keepRowSums } from '../../shared/base/rowSums.ts';
import { ChangedRows, type TakenRows } from '../../shared/records/changedRows.ts';
import type { HeldLog } from '../../shared/records/heldLog.ts';
import { OlderTables } from '../../shared/records/olderTables.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { type FileRecord, RecordedFile } from '../../shared/records/recordedFile.ts';
import { copyControl } from './controlCopy.ts';
import { emptyControlDatabase, type openControlDatabase } from './database.ts';
import type { LaterSync } from './laterSync.ts';
import { AUDIT_SHARED } from './platform.ts';
import { isLocalRow, keptColumns, type RELOADED, storesOf } from './recordedTables.ts';

type Stores = { readonly [store in (typeof RELOADED)[number]]: { reload(changed: TakenRows): void } } & {
  readonly changes: Pick<LaterSync, 'write'>;
};

export class ControlRecords {
  /** The database as the stores see it. */
  readonly database: StoreDatabase;
  readonly #raw: ReturnType<typeof openControlDatabase>;
  readonly #file: RecordedFile;
  #changed: ChangedRows | null;
  #stores: Stores | null = null;
  #log: HeldLog | null = null;

  constructor(raw: ReturnType<typeof openControlDatabase>, isFollowing: boolean) {
    this.#raw = raw;
    this.#file = new RecordedFile({ database: raw, isFollowing, isLocal: isLocalRow });
    this.#changed = isFollowing ? new ChangedRows(raw, keptColumns()) : null;
    this.database = this.#file.database;
  }

  /** Called once, when the stores are open. */
  attach(stores: Stores): void {
    this.#stores = stores;
  }

  /** The last record in control.db; durable once `changes.durable` resolves. */
  get sequence(): number {
    return this.#file.sequence;
  }

  /** The last record of control.db that the log is known to hold. */
  get sharedSequence(): number {
    return this.#file.sharedSequence;
  }

  /**
   * From now on this member leads: puts the records that the log may lack into it, then each change.
   * @param layout the tables of this lead (FORMATS.control)
   */
  lead(log: HeldLog, layout: number): void {
    this.#changed?.stop();
    this.#changed = null;
    this.#log = log;
    const isOlder = layout < FORMATS.control.newest;
    this.#file.lead(log, isOlder ? new OlderTables(emptyControlDatabase(layout)) : null);
  }

  /** CONTROLRECORDS-1. Throws a RecordError if the record does not follow the last one here. */
  apply(record: FileRecord): void {
    const stores = this.#stores;
    assert(stores !== null && this.#log === null, 'CONTROLRECORDS-1: records are applied by a member that follows');
    const changed = this.#follow();
    stores.changes.write(() => this.#file.apply(record));
    const rows = changed.take();
    for (const store of storesOf(rows.tables)) stores[store].reload(rows);
  }

  /**
   * Copies the file as of one moment for a joining member. The copy leaves out what this member records only about its
   * own files, except the lines of the audit log that the log held. It is made a few pages at a time, and includes
   * changes made in the meantime.
   */
  async copyTo(path: string): Promise<void> {
    await copyControl(this.#raw, path);
    const copy = new Sqlite(path);
    try {
      keepRowSums(copy);
      const keys = copy.prepare<[], string>('SELECT key FROM platform').pluck().all();
      const forget = copy.prepare('DELETE FROM platform WHERE key = ?');
      for (const key of keys) if (key !== AUDIT_SHARED && isLocalRow('platform', key)) forget.run(key);
    } finally {
      copy.close();
    }
  }

  /** A member that has found an empty log may lead; if another member was first, it follows. */
  #follow(): ChangedRows {
    this.#file.follow();
    this.#changed ??= new ChangedRows(this.#raw, keptColumns());
    return this.#changed;
  }

  /** CONTROLRECORDS-2. True if the log holds every change so far. */
  get isHeld(): boolean {
    return this.#log === null || this.#log.held() >= this.#file.sequence;
  }

  held(): Promise<void> {
    return this.isHeld ? Promise.resolve() : this.#log!.whenHeld(this.#file.sequence);
  }
}
