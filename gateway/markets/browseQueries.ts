/** The SQL of `browse`: which events are on a page (RULES.md 12.34). Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import type { BrowseSort } from '../../shared/api/browse.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { EVENT_NAMES } from '../../shared/tables/catalogEvents.ts';
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

const OPEN_STATUSES = ['live', 'upcoming'] as const;
const START = 'start_ms, event';
const LIVE_FIRST = `status <> 'live'`;
const PAGE = 'LIMIT @limit OFFSET @offset';
/** The term of each order, and the column that it needs besides those of the start, which an index has. */
const ORDERS: Readonly<Record<BrowseSort, { readonly by?: string; readonly column?: string }>> = {
  start: {},
  trending: { by: 'event_rank(event) DESC' },
  volume: { by: 'volume_micro DESC', column: 'volume_micro' },
  new: { by: 'event DESC' },
  ending: { by: 'ends_ms NULLS LAST', column: 'ends_ms' },
};

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
 * Without a search there is one index scan for each status, all ordered by start; in another order each scan reads all
 * events that are open, or have the status, and nothing of their markets. A search finds events by their words; it must
 * find all of them for the order anyway, so it counts them as well.
 */
export function pageSql(filters: BrowseFilters): string {
  const order = orderOf(filters);
  if (filters.search !== null) {
    return `SELECT event, count(*) OVER () AS total ${searched(filters)} ORDER BY ${order} ${PAGE}`;
  }
  const columns = ['status', START, ORDERS[filters.sort].column ?? []].flat().join(', ');
  const enough = filters.sort === 'start' ? `ORDER BY ${START} LIMIT @limit + @offset` : '';
  const rows = walksOf(filters).map((walk) => `SELECT * FROM (SELECT ${columns} ${walk} ${enough})`);
  return `SELECT event FROM (${rows.join(' UNION ALL ')}) ORDER BY ${order} ${PAGE}`;
}

function orderOf({ isRanked, sort }: BrowseFilters): string {
  return [isRanked ? LIVE_FIRST : [], ORDERS[sort].by ?? [], START].flat().join(', ');
}

/** At most one more than MAX_COUNTED. */
export function countSql(filters: BrowseFilters): string {
  const rows = filters.search === null ? walksOf(filters) : [searched(filters)];
  const found = rows.map((walk) => `SELECT 1 ${walk}`).join(' UNION ALL ');
  return `SELECT count(*) AS total FROM (${found} LIMIT ${MAX_COUNTED + 1})`;
}

function walksOf(filters: BrowseFilters): string[] {
  const statuses = filters.status === null ? OPEN_STATUSES.map((status) => `'${status}'`) : ['@status'];
  return statuses.map((status) => {
    const conditions = [`status = ${status}`, ...conditionsOf(filters)];
    return `FROM catalog_events WHERE ${conditions.join(' AND ')}`;
  });
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
