/**
 * Index scans whose rows are merged into an account's activity feed: orders placed, fills, orders cancelled and
 * expired. Runs in a thread of the query pool.
 *
 * Rows of one millisecond are sorted by rank, so that an order is placed before it is filled and filled before it ends.
 */
import type Database from 'better-sqlite3';
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { CLOSED } from '../../shared/tables/orders.ts';
import { BETWEEN_TWO } from '../../shared/tables/trades.ts';
import { firstIdAfter, MAX_COUNTED, type Position, START, timeOfId } from '../base/page.ts';
import { ALL_MARKETS, type MarketFilter } from '../markets/volumeQueries.ts';
import { type ArchiveCount, ArchivedOrders, type ArchivedPart, type FoundRows } from './archivedOrdersQueries.ts';
import { LongLists } from './longLists.ts';
import { ShorterWalk } from './shorterWalkQueries.ts';

export type ActivityType = 'fill' | 'placed' | 'cancelled' | 'expired';
export type ActivityEntry = Position & { readonly type: ActivityType };

/** The scope of a list of activity; `type` is null for all types. */
type ActivityScope = MarketFilter & { readonly account: number; readonly type: ActivityType | null };

type Parameters = {
  readonly account: number;
  readonly market: number;
  /** Both give the time since which the market is open. */
  readonly openedMs: number;
  readonly firstId: Uint8Array;
  readonly beforeMs: number;
  readonly beforeId: Uint8Array;
  readonly limit: number;
};
type Walk = { readonly type: ActivityType; readonly rank: number; readonly found: string; readonly order: string };
type FoundEntries = FoundRows<ActivityEntry> & { readonly counted: number; readonly isCut: boolean };
type OrderWalk = Walk & { readonly type: Exclude<ActivityType, 'fill'> };
type Found = { readonly at: number | null; readonly id: Uint8Array };
type PartParameters = Parameters & { readonly lastId: Uint8Array };
type PreparedWalk<P extends Parameters = Parameters> = Pick<Walk, 'type' | 'rank'> & {
  readonly statement: Database.Statement<[P], Found>;
};
type Along = { readonly walks: readonly PreparedWalk[]; readonly count: CountByType };
/** The null key holds the count of all types together. */
type CountByType = ReadonlyMap<ActivityType | null, Database.Statement<[Parameters], number>>;

const RANK = { PLACED: 0, FILL: 1, ENDED: 2 } as const;
const TYPES: readonly (ActivityType | null)[] = [null, 'fill', 'placed', 'cancelled', 'expired'];
/** Before every id. */
const NO_ID = new Uint8Array(0);
const IN_MARKET = `(@market = ${ALL_MARKETS} OR market = @market)`;
const SPAN = 'id >= @firstId AND id < @beforeId';
const UNLIMITED = -1;
/** The number of rows of one scan in a market that are read at once; a longer list is counted first. */
const FEW = 1000;

const OF_ORDERS: readonly OrderWalk[] = [
  {
    type: 'placed',
    rank: RANK.PLACED,
    found: `
      SELECT NULL AS at, id FROM orders INDEXED BY orders_created
      WHERE account = @account AND ${SPAN} AND ${IN_MARKET}`,
    order: 'id DESC',
  },
  walkOfEnded('cancelled', ORDER_STATUS.CANCELLED),
  walkOfEnded('expired', ORDER_STATUS.EXPIRED),
];
const WALKS = {
  account: [
    ...OF_ORDERS,
    walkOfFills(`trades_by_taker WHERE taker_account = @account AND ${IN_MARKET}`),
    walkOfFills(`trades_by_maker WHERE maker_account = @account AND ${BETWEEN_TWO} AND ${IN_MARKET}`),
  ],
  market: [
    ...OF_ORDERS,
    walkOfFills('trades_by_market WHERE market = @market AND (taker_account = @account OR maker_account = @account)'),
  ],
} as const;

function walkOfFills(party: string): Walk {
  const found = `SELECT NULL AS at, id FROM trades INDEXED BY ${party} AND ${SPAN}`;
  return { type: 'fill', rank: RANK.FILL, found, order: 'id DESC' };
}

function walkOfEnded(type: 'cancelled' | 'expired', status: number): OrderWalk {
  const found = `
    SELECT updated_ms AS at, id FROM orders INDEXED BY orders_closed
    WHERE ${CLOSED} AND account = @account AND status = ${status}
      AND updated_ms >= @openedMs AND (updated_ms, id) < (@beforeMs, @beforeId) AND ${IN_MARKET}`;
  return { type, rank: RANK.ENDED, found, order: 'updated_ms DESC, id DESC' };
}

export class ActivityWalks {
  readonly #archive: ArchivedOrders;
  readonly #shorter: ShorterWalk;
  readonly #long = new LongLists();
  readonly #along: Readonly<Record<keyof typeof WALKS, Along>>;

  constructor(db: Database.Database) {
    this.#archive = ArchivedOrders.of(db);
    this.#shorter = new ShorterWalk(db);
    this.#along = { account: along(db, WALKS.account), market: along(db, WALKS.market) };
  }

  /** Counts little more than MAX_COUNTED rows, and reads `wanted` rows after `after`, newest first. */
  page(scope: ActivityScope, after: Position | null, wanted: number): FoundEntries {
    const parts = scope.type === 'fill' ? [] : this.#archive.partsOf(scope.account);
    const { counted: live, entries } = this.#read(scope, after);
    const inFiles = this.#countArchived(parts, scope, MAX_COUNTED - live);
    const found = this.#archive.list<ActivityEntry>({
      parts,
      order: (a, b) => b.last_ms - a.last_ms,
      spansStart: ({ last_ms }) => after !== null && last_ms >= after.atMs,
      mayHave: ({ first_id }) => after === null || timeOfId(first_id) <= after.atMs,
      market: scope.market === ALL_MARKETS ? null : scope.market,
      live: taken(entries, wanted),
      wanted,
      read: (file, part) => archivedEntries(file, part, scope, after, wanted),
      mayPrecede: (part, { atMs }) => part.last_ms >= atMs,
      precedes: isBefore,
    });
    return { ...found, counted: live + inFiles.rows, isCut: inFiles.isCut };
  }

  /** Only orders that never filled are there. */
  #countArchived(parts: readonly ArchivedPart[], scope: ActivityScope, most: number): ArchiveCount {
    const types = OF_ORDERS.filter(({ type }) => scope.type === null || scope.type === type);
    if (scope.market === ALL_MARKETS) {
      const count = ({ cancelled, expired }: ArchivedPart) => ({ placed: cancelled + expired, cancelled, expired });
      const rows = parts.reduce((sum, part) => {
        const counts = count(part);
        return types.reduce((all, { type }) => all + counts[type], sum);
      }, 0);
      return { rows, isCut: false };
    }
    const sql = countSql(types.map(({ found }) => inPart(found)));
    const parameters = parametersOf(scope, boundOf(RANK.ENDED, null), UNLIMITED);
    return this.#archive.count(
      ['activity', scope.account, scope.market, scope.type].join('/'),
      parts,
      most,
      (file, { last_id: lastId }) => {
        return prepared<[PartParameters], { counted: number }>(file, sql).get({ ...parameters, lastId })!.counted;
      },
      scope.market,
    );
  }

  /** At most MAX_COUNTED + 1 rows are counted. @param entries are read lazily, newest first, starting after `after` */
  #read(scope: ActivityScope, after: Position | null): { counted: number; entries: Iterable<ActivityEntry> } {
    const { account, market, type } = scope;
    const isInMarket = market !== ALL_MARKETS;
    const isOfMarket = isInMarket && type !== 'placed' && this.#shorter.isOfMarket(account, market);
    const { walks: all, count } = this.#along[isOfMarket ? 'market' : 'account'];
    const walks = all.filter((walk) => type === null || walk.type === type);
    const few = isInMarket ? fewOf(walks, scope) : null;
    if (few !== null) {
      const behind = few.map((rows) => (after === null ? rows : rows.filter((row) => isBefore(after, row))));
      return { counted: few.reduce((sum, rows) => sum + rows.length, 0), entries: merged(behind) };
    }
    const counted = this.#long.counted([account, market, type].join('/'), () => {
      return count.get(type)!.get(parametersOf(scope, boundOf(RANK.ENDED, null), UNLIMITED))!;
    });
    const readers = walks.map((walk) => entriesOf(walk, parametersOf(scope, boundOf(walk.rank, after), UNLIMITED)));
    return { counted, entries: merged(readers) };
  }
}

function along(db: Database.Database, walks: readonly Walk[]): Along {
  const counted = (type: ActivityType | null) => {
    const found = walks.filter((walk) => type === null || walk.type === type).map((walk) => walk.found);
    return db.prepare<[Parameters], number>(countSql(found)).pluck();
  };
  return {
    walks: walks.map(({ type, rank, found, order }) => {
      return { type, rank, statement: db.prepare(`${found} ORDER BY ${order} LIMIT @limit`) };
    }),
    count: new Map(TYPES.map((type) => [type, counted(type)])),
  };
}

function countSql(found: readonly string[]): string {
  return `SELECT count(*) AS counted FROM (${found.join(' UNION ALL ')} LIMIT ${MAX_COUNTED + 1})`;
}

/** The rows of a scan that are in a part of the archive. */
function inPart(found: string): string {
  return `${found} AND id <= @lastId`;
}

function archivedEntries(
  file: Database.Database,
  { last_id: lastId }: ArchivedPart,
  scope: ActivityScope,
  after: Position | null,
  limit: number,
): ActivityEntry[] {
  const walks = OF_ORDERS.filter(({ type }) => scope.type === null || scope.type === type);
  const entries = walks.flatMap(({ type, rank, found, order }) => {
    const sql = `${inPart(found)} ORDER BY ${order} LIMIT @limit`;
    const parameters = { ...parametersOf(scope, boundOf(rank, after), limit), lastId };
    return [...entriesOf({ type, rank, statement: prepared<[PartParameters], Found>(file, sql) }, parameters)];
  });
  return entries.sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

function taken<T>(values: Iterable<T>, most: number): T[] {
  const found: T[] = [];
  for (const value of values) {
    found.push(value);
    if (found.length >= most) break;
  }
  return found;
}

/** All rows of these scans, unless one of them has many. */
function fewOf(walks: readonly PreparedWalk[], scope: ActivityScope): ActivityEntry[][] | null {
  const few: ActivityEntry[][] = [];
  for (const walk of walks) {
    const rows = [...entriesOf(walk, parametersOf(scope, boundOf(walk.rank, null), FEW + 1))];
    if (rows.length > FEW) return null;
    few.push(rows);
  }
  return few;
}

function parametersOf(
  { account, market, opened_ms: openedMs }: ActivityScope,
  bound: Pick<Parameters, 'beforeMs' | 'beforeId'>,
  limit: number,
): Parameters {
  return { account, market, openedMs, firstId: firstIdAfter(openedMs - 1), ...bound, limit };
}

function* entriesOf<P extends Parameters>(
  { type, rank, statement }: PreparedWalk<P>,
  parameters: P,
): Generator<ActivityEntry, void> {
  for (const { at, id } of statement.iterate(parameters)) yield { type, rank, atMs: at ?? timeOfId(id), id };
}

/** Merges the rows of all scans, newest first; each row is read when it is needed. */
function* merged(walks: readonly Iterable<ActivityEntry>[]): Generator<ActivityEntry, void> {
  const readers = walks.map((walk) => walk[Symbol.iterator]());
  try {
    const heads = readers.map(next);
    for (;;) {
      let first = -1;
      let newest: ActivityEntry | null = null;
      for (let i = 0; i < heads.length; i++) {
        const head = heads[i];
        if (head === null || (newest !== null && !isBefore(head, newest))) continue;
        newest = head;
        first = i;
      }
      if (newest === null) return;
      yield newest;
      heads[first] = next(readers[first]);
    }
  } finally {
    for (const reader of readers) reader.return?.();
  }
}

function next(reader: Iterator<ActivityEntry>): ActivityEntry | null {
  return reader.next().value ?? null;
}

/** The place at which a scan over rows of this rank continues after a position of the list. */
function boundOf(rank: number, after: Position | null): Pick<Parameters, 'beforeMs' | 'beforeId'> {
  if (after === null) return { beforeMs: START.atMs, beforeId: START.id };
  const { atMs, id } = after;
  if (rank === after.rank) return { beforeMs: atMs, beforeId: id };
  // Within the millisecond of the position, rows of lower rank follow it and rows of higher rank precede it.
  const beforeMs = rank < after.rank ? atMs + 1 : atMs;
  // The id of an order encodes when it was placed, long before it ends.
  return { beforeMs, beforeId: rank === RANK.ENDED ? NO_ID : firstIdAfter(beforeMs - 1) };
}

function isBefore(a: Position, b: Position): boolean {
  if (a.atMs !== b.atMs) return a.atMs > b.atMs;
  if (a.rank !== b.rank) return a.rank > b.rank;
  return Buffer.compare(a.id, b.id) > 0;
}
