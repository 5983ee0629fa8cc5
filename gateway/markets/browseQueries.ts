/** The SQL of `browse`: which events are on a page (RULES.md 12.34). Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import type { BrowseSort } from '../../shared/api/browse.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { EVENT_NAMES, IS_OVER, OPEN_STATUSES } from '../../shared/tables/catalogEvents.ts';
import { MAX_COUNTED, type Page, pageOf } from '../base/page.ts';
import { EventRanks } from './eventRanksQueries.ts';
import { SearchBudget } from './searchBudgetQueries.ts';

export type BrowseFilters = Readonly<{
  /** Null for open events that have active, locked or resolving markets. */
  status: string | null;
  category: string | null;
  league: string | null;
  /** Words from the names of events, teams and markets; null without a search. */
  search: string | null;
  /** True to list live events first. */
  isRanked: boolean;
  sort: BrowseSort;
  nowMs: number;
  limit: number;
  offset: number;
}>;

type Parameters = Omit<BrowseFilters, 'isRanked' | 'sort' | 'nowMs'>;
/** `total` is present if the statement that finds the events counts them too. */
type Found = { readonly event: number; readonly total?: number };

const START = 'start_ms, event';
const LIVE_FIRST = `status <> 'live'`;
const PAGE = 'LIMIT @limit OFFSET @offset';
/** Of one status, in an order of its own: the rows of a page are among the first of each. */
type Walk = { readonly from?: string; readonly where?: string; readonly by: string };
/** An order: its term before that of the start, the column it needs besides, and the walks that find its pages. */
type Order = { readonly by?: string; readonly column?: string; readonly walks: readonly Walk[] };

const BY_START: Walk = { by: START };
const BY_VOLUME = 'volume_micro DESC';
const ORDERS: Readonly<Record<BrowseSort, Order>> = {
  start: { walks: [BY_START] },
  // Few events have traded within a day: those, and the others by their start.
  trending: {
    by: 'event_rank(event) DESC',
    walks: [
      {
        from: 'json_each(ranked_events()) CROSS JOIN catalog_events ON event = json_each.value',
        by: `event_rank(event) DESC, ${START}`,
      },
      { where: 'event_rank(event) = 0', by: START },
    ],
  },
  volume: { by: BY_VOLUME, column: 'volume_micro', walks: [{ where: IS_OVER, by: `${BY_VOLUME}, ${START}` }] },
  new: { by: 'event DESC', walks: [{ by: 'event DESC' }] },
  ending: {
    by: 'ends_ms NULLS LAST',
    column: 'ends_ms',
    walks: [
      { where: 'ends_ms IS NOT NULL', by: `ends_ms, ${START}` },
      { where: 'ends_ms IS NULL', by: START },
    ],
  },
};
/** No index has the volumes of open events, because trades would change it: all of them are read. */
const OPEN_BY_VOLUME: Walk = { by: `${BY_VOLUME}, ${START}` };

/** A statement for every set of filters, prepared when it is first asked for: there are a few dozen. */
export class BrowseQueries {
  readonly #db: Database.Database;
  readonly #ranks: EventRanks;
  readonly #budget: SearchBudget;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#ranks = new EventRanks(db);
    this.#budget = SearchBudget.of(db);
    this.#budget.reads(EVENT_NAMES.name);
  }

  /** The indexes of the events of a page; null: the search would take too long. */
  page(filters: BrowseFilters): Page<number> | null {
    return this.#budget.within(() => this.#page(filters));
  }

  #page(filters: BrowseFilters): Page<number> {
    const search = filters.search === null ? null : this.#budget.query(EVENT_NAMES.name, filters.search);
    if (search === null && filters.search !== null) return pageOf<number>([], 0, filters.offset);
    const { isRanked: _, sort, nowMs, ...others } = filters;
    const parameters = { ...others, search };
    if (sort === 'trending') this.#ranks.take(nowMs);
    const found = this.#prepared<Found>(pageSql(filters)).all(parameters);
    const total = found.at(0)?.total ?? this.#prepared<{ total: number }>(countSql(filters)).get(parameters)!.total;
    const events = found.map(({ event }) => event);
    return pageOf(events, total, filters.offset);
  }

  #prepared<R>(sql: string): Database.Statement<[Parameters], R> {
    return prepared(this.#db, sql);
  }
}

/**
 * Without a search there are index scans for each status, in the order of the page. Each ends with as many rows as the
 * page may need; only that of open events by volume reads all of them. A search finds events by their words; it must
 * find all of them for the order anyway, so it counts them as well.
 */
export function pageSql(filters: BrowseFilters): string {
  const order = orderOf(filters);
  if (filters.search !== null) {
    return `SELECT event, count(*) OVER () AS total ${searched(filters)} ORDER BY ${order} ${PAGE}`;
  }
  const columns = ['status', START, ORDERS[filters.sort].column ?? []].flat().join(', ');
  const rows = statusesOf(filters).flatMap((status) =>
    walksOf(filters).map(
      (walk) => `SELECT * FROM (SELECT ${columns} ${walked(status, filters, walk)}
        ORDER BY ${walk.by} LIMIT @limit + @offset)`,
    ),
  );
  return `SELECT event FROM (${rows.join(' UNION ALL ')}) ORDER BY ${order} ${PAGE}`;
}

function walksOf({ sort, status }: BrowseFilters): readonly Walk[] {
  const isOpen = status === null || OPEN_STATUSES.some((open) => open === status);
  return sort === 'volume' && isOpen ? [OPEN_BY_VOLUME] : ORDERS[sort].walks;
}

function orderOf({ isRanked, sort }: BrowseFilters): string {
  return [isRanked ? LIVE_FIRST : [], ORDERS[sort].by ?? [], START].flat().join(', ');
}

/** At most one more than MAX_COUNTED. */
export function countSql(filters: BrowseFilters): string {
  const all = filters.search === null ? statusesOf(filters).map((of) => walked(of, filters)) : [searched(filters)];
  const found = all.map((each) => `SELECT 1 ${each}`).join(' UNION ALL ');
  return `SELECT count(*) AS total FROM (${found} LIMIT ${MAX_COUNTED + 1})`;
}

/** In SQL. */
function statusesOf({ status }: BrowseFilters): readonly string[] {
  return status === null ? OPEN_STATUSES.map((open) => `'${open}'`) : ['@status'];
}

function walked(
  status: string,
  filters: BrowseFilters,
  { from = 'catalog_events', where }: Partial<Walk> = {},
): string {
  const conditions = [`status = ${status}`, where ?? [], conditionsOf(filters)].flat();
  return `FROM ${from} WHERE ${conditions.join(' AND ')}`;
}

/** CROSS JOIN fixes the order of the two: the words come first. */
function searched(filters: BrowseFilters): string {
  const { status } = filters;
  const isOfStatus = status === null ? `status IN ('${OPEN_STATUSES.join("', '")}')` : 'status = @status';
  const conditions = ['event_names MATCH @search', 'spent(event_names.rowid)', isOfStatus, ...conditionsOf(filters)];
  return `FROM event_names CROSS JOIN catalog_events ON event = event_names.rowid WHERE ${conditions.join(' AND ')}`;
}

function conditionsOf({ status, category, league }: BrowseFilters): string[] {
  return [
    ...(status === null ? ['live_markets > 0'] : []),
    ...(category === null ? [] : ['category = @category']),
    ...(league === null ? [] : ['sport_league = @league']),
  ];
}
