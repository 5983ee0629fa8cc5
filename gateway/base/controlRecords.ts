/**
 * control.db in a cluster: the changes of the member that leads are records of the replicated log, and a member that
 * follows makes them too and reads what they changed again.
 * Owner: the gateway thread.
 *
 *   leads     stores ──► file ──► log.put ──held──► the answers that waited
 *   follows   log ──► apply ──► file ──► reload of the stores whose rows are other ones
 *
 * Reading again costs what a record changed: rows of large tables are read by their keys. Sums and counts are made when
 * they are asked for; `rebate_rates`, `session_keys` and `platform` are read whole, which have a few rows each.
 *
 * Invariants:
 *   CONTROLRECORDS-1  After `apply` every reader of every store answers as it did where the record was made.
 *   CONTROLRECORDS-2  Who leads answers a change once the log holds it: not before a takeover would keep it.
 *   CONTROLRECORDS-3  While members of an older version may follow, a change that needs tables or columns which they do
 *                     not have is refused, whole, and in no record (RULES.md 18.15).
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
  /** For the stores. */
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

  /** The last record that control.db contains; durable once `changes.durable` says so. */
  get sequence(): number {
    return this.#file.sequence;
  }

  /** The last record of the log that control.db contains, as far as that is known. */
  get sharedSequence(): number {
    return this.#file.sharedSequence;
  }

  /**
   * From now on this member leads: what the log may not have is put into it, then each change.
   * @param layout the tables of this lead (FORMATS.control)
   */
  lead(log: HeldLog, layout: number): void {
    this.#changed?.stop();
    this.#changed = null;
    this.#log = log;
    const isOlder = layout < FORMATS.control.newest;
    this.#file.lead(log, isOlder ? new OlderTables(emptyControlDatabase(layout)) : null);
  }

  /** CONTROLRECORDS-1. Throws a RecordError for a record that does not follow from what is here. */
  apply(record: FileRecord): void {
    const stores = this.#stores;
    assert(stores !== null && this.#log === null, 'CONTROLRECORDS-1: records are applied by a member that follows');
    const changed = this.#follow();
    stores.changes.write(() => this.#file.apply(record));
    const rows = changed.take();
    for (const store of storesOf(rows.tables)) stores[store].reload(rows);
  }

  /**
   * A copy for a member that joins, as the file is at one moment: without what only this member knows of its own files,
   * but for the lines of the audit log that the log held. It is made a few pages at a time, and has changes meanwhile.
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

  /** A member that has found an empty log may lead; it follows if another member was first. */
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
