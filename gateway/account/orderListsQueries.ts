/**
 * The SQL of the lists of an account's orders (RULES.md 14.1 to 14.3). Runs in a thread of the query pool.
 *
 * Every order is in one of four index scans, newest change first: the open orders, and the closed orders by status. A
 * list merges the scans that it needs. Lists sorted by creation use a scan over all orders. If such a list has only
 * some statuses, it sorts the rows of the four scans if they are few, and otherwise filters the scan over all orders.
 * The scans continue in the archive, whose orders were cancelled or expired.
 */
import type Database from 'better-sqlite3';
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { type OrderRecord, type OrderRecordV2, orderRecord, orderRecordV2 } from '../../shared/base/orderMath.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { CLOSED, OPEN } from '../../shared/tables/orders.ts';
import {
  firstIdAfter,
  type HistoryPage,
  historyPage,
  MAX_COUNTED,
  type Position,
  type ReadEnd,
  rightBefore,
  SINCE_EVER,
  START,
  startOfMs,
  timeOfId,
} from '../base/page.ts';
import { MARKET } from '../markets/volumeQueries.ts';
import { type ArchiveCount, ArchivedOrders, type ArchivedPart, type FoundRows } from './archivedOrdersQueries.ts';
import { LongLists } from './longLists.ts';
import {
  type MarketOfOrder,
  ORDER,
  ORDER_COLUMNS,
  type OrderRow,
  type OwnRow,
  orderFacts,
  type StoredOrder,
} from './orderQueries.ts';

/** The three masks have bit n set when code n (shared/base/codes.ts) is wanted. */
export type OrderFilters = Readonly<{
  statuses: number;
  sides: number;
  outcomes: number;
  /** Only orders whose sort timestamp is after this. */
  sinceMs: number;
  sort: Sort;
  limit: number;
  offset: number;
  /** Only orders after this one in the list; null for all. */
  after: Position | null;
}>;
type Sort = 'created_at' | 'updated_at';

type ListParameters = Readonly<{
  account: number;
  statuses: number;
  sides: number;
  outcomes: number;
  sinceMs: number;
  firstId: Uint8Array;
  beforeMs: number;
  beforeId: Uint8Array;
  limit: number;
  offset: number;
}>;
/** The place of an order in its list. */
type Key = { readonly id: Uint8Array; readonly updated_ms?: number };
type OrderPage = {
  readonly rows: readonly OrderRow[];
  readonly counted: number;
  readonly isCut: boolean;
  readonly archivedBeforeMs: number | null;
  readonly unread: ReadEnd | null;
};

const EVERY = { statuses: 0xff, sides: 0xff, outcomes: 0xff, sinceMs: SINCE_EVER, firstId: new Uint8Array(0) } as const;
/** Mask of both sides, or of both outcomes. */
const TWO = 0b11;
const ALL_STATUSES = maskOf(...Object.values(ORDER_STATUS));
const OPEN_STATUSES = maskOf(ORDER_STATUS.OPEN, ORDER_STATUS.PARTIALLY_FILLED);
const CLOSED_STATUSES = [ORDER_STATUS.FILLED, ORDER_STATUS.CANCELLED, ORDER_STATUS.EXPIRED] as const;

const OWN = 'account = @account AND (@sides >> side) & 1 AND (@outcomes >> outcome) & 1';
const SPAN = {
  created_at: 'id >= @firstId AND id < @beforeId',
  updated_at: 'updated_ms > @sinceMs AND (updated_ms, id) < (@beforeMs, @beforeId)',
} as const;
const WALKED = { created_at: 'id', updated_at: 'updated_ms, id' } as const;
const KEY = { created_at: 'id DESC', updated_at: 'updated_ms DESC, id DESC' } as const;
const BY_CREATION = `SELECT id FROM orders INDEXED BY orders_created WHERE ${OWN} AND ${SPAN.created_at}`;

/** The orders of a part of the archive. */
const IN_PART = 'id <= @lastId';

export class OrderLists {
  readonly #db: Database.Database;
  readonly #archive: ArchivedOrders;
  readonly #long = new LongLists();

  constructor(db: Database.Database) {
    this.#db = db;
    this.#archive = ArchivedOrders.of(db);
  }

  list(account: number, filters: OrderFilters): HistoryPage<StoredOrder<OrderRecordV2>> {
    const { sort, limit, offset, sinceMs, after, ...masks } = filters;
    const { atMs: beforeMs, id: beforeId } = after ?? START;
    const span = { sinceMs, firstId: firstIdAfter(sinceMs), beforeMs, beforeId, limit: limit + 1, offset };
    const { rows, archivedBeforeMs, ...page } = this.#readPage({ account, ...masks, ...span }, sort);
    const show = (row: OrderRow) => ({
      record: orderRecordV2(orderFacts(row), row.updated_ms),
      group: row.order_group,
    });
    const positionOf = ({ id, created_ms, updated_ms }: OrderRow): Position => {
      return { atMs: sort === 'created_at' ? created_ms : updated_ms, rank: 0, id };
    };
    return { ...historyPage(rows, { ...page, limit, offset }, show, positionOf), archivedBeforeMs };
  }

  /** The newest orders by creation, in the first version of their record. */
  newest(account: number, limit: number): StoredOrder<OrderRecord>[] {
    const before = { beforeMs: START.atMs, beforeId: START.id };
    const parameters = { account, ...EVERY, ...before, limit, offset: 0 };
    const { rows } = this.#rows(parameters, 'created_at', [BY_CREATION], this.#archive.partsOf(account));
    return rows.map((row) => ({ record: orderRecord(orderFacts(row)), group: row.order_group }));
  }

  #readPage(parameters: ListParameters, sort: Sort): OrderPage {
    const walks = walksOf(parameters.statuses, sort);
    const parts = this.#archive
      .partsOf(parameters.account)
      .filter((part) => ofStatuses(part, parameters) > 0 && isSince(part, parameters, sort));
    let isCut = false;
    const counted = this.#long.counted(growingList(parameters, sort), () => {
      const count = this.#prepared<{ counted: number }>(orderCountSql(walks));
      const live = count.get({ ...parameters, beforeMs: START.atMs, beforeId: START.id })!.counted;
      const inFiles = this.#countArchived(parts, parameters, sort, MAX_COUNTED - live);
      isCut = inFiles.isCut;
      return live + inFiles.rows;
    });
    if (parameters.offset >= counted && !isCut)
      return { rows: [], counted, isCut, archivedBeforeMs: null, unread: null };
    const isMany = sort === 'created_at' && counted > MAX_COUNTED && walks[0] !== BY_CREATION;
    const walked = isMany ? [`${BY_CREATION} AND (@statuses >> status) & 1`] : walks;
    return { ...this.#rows(parameters, sort, walked, parts), counted, isCut };
  }

  /** @param parts of the archive that may have rows of the list */
  #rows(
    parameters: ListParameters,
    sort: Sort,
    walks: readonly string[],
    parts: readonly ArchivedPart[],
  ): Omit<OrderPage, 'counted' | 'isCut'> {
    if (parts.length === 0) {
      const rows = this.#prepared<OrderRow>(orderPageSql(walks, sort)).all(parameters);
      return { rows, archivedBeforeMs: null, unread: null };
    }
    const { offset, limit } = parameters;
    const found = this.#keys({ ...parameters, offset: 0, limit: offset + limit }, sort, walks, parts);
    const rows = found.rows.slice(offset).map(({ row, part }) => {
      return this.#archive.order<OwnRow, MarketOfOrder>(part, ORDER.sql, MARKET.sql, row.id);
    });
    const { archivedBeforeMs, unread } = found;
    if (unread === null) return { rows, archivedBeforeMs, unread };
    const after = sort === 'created_at' ? rightBefore(unread.last_id) : startOfMs(unread.last_ms);
    return { rows, archivedBeforeMs, unread: { after, known: found.rows.length } };
  }

  #keys(
    parameters: ListParameters,
    sort: Sort,
    walks: readonly string[],
    parts: readonly ArchivedPart[],
  ): FoundRows<Key> {
    const { beforeMs, beforeId, limit } = parameters;
    const isByCreation = sort === 'created_at';
    // A part of another time has no row of the page.
    const inTime = (part: ArchivedPart) => {
      const isBefore = isByCreation ? Buffer.compare(part.first_id, beforeId) < 0 : timeOfId(part.first_id) <= beforeMs;
      return isBefore && isSince(part, parameters, sort);
    };
    const sql = orderKeysSql(archivedWalks(parameters.statuses, sort), sort);
    return this.#archive.list<Key>({
      parts,
      order: (a, b) => (isByCreation ? Buffer.compare(b.last_id, a.last_id) : b.last_ms - a.last_ms),
      spansStart: (part) => {
        return isByCreation ? Buffer.compare(part.last_id, beforeId) >= 0 : part.last_ms >= beforeMs;
      },
      mayHave: inTime,
      live: this.#prepared<Key>(orderKeysSql(walks, sort)).all(parameters),
      wanted: limit,
      read: (file, { last_id: lastId }) => {
        return prepared<[ListParameters & { lastId: Uint8Array }], Key>(file, sql).all({ ...parameters, lastId });
      },
      mayPrecede: (part, row) => {
        return isByCreation ? Buffer.compare(part.last_id, row.id) > 0 : part.last_ms >= row.updated_ms!;
      },
      precedes: (a, b) => {
        const later = isByCreation ? 0 : a.updated_ms! - b.updated_ms!;
        return later === 0 ? Buffer.compare(a.id, b.id) > 0 : later > 0;
      },
    });
  }

  #countArchived(parts: readonly ArchivedPart[], parameters: ListParameters, sort: Sort, most: number): ArchiveCount {
    const { statuses, sides, outcomes, sinceMs } = parameters;
    if ((sides & outcomes & TWO) === TWO && sinceMs === SINCE_EVER) {
      return { rows: parts.reduce((sum, part) => sum + ofStatuses(part, parameters), 0), isCut: false };
    }
    const sql = orderCountSql(archivedWalks(statuses, sort));
    const all = { ...parameters, beforeMs: START.atMs, beforeId: START.id };
    return this.#archive.count(nameOf(parameters, sort), parts, most, (file, part) => {
      if (!isSince(part, parameters, sort)) return 0;
      const count = prepared<[ListParameters & { lastId: Uint8Array }], { counted: number }>(file, sql);
      return count.get({ ...all, lastId: part.last_id })!.counted;
    });
  }

  /** Statements are kept by their text; there are few texts. */
  #prepared<R>(sql: string): Database.Statement<[ListParameters], R> {
    return prepared(this.#db, sql);
  }
}

/** The name of a list that only grows; null if orders leave it when they end. */
function growingList(parameters: ListParameters, sort: Sort): string | null {
  const wanted = parameters.statuses & ALL_STATUSES;
  if (wanted !== ALL_STATUSES && (wanted & OPEN_STATUSES) !== 0) return null;
  return nameOf(parameters, sort);
}

function nameOf({ account, statuses, sides, outcomes, sinceMs }: ListParameters, sort: Sort): string {
  return [account, statuses & ALL_STATUSES, sides & TWO, outcomes & TWO, sort, sinceMs].join('/');
}

/** False if each order of the part is older than the list. */
function isSince(part: ArchivedPart, { sinceMs, firstId }: ListParameters, sort: Sort): boolean {
  return sort === 'created_at' ? Buffer.compare(part.last_id, firstId) >= 0 : part.last_ms > sinceMs;
}

/** The scans that together find the orders with these statuses, each order once. */
function walksOf(statuses: number, sort: Sort): string[] {
  if (sort === 'created_at' && (statuses & ALL_STATUSES) === ALL_STATUSES) return [BY_CREATION];
  const walk = (index: string, group: string) =>
    `SELECT ${WALKED[sort]} FROM orders INDEXED BY ${index} WHERE ${group} AND ${OWN} AND ${SPAN[sort]}`;
  const closed = CLOSED_STATUSES.filter((status) => statuses & maskOf(status));
  return [
    ...((statuses & OPEN_STATUSES) === 0 ? [] : [walk('orders_open', `${OPEN} AND (@statuses >> status) & 1`)]),
    ...closed.map((status) => walk('orders_closed', `${CLOSED} AND status = ${status}`)),
  ];
}

/** The scans of a file of the archive: only orders that were cancelled or have expired are there. */
function archivedWalks(statuses: number, sort: Sort): string[] {
  if (sort === 'created_at') return [`${BY_CREATION} AND ${IN_PART} AND (@statuses >> status) & 1`];
  return walksOf(statuses & ~OPEN_STATUSES & ~maskOf(ORDER_STATUS.FILLED), sort).map(
    (walk) => `${walk} AND ${IN_PART}`,
  );
}

/** The number of the part's orders that have one of the statuses. */
function ofStatuses({ cancelled, expired }: ArchivedPart, { statuses }: Pick<ListParameters, 'statuses'>): number {
  const has = (status: number) => ((statuses >> status) & 1) === 1;
  return (has(ORDER_STATUS.CANCELLED) ? cancelled : 0) + (has(ORDER_STATUS.EXPIRED) ? expired : 0);
}

function orderKeysSql(walks: readonly string[], sort: Sort): string {
  return `${walks.join(' UNION ALL ')} ORDER BY ${KEY[sort]} LIMIT @limit`;
}

function orderPageSql(walks: readonly string[], sort: Sort): string {
  const found = `${walks.join(' UNION ALL ')} ORDER BY ${KEY[sort]} LIMIT @limit OFFSET @offset`;
  return `
    SELECT ${ORDER_COLUMNS}
    FROM (${found}) AS page CROSS JOIN orders ON orders.id = page.id CROSS JOIN markets USING (market)
    ORDER BY ${sort === 'created_at' ? 'page.id DESC' : 'page.updated_ms DESC, page.id DESC'}`;
}

/** At most one more than MAX_COUNTED. */
function orderCountSql(walks: readonly string[]): string {
  return `SELECT count(*) AS counted FROM (${walks.join(' UNION ALL ')} LIMIT ${MAX_COUNTED + 1})`;
}

function maskOf(...codes: readonly number[]): number {
  return codes.reduce((mask, code) => mask | (1 << code), 0);
}
