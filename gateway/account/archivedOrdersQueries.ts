/**
 * Reads orders that never filled from the archive (shared/tables/orderArchive.ts), so that lists continue from read.db
 * into its files. Runs in a thread of the query pool, within the transaction of a query: the manifest in read.db says
 * which orders are in which file, so each is found once.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { openDatabase, userVersion } from '../../shared/base/openDatabase.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import {
  ARCHIVED_ACCOUNTS,
  ARCHIVED_FILES,
  archiveFileName,
  archiveFolder,
  type BLOCK_IDS,
  ID_END_BYTES,
  type ORDER_BLOCKS,
  WHOLE_LAYOUT,
} from '../../shared/tables/orderArchive.ts';
import { hasMarket, OrderBlock } from '../../shared/tables/orderBlocks.ts';
import { OrderTable } from '../../shared/tables/orderTable.ts';
import { type RowOf, type SelectedBy, select } from '../../shared/tables/table.ts';

const FILE = select(ARCHIVED_FILES, 'file', 'sha256');
type NamedFile = SelectedBy<typeof FILE>;
const PART = select(ARCHIVED_ACCOUNTS, 'account', 'cancelled', 'expired', 'first_id', 'last_id', 'last_ms');
/** Null: all blocks, as for a file that has none; likewise of an account. */
type Place = NamedFile & { readonly block: number | null; readonly account: number | null };
/** The orders of an account in one file, or in one block of it: those up to `last_id`. */
export type ArchivedPart = Place & SelectedBy<typeof PART>;
type BlockRow = Pick<RowOf<typeof ORDER_BLOCKS>, 'block' | 'markets' | 'last_ms'> & {
  readonly first_id: Uint8Array;
  readonly last_id: Uint8Array;
};
/** The account may have orders of other accounts beside its own in its first and last block. */
const BLOCKS_OF = `
  SELECT block, last_ms, markets, max(@first_id, iif(first_account = @account, first_id, x'')) AS first_id,
    iif(last_account = @account, min(last_id, @last_id), @last_id) AS last_id
  FROM blocks INDEXED BY blocks_of_accounts
  WHERE last_account >= @account AND first_account <= @account
    AND NOT (first_account = @account AND first_id > @last_id)
  ORDER BY last_ms DESC`;
const DATA = 'SELECT data FROM blocks WHERE block = ?';
const ENDS = 'SELECT block, ends FROM block_ids';

/** A row of a list; `part` is null if it is in read.db. */
export type Found<R> = { readonly row: R; readonly part: ArchivedPart | null };
export type FoundRows<R> = {
  readonly rows: readonly Found<R>[];
  /** The end of the newest order that a missing file may have; null if every file was read. */
  readonly archivedBeforeMs: number | null;
  /**
   * The first part that was not read because the page had read enough: the rows are those before everything in it and
   * in the parts after it. Null if the page is whole.
   */
  readonly unread: ArchivedPart | null;
};
/** The length of a list as far as it was counted: if that was cut short, the list is at least that long. */
export type ArchiveCount = { readonly rows: number; readonly isCut: boolean };

type ArchiveList<R> = {
  readonly parts: readonly ArchivedPart[];
  /** The order in which a list passes parts: negative if `a` may have rows before all rows of `b`. */
  readonly order: (a: ArchivedPart, b: ArchivedPart) => number;
  /**
   * True if the part may have rows on both sides of the start of the page. A page always reads these, so that the next
   * one starts further on. There are few: an order of each but one per file was open at that time.
   */
  readonly spansStart: (part: ArchivedPart) => boolean;
  /** False if the part has no row of the list. */
  readonly mayHave?: (part: ArchivedPart) => boolean;
  /** Null for all; with one, only its orders are read. */
  readonly market?: number | null;
  /** Those in read.db, newest first. */
  readonly live: readonly R[];
  readonly wanted: number;
  /** The rows of a file, newest first. */
  readonly read: (file: Database.Database, part: ArchivedPart) => readonly R[];
  /** False if each row of the part comes after this one. */
  readonly mayPrecede: (part: ArchivedPart, row: R) => boolean;
  /** True if `a` comes before `b` in the list. */
  readonly precedes: (a: R, b: R) => boolean;
};

/** A query has met a file that is missing or damaged. The thread says so once. */
export type UnreadArchive = { readonly unreadArchive: string };

/** Files that a thread has open; opening one takes a fraction of a millisecond. */
const MOST_OPEN = 64;
/** Blocks that a thread has in memory, some tens of kilobytes each: those of the rows of a page and more. */
const MOST_BLOCKS = 64;
/**
 * Blocks that a page, beside those that span its start, and a count read at most, 32,768 orders or about a tenth of a
 * second: under a filter that few orders pass, both would otherwise read everything that an account ever had, and hold
 * up the queries of others. A file in which no block is found counts as one: it was opened.
 */
const BLOCKS_OF_QUERY = 256;
/** Counts that were cut short, about a hundred bytes each; beyond this number, lists are counted again. */
const MOST_CUT_COUNTS = 20_000;

type OpenFile = { readonly db: Database.Database; readonly isInBlocks: boolean };

const ofConnections = new WeakMap<Database.Database, ArchivedOrders>();

export class ArchivedOrders {
  readonly #db: Database.Database;
  readonly #folder: string;
  readonly #parts: Database.Statement<[number], ArchivedPart>;
  /** The most recently used last. */
  readonly #open = new Map<number, OpenFile>();
  /** By file, block, account and market; the most recently used last. */
  readonly #blocks = new Map<string, OrderTable>();
  /** The paths of files that could not be read. */
  readonly #unread = new Set<string>();
  /** By list. What is in the archive stays there, so each remains a lower bound. */
  readonly #cutCounts = new Map<string, number>();
  /** Tests set fewer. */
  blocksOfQuery = BLOCKS_OF_QUERY;

  private constructor(db: Database.Database) {
    this.#db = db;
    this.#folder = archiveFolder(db.name);
    this.#parts = db.prepare(`
      SELECT ${FILE.sql}, ${PART.sql}, NULL AS block FROM archived_accounts CROSS JOIN archived_files USING (file)
      WHERE account = ?`);
  }

  /** All queries of a connection share the open files. */
  static of(db: Database.Database): ArchivedOrders {
    const known = ofConnections.get(db);
    if (known !== undefined) return known;
    const made = new ArchivedOrders(db);
    ofConnections.set(db, made);
    return made;
  }

  /** The latest end first. */
  partsOf(account: number): readonly ArchivedPart[] {
    return this.#parts.all(account).sort((a, b) => b.last_ms - a.last_ms);
  }

  /** The part that has this order of the account. */
  partWith(account: number, id: Uint8Array): ArchivedPart | undefined {
    const sql = 'SELECT account FROM orders WHERE id = ?';
    const mayHave = (part: ArchivedPart) => {
      return Buffer.compare(part.first_id, id) <= 0 && Buffer.compare(part.last_id, id) >= 0;
    };
    for (const part of this.partsOf(account).filter(mayHave)) {
      for (const piece of this.#pieces(part, null)?.filter(mayHave) ?? []) {
        const found = this.read(piece, (db) => prepared<[Uint8Array], { account: number }>(db, sql).get(id)?.account);
        if (found === account) return piece;
      }
    }
    return undefined;
  }

  /** The places that may have the order, of any account. */
  placesOf(id: Uint8Array): readonly Place[] {
    const sql = `SELECT ${FILE.sql} FROM archived_files WHERE first_id <= @id AND last_id >= @id`;
    const named = prepared<[{ id: Uint8Array }], NamedFile>(this.#db, sql).all({ id });
    return named.flatMap((file) => this.#blocksWith(file, id).map((block) => ({ ...file, block, account: null })));
  }

  /** Continues a list into the archive. The next page of one that was not read to its end starts at `unread`. */
  list<R>(wanted: ArchiveList<R>): FoundRows<R> {
    const { live, mayHave = () => true, market = null, mayPrecede, order, precedes, spansStart } = wanted;
    let rows: readonly Found<R>[] = live.slice(0, wanted.wanted).map((row) => ({ row, part: null }));
    let archivedBeforeMs: number | null = null;
    let left = this.blocksOfQuery;
    // The first one is next. A part of a file gives place to its blocks.
    const waiting = wanted.wanted === 0 ? [] : wanted.parts.filter(mayHave).sort(order);
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      const last = rows.length < wanted.wanted ? undefined : rows[wanted.wanted - 1];
      if (last !== undefined && !mayPrecede(part, last.row)) continue;
      const piece = part;
      const pieces = piece.block === null ? this.#pieces(piece, market) : null;
      const isFile = pieces !== null && pieces[0] !== piece;
      const blocks = isFile ? pieces.filter(mayHave) : [];
      if (blocks.length > 0) {
        waiting.push(...blocks);
        waiting.sort(order);
        continue;
      }
      if (!spansStart(piece) && left-- === 0) {
        rows = rows.filter(({ row }) => !mayPrecede(piece, row));
        return { rows, archivedBeforeMs, unread: piece };
      }
      if (isFile) continue;
      const found = this.read(piece, (db) => wanted.read(db, piece).map((row) => ({ row, part: piece })), market);
      if (found === null) archivedBeforeMs = Math.max(archivedBeforeMs ?? 0, piece.last_ms);
      else rows = merged(rows, found, precedes).slice(0, wanted.wanted);
    }
    return { rows, archivedBeforeMs, unread: null };
  }

  /**
   * The sum over the parts, or something above `most`; a missing file counts as empty.
   * @param list its account and filters
   */
  count(
    list: string,
    parts: readonly ArchivedPart[],
    most: number,
    count: (table: Database.Database, part: ArchivedPart) => number,
    market: number | null = null,
  ): ArchiveCount {
    const cut = this.#cutCounts.get(list);
    if (cut !== undefined) return { rows: cut, isCut: true };
    let rows = 0;
    let left = this.blocksOfQuery;
    for (const part of parts) {
      const pieces = this.#pieces(part, market) ?? [];
      for (const piece of pieces.length > 0 ? pieces : [null]) {
        if (rows > most) return { rows, isCut: false };
        if (left-- === 0) {
          if (this.#cutCounts.size >= MOST_CUT_COUNTS) this.#cutCounts.clear();
          this.#cutCounts.set(list, rows);
          return { rows, isCut: true };
        }
        if (piece !== null) rows += this.read(piece, (table) => count(table, piece), market) ?? 0;
      }
    }
    return { rows, isCut: false };
  }

  /**
   * An order of a part, or of read.db, with columns of its market. @param orderColumns as `select` writes them.
   */
  order<O, M>(part: ArchivedPart | null, orderColumns: string, marketColumns: string, id: Uint8Array): O & M {
    const sql = `SELECT ${orderColumns}, orders.market AS market FROM orders WHERE orders.id = ?`;
    const read = (db: Database.Database) => prepared<[Uint8Array], O & { market: number }>(db, sql).get(id);
    const order = part === null ? read(this.#db) : this.read(part, read);
    if (order === undefined || order === null) throw new Error('archived orders: a listed order is in its file');
    const market = prepared<[number], M>(this.#db, `SELECT ${marketColumns} FROM markets WHERE market = ?`);
    return { ...order, ...market.get(order.market)! };
  }

  /**
   * Null if the file is missing or damaged. @param work with a table `orders` that has those of the place
   * @param market null for all
   */
  read<T>(place: Place, work: (db: Database.Database) => T, market: number | null = null): T | null {
    return this.#withFile(place, ({ db, isInBlocks }) => work(isInBlocks ? this.#block(db, place, market) : db));
  }

  #withFile<T>(file: NamedFile, work: (open: OpenFile) => T): T | null {
    try {
      const open = this.#opened(file);
      return open === null ? null : work(open);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      this.#open.get(file.file)?.db.close();
      this.#open.delete(file.file);
      this.#reportUnread(join(this.#folder, archiveFileName(file)));
      return null;
    }
  }

  /** The part block by block, the latest end first; null if its file is missing or damaged. */
  #pieces(part: ArchivedPart, market: number | null): readonly ArchivedPart[] | null {
    return this.#withFile(part, ({ db, isInBlocks }) => {
      if (!isInBlocks) return [part];
      const blocks = prepared<[ArchivedPart], BlockRow>(db, BLOCKS_OF).all(part);
      return blocks
        .filter(({ markets }) => market === null || hasMarket(markets, market))
        .map(({ block, first_id, last_id, last_ms }) => {
          return { ...part, block, first_id, last_id, last_ms: Math.min(last_ms, part.last_ms) };
        });
    });
  }

  #blocksWith(file: NamedFile, id: Uint8Array): readonly (number | null)[] {
    const found = this.#withFile(file, ({ db, isInBlocks }) => {
      if (!isInBlocks) return [null];
      const end = id.subarray(-ID_END_BYTES);
      const blocks = prepared<[], RowOf<typeof BLOCK_IDS>>(db, ENDS).all();
      return blocks.filter(({ ends }) => hasEnd(ends, end)).map(({ block }) => block);
    });
    // Reading it says that it is missing.
    return found ?? [null];
  }

  #block(file: Database.Database, { file: number, block, account }: Place, market: number | null): Database.Database {
    const name = [number, block, account, market].join('/');
    let table = this.#blocks.get(name);
    if (table === undefined) {
      const data = preparedValue<[number | null], Uint8Array>(file, DATA).get(block)!;
      const [oldest, unused] = this.#blocks.size < MOST_BLOCKS ? [] : this.#blocks.entries().next().value!;
      if (oldest !== undefined) this.#blocks.delete(oldest);
      table = unused ?? new OrderTable();
      table.fill(new OrderBlock(data), account, market);
    }
    this.#blocks.delete(name);
    this.#blocks.set(name, table);
    return table.db;
  }

  #reportUnread(path: string): void {
    if (this.#unread.has(path)) return;
    this.#unread.add(path);
    parentPort?.postMessage({ unreadArchive: path } satisfies UnreadArchive);
  }

  #opened(named: NamedFile): OpenFile | null {
    const { file } = named;
    let open = this.#open.get(file);
    if (open === undefined) {
      const path = join(this.#folder, archiveFileName(named));
      if (!existsSync(path)) {
        this.#reportUnread(path);
        return null;
      }
      const db = openDatabase(path, { readonly: true, fileMustExist: true });
      open = { db, isInBlocks: userVersion(db) !== WHOLE_LAYOUT };
    }
    this.#open.delete(file);
    this.#open.set(file, open);
    for (const [oldest, { db }] of this.#open) {
      if (this.#open.size <= MOST_OPEN) break;
      db.close();
      this.#open.delete(oldest);
    }
    return open;
  }
}

function hasEnd(ends: Uint8Array, end: Uint8Array): boolean {
  for (let at = 0; at < ends.length; at += ID_END_BYTES)
    if (ends[at] === end[0] && ends[at + 1] === end[1]) return true;
  return false;
}

function merged<R>(
  a: readonly Found<R>[],
  b: readonly Found<R>[],
  precedes: (a: R, b: R) => boolean,
): readonly Found<R>[] {
  const all: Found<R>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) all.push(precedes(a[i].row, b[j].row) ? a[i++] : b[j++]);
  return [...all, ...a.slice(i), ...b.slice(j)];
}
