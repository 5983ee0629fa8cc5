/**
 * Moves orders that never filled out of read.db, some days after their end, into files that are not changed any more
 * (shared/tables/orderArchive.ts). Owner: the projector thread; each step takes some tens of milliseconds.
 *
 *   copy ──► pack ──► seal: sync, hash, name ──► compare with read.db ──► list ──► leave: the orders go from read.db
 *
 * Nothing is kept of a file that was not listed: after an end of the thread in one of the first four steps its orders
 * are copied again. The last step goes on where it was.
 *
 * Invariants:
 *   ORDERARCHIVE-1  An order leaves `orders` only for a file that is on the disk under the hash of its bytes, and was
 *                   compared with `orders` value by value.
 *   ORDERARCHIVE-2  An order leaves `orders` in the transaction in which archived_accounts counts it.
 *   ORDERARCHIVE-3  Of the orders up to the cursor, each that has ended without a fill is in a file or in archive_late.
 *   ORDERARCHIVE-4  A file that is not listed is removed only by a projector that has followed all journals: everything
 *                   in it is in read.db.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import {
  ARCHIVE_CURSOR,
  ARCHIVED_ACCOUNTS,
  ARCHIVED_FILES,
  archiveFileName,
  archiveFolder,
  PACKED_NAME,
  PART_NAME,
} from '../../shared/tables/orderArchive.ts';
import type { Order } from '../../shared/tables/orderBlocks.ts';
import { NEVER_FILLED, ORDERS } from '../../shared/tables/orders.ts';
import { insert, type NewRowOf, type RowOf } from '../../shared/tables/table.ts';
import { archiveFiles, hashOf, tablesOf } from './archiveFiles.ts';
import { packOrders } from './archivePacking.ts';
import { syncFile } from './databaseCopy.ts';
import { givePagesBack } from './freePages.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';

export type ArchivePace = {
  /** The time for which an order stays in read.db after its end, at least. */
  readonly keptMs: number;
  /** Orders that were placed in one such span of time share a file. */
  readonly spanMs: number;
  /** The orders of a file, approximately. */
  readonly fileOrders: number;
  /** The orders of a block. With fewer a file is larger; with more a list decodes more orders that it does not need. */
  readonly blockOrders: number;
  /** The orders of a step. */
  readonly stepOrders: number;
};

export const USUAL_PACE = { spanMs: 86_400_000, fileOrders: 100_000, blockOrders: 128, stepOrders: 1000 } as const;

type Span = { readonly from: Uint8Array; readonly to: Uint8Array; readonly cutoffMs: number };
type Left = { readonly account: number; readonly id: Uint8Array };
type Leaving = Left & { readonly status: number; readonly updated_ms: number };
type AccountRow = NewRowOf<typeof ARCHIVED_ACCOUNTS>;

/** A file is not as it has to be; read.db is. */
class ArchiveError extends Error {}

const NO_ID = new Uint8Array(0);
const COLUMNS = Object.keys(ORDERS.columns);
/** Of a table of a file. */
const ALL = `SELECT ${COLUMNS.join(', ')} FROM orders`;
const LEAVING = `
  SELECT account, id, status, updated_ms FROM orders INDEXED BY orders_created
  WHERE (account, id) > (?, ?) ORDER BY account, id`;
const OF_ORDERS = COLUMNS.map((column) => `orders.${column}`).join(', ');
const SAME = COLUMNS.map((column) => `${column} IS @${column}`).join(' AND ');
const IN_SPAN = 'orders.id > @from AND orders.id <= @to';
/** Those of an earlier try are there already. */
const COPY = `INSERT OR IGNORE INTO archive.orders (${COLUMNS.join(', ')}) SELECT ${OF_ORDERS}`;
const SQL = {
  attach: 'ATTACH ? AS archive',
  copy: `${COPY} FROM orders WHERE ${IN_SPAN} AND ${NEVER_FILLED} AND updated_ms < @cutoffMs`,
  copyLate: `${COPY} FROM archive_late CROSS JOIN orders USING (id) WHERE ${IN_SPAN} AND ended_ms < @cutoffMs`,
  leaveLate: `
    INSERT OR IGNORE INTO archive_late SELECT id, updated_ms FROM orders
    WHERE ${IN_SPAN} AND ${NEVER_FILLED} AND updated_ms >= @cutoffMs`,
  late: 'INSERT OR IGNORE INTO archive_late (id, ended_ms) VALUES (?, ?)',
  isLateDue: 'SELECT EXISTS (SELECT 1 FROM archive_late WHERE ended_ms < ?)',
  endOfStep: 'SELECT id FROM orders WHERE id > ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?',
  endOfLateStep: 'SELECT id FROM archive_late WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
  next: 'SELECT min(id) FROM orders WHERE id > ?',
  ids: 'SELECT min(id) AS first_id, max(id) AS last_id, count(*) AS orders FROM archive.orders',
  same: `SELECT count(*) FROM orders WHERE id = @id AND ${SAME}`,
  remove: 'DELETE FROM orders WHERE id = ?',
  removeLate: 'DELETE FROM archive_late WHERE id = ?',
  count: `${insert(ARCHIVED_ACCOUNTS)} ON CONFLICT (account, file) DO UPDATE SET
    cancelled = cancelled + excluded.cancelled, expired = expired + excluded.expired,
    last_id = excluded.last_id, last_ms = max(last_ms, excluded.last_ms)`,
  list: insert(ARCHIVED_FILES),
  left: 'UPDATE archived_files SET left_account = ?, left_id = ? WHERE file = ?',
  unfinished: 'SELECT * FROM archived_files WHERE left_account IS NOT NULL',
  files: 'SELECT file FROM archived_files',
  cursor: 'SELECT through_id FROM archive_cursor',
  moveCursor: insert(ARCHIVE_CURSOR, 'OR REPLACE'),
} as const;

export class OrderArchive {
  readonly #db: Database.Database;
  readonly #folder: string;
  /** The id up to which orders were copied or passed over: the cursor, or ahead of it. */
  #passed: Uint8Array;
  #steps: Generator<void, void> | null = null;
  #isAttached = false;
  /** Everything that ended before it is archived; 0: unknown. */
  #doneToMs = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#folder = archiveFolder(db.name);
    this.#passed = this.#cursor();
  }

  /** Keeps ORDERARCHIVE-3 for an order that has just closed. */
  closed({ id, quantityLots, remainingLots }: OpenOrder, { timeMs }: RecordContext): void {
    if (quantityLots !== remainingLots || Buffer.compare(id, this.#passed) > 0) return;
    prepared(this.#db, SQL.late).run(id, timeMs);
  }

  /**
   * Called between transactions, while all committed records are followed or nearly.
   * @param nowMs the time of the last record
   * @returns false if there is nothing to do before a later time
   */
  step(nowMs: number, pace: ArchivePace): boolean {
    if (this.#steps === null && givePagesBack(this.#db)) return true;
    try {
      this.#steps ??= this.#next(nowMs, pace);
      if (this.#steps === null) return false;
      if (this.#steps.next().done === true) this.#steps = null;
      return true;
    } catch (error) {
      this.#steps = null;
      if (this.#isAttached) this.#detach();
      throw error;
    }
  }

  /** Ends the step that is under way. */
  close(): void {
    this.#steps?.return();
  }

  #next(nowMs: number, pace: ArchivePace): Generator<void, void> | null {
    const cutoffMs = spanStart(nowMs - pace.keptMs, pace.spanMs);
    if (cutoffMs <= this.#doneToMs) return null;
    const unfinished = prepared<[], RowOf<typeof ARCHIVED_FILES>>(this.#db, SQL.unfinished).get();
    if (unfinished !== undefined) return this.#leave(unfinished, pace);
    const from = this.#cursor();
    const next = preparedValue<[Uint8Array], Uint8Array | null>(this.#db, SQL.next).get(from) ?? null;
    const endMs = next === null ? cutoffMs + 1 : spanStart(timeOf(next), pace.spanMs) + pace.spanMs;
    if (endMs <= cutoffMs) return this.#file({ from, to: firstIdAt(endMs), cutoffMs }, pace);
    if (preparedValue<[number], number>(this.#db, SQL.isLateDue).get(cutoffMs) === 1) {
      return this.#file({ from, to: from, cutoffMs }, pace);
    }
    this.#doneToMs = cutoffMs;
    return null;
  }

  *#file(span: Span, pace: ArchivePace): Generator<void, void> {
    this.#removeUnlisted();
    const through = yield* this.#copy(span, pace);
    const { first_id, last_id, orders } = prepared<[], { first_id: Uint8Array; last_id: Uint8Array; orders: number }>(
      this.#db,
      SQL.ids,
    ).get()!;
    if (orders > 0) yield* packOrders(this.#db, join(this.#folder, PACKED_NAME), pace);
    this.#detach();
    rmSync(join(this.#folder, PART_NAME));
    if (orders === 0) {
      prepared(this.#db, SQL.moveCursor).run({ one: 1, through_id: through });
      return;
    }
    const { file, sha256 } = this.#seal();
    yield;
    yield* this.#compare({ file, sha256 }, orders, pace);
    const listed = { file, sha256, orders, first_id, last_id, left_account: -1, left_id: NO_ID };
    this.#db
      .transaction(() => {
        prepared(this.#db, SQL.list).run(listed);
        prepared(this.#db, SQL.moveCursor).run({ one: 1, through_id: through });
      })
      .immediate();
    yield;
    yield* this.#leave(listed, pace);
  }

  /** @returns the id up to which orders were copied or passed over */
  *#copy({ from, to: end, cutoffMs }: Span, { fileOrders, stepOrders }: ArchivePace): Generator<void, Uint8Array> {
    const db = this.#db;
    const part = join(this.#folder, PART_NAME);
    const made = new Database(part);
    made.exec(ORDERS.schema);
    made.close();
    this.#attach(part);
    // Without a listing the file is worth nothing, and before it is listed it is synced as a whole.
    db.exec('PRAGMA archive.journal_mode = OFF; PRAGMA archive.synchronous = OFF');
    const endOfStep = preparedValue<[Uint8Array, Uint8Array, number], Uint8Array>(db, SQL.endOfStep);
    const copy = db.transaction((span: Span): number => {
      prepared(db, SQL.leaveLate).run(span);
      return prepared(db, SQL.copy).run(span).changes;
    });
    let through = from;
    let orders = 0;
    while (Buffer.compare(through, end) < 0 && orders < fileOrders) {
      const to = endOfStep.get(through, end, stepOrders - 1) ?? end;
      orders += copy.immediate({ from: through, to, cutoffMs });
      through = to;
      if (Buffer.compare(this.#passed, to) < 0) this.#passed = to;
      yield;
    }
    const endOfLateStep = preparedValue<[Uint8Array, number], Uint8Array>(db, SQL.endOfLateStep);
    for (let late: Uint8Array | undefined = NO_ID; late !== undefined && orders < fileOrders; ) {
      const to: Uint8Array | undefined = endOfLateStep.get(late, stepOrders - 1);
      orders += prepared(db, SQL.copyLate).run({ from: late, to: to ?? LAST_ID, cutoffMs }).changes;
      late = to;
      yield;
    }
    return through;
  }

  /** Gives the packed orders their name. */
  #seal(): { file: number; sha256: string } {
    const packed = join(this.#folder, PACKED_NAME);
    syncFile(packed);
    const sha256 = hashOf(packed);
    const listed = preparedValue<[], number>(this.#db, SQL.files).all();
    const file = 1 + Math.max(0, ...listed, ...archiveFiles(this.#folder).map((each) => each.file));
    renameSync(packed, join(this.#folder, archiveFileName({ file, sha256 })));
    syncDirectory(this.#folder);
    return { file, sha256 };
  }

  /** Keeps ORDERARCHIVE-1. */
  *#compare(
    named: { readonly file: number; readonly sha256: string },
    orders: number,
    { stepOrders }: ArchivePace,
  ): Generator<void, void> {
    const same = preparedValue<[Order], number>(this.#db, SQL.same);
    const file = this.#open(named);
    try {
      let [found, waiting] = [0, 0];
      for (const table of tablesOf(file)) {
        for (const order of prepared<[], Order>(table, ALL).iterate()) {
          found += same.get(order)!;
          if (++waiting < stepOrders) continue;
          waiting = 0;
          yield;
        }
      }
      if (found === orders) return;
      throw new ArchiveError(`${file.name} has ${found} of ${orders} orders as read.db has them`);
    } finally {
      file.close();
    }
  }

  /** Keeps ORDERARCHIVE-2. */
  *#leave(
    { file, sha256, left_account, left_id }: NewRowOf<typeof ARCHIVED_FILES>,
    { stepOrders }: ArchivePace,
  ): Generator<void, void> {
    const archived = this.#open({ file, sha256 });
    const leave = this.#db.transaction((rows: readonly Leaving[]) => this.#remove(file, rows));
    try {
      let rows: Leaving[] = [];
      for (const table of tablesOf(archived)) {
        for (const row of prepared<[number, Uint8Array], Leaving>(table, LEAVING).iterate(left_account!, left_id)) {
          rows.push(row);
          if (rows.length < stepOrders) continue;
          leave.immediate(rows);
          rows = [];
          yield;
        }
      }
      if (rows.length > 0) leave.immediate(rows);
    } finally {
      archived.close();
    }
    prepared(this.#db, SQL.left).run(null, NO_ID, file);
  }

  /** @param rows by account and id */
  #remove(file: number, rows: readonly Leaving[]): void {
    const db = this.#db;
    const counts = new Map<number, AccountRow>();
    for (const { account, id, status, updated_ms } of rows) {
      const { changes } = prepared(db, SQL.remove).run(id);
      assert(changes === 1, 'ORDERARCHIVE-2: an order that is archived leaves read.db once');
      prepared(db, SQL.removeLate).run(id);
      const before = counts.get(account) ?? {
        account,
        file,
        cancelled: 0,
        expired: 0,
        first_id: id,
        last_id: id,
        last_ms: 0,
      };
      counts.set(account, {
        ...before,
        cancelled: before.cancelled + Number(status === ORDER_STATUS.CANCELLED),
        expired: before.expired + Number(status === ORDER_STATUS.EXPIRED),
        last_id: id,
        last_ms: Math.max(before.last_ms, updated_ms),
      });
    }
    for (const count of counts.values()) prepared(db, SQL.count).run(count);
    const { account, id } = rows.at(-1)!;
    prepared(db, SQL.left).run(account, id, file);
  }

  /** ORDERARCHIVE-4 */
  #removeUnlisted(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of [PART_NAME, PACKED_NAME]) rmSync(join(this.#folder, name), { force: true });
    const listed = new Set(preparedValue<[], number>(this.#db, SQL.files).all());
    for (const named of archiveFiles(this.#folder)) {
      if (!listed.has(named.file)) rmSync(join(this.#folder, archiveFileName(named)));
    }
  }

  #cursor(): Uint8Array {
    return preparedValue<[], Uint8Array>(this.#db, SQL.cursor).get() ?? NO_ID;
  }

  /** A file whose bytes differ is not read: its damage is not that of read.db. */
  #open(named: { readonly file: number; readonly sha256: string }): Database.Database {
    const path = join(this.#folder, archiveFileName(named));
    if (hashOf(path) !== named.sha256) throw new ArchiveError(`${path} is damaged`);
    return openDatabase(path, { readonly: true, fileMustExist: true });
  }

  #attach(path: string): void {
    prepared(this.#db, SQL.attach).run(path);
    this.#isAttached = true;
  }

  #detach(): void {
    this.#db.exec('DETACH archive');
    this.#isAttached = false;
  }
}

const LAST_ID = new Uint8Array(UUID_BYTES).fill(0xff);

function spanStart(timeMs: number, spanMs: number): number {
  return timeMs - (timeMs % spanMs);
}

/** Ids begin with their time (shared/base/ids.ts). */
function timeOf(id: Uint8Array): number {
  return Buffer.from(id.buffer, id.byteOffset, id.length).readUIntBE(0, 6);
}

/** Before every id of this time. */
function firstIdAt(timeMs: number): Uint8Array {
  const id = Buffer.alloc(UUID_BYTES);
  id.writeUIntBE(timeMs, 0, 6);
  return id;
}
