/**
 * The SQL of the lists of markets and events (RULES.md 12.1). Runs in a thread of the query pool.
 *
 * Totals are kept by the projector. Only a search counts its results, up to MAX_COUNTED: if more markets contain the
 * words, the newest are listed. A search reads everything that it counts, once, and returns a part of it.
 */
import type Database from 'better-sqlite3';
import { EVENT_SEARCH } from '../../shared/tables/catalogEvents.ts';
import {
  ALL_CATEGORIES,
  deployStatusOfFacet,
  MARKET_SEARCH,
  statusOfFacet,
} from '../../shared/tables/catalogMarkets.ts';
import { MAX_COUNTED, type Page, pageOf } from '../base/page.ts';
import { directed, type Walk, type WalkedTable, walkSql } from './catalogWalks.ts';
import { SearchBudget } from './searchBudgetQueries.ts';

/** The sort orders of a list of markets, besides order of creation, and their columns. */
export const MARKET_SORTS = {
  updated_at: 'updated_ms',
  title: 'title',
  trading_starts_at: 'start_ms',
  trading_ends_at: 'end_ms',
  status: 'status',
  total_volume: 'volume_micro',
} as const;

type Slice = {
  readonly category: string | null;
  /** Null for all. */
  readonly status: string | null;
  readonly search: string | null;
  readonly limit: number;
  readonly offset: number;
};

export type MarketListTask = Slice & {
  readonly deployStatus: string | null;
  /** Null for order of creation. */
  readonly sort: keyof typeof MARKET_SORTS | null;
  readonly descending: boolean;
  /** A market index: only markets created before it. */
  readonly before: number | null;
};

export type EventListTask = Slice;

/** Indexes of markets or events. */
type IndexPage = Page<number>;

type Parameters = Record<string, string | number | bigint>;
type Statement = Database.Statement<[Parameters], number>;

const MARKETS: WalkedTable = { name: 'catalog_markets', id: 'market', group: 'facet' };
const EVENTS: WalkedTable = { name: 'catalog_events', id: 'event', group: 'status' };
const EMPTY: IndexPage = pageOf([], 0, 0);
/** Statements are cached by text. More texts are possible than are ever in use. */
const MAX_STATEMENTS = 200;

export class CatalogLists {
  readonly #db: Database.Database;
  readonly #facets: Database.Statement<[string], { facet: number; markets: number }>;
  readonly #statuses: Database.Statement<[string], { status: string; events: number }>;
  readonly #budget: SearchBudget;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
    this.#facets = db.prepare('SELECT facet, markets FROM market_counts WHERE category = ?');
    this.#statuses = db.prepare('SELECT status, events FROM event_counts WHERE category = ?');
    this.#budget = SearchBudget.of(db);
    for (const { name } of [MARKET_SEARCH, EVENT_SEARCH]) this.#budget.reads(name);
  }

  /** Null: the search would take too long. */
  markets(task: MarketListTask): IndexPage | null {
    return this.#budget.within(() => this.#markets(task));
  }

  events(task: EventListTask): IndexPage | null {
    return this.#budget.within(() => this.#events(task));
  }

  #markets(task: MarketListTask): IndexPage {
    const { status, deployStatus } = task;
    const facets = this.#facets
      .all(task.category ?? ALL_CATEGORIES)
      .filter(({ facet }) => status === null || statusOfFacet(facet) === status)
      .filter(({ facet }) => deployStatus === null || deployStatusOfFacet(facet) === deployStatus);
    if (facets.length === 0) return EMPTY;
    const groups = facets.map(({ facet }) => facet);
    if (task.search !== null) return this.#search(task, groups);
    const total = facets.reduce((sum, { markets }) => sum + markets, 0);
    const keys = task.sort === null ? [] : [MARKET_SORTS[task.sort], 'uuid'];
    return this.#walk(MARKETS, task, { keys, descending: task.descending, groups, total, before: task.before });
  }

  #events(task: EventListTask): IndexPage {
    const statuses = this.#statuses
      .all(task.category ?? ALL_CATEGORIES)
      .filter(({ status }) => task.status === null || status === task.status);
    if (statuses.length === 0) return EMPTY;
    const groups = statuses.map(({ status }) => status);
    if (task.search !== null) return this.#searchEvents(task, groups);
    const total = statuses.reduce((sum, { events }) => sum + events, 0);
    return this.#walk(EVENTS, task, { keys: [], descending: true, groups, total, before: null });
  }

  #walk(table: WalkedTable, { category, limit, offset }: Slice, walk: WalkOf): IndexPage {
    const { groups, before, total } = walk;
    // Reads from the nearer end: rows that a page skips are scanned too.
    const isFromEnd = before === null && offset > total / 2;
    const count = Math.max(0, Math.min(limit, total - offset));
    if (before === null && count === 0) return { total, isFloor: false, rows: [] };
    const descending = walk.descending !== isFromEnd;
    const hasCategory = category !== null;
    const hasBefore = before !== null;
    const shape: Walk = { groups: groups.length, keys: walk.keys, descending, hasCategory, hasBefore };
    const parameters: Parameters = {
      limit: hasBefore ? limit : count,
      offset: isFromEnd ? total - offset - count : offset,
    };
    for (const [index, group] of groups.entries()) parameters[`group${index}`] = group;
    if (category !== null) parameters['category'] = category;
    if (before !== null) parameters['before'] = before;
    const rows = this.#statement(walkSql(table, shape)).all(parameters);
    return { total, isFloor: false, rows: isFromEnd ? rows.reverse() : rows };
  }

  #search(task: MarketListTask, facets: readonly number[]): IndexPage {
    const words = this.#budget.query(MARKET_SEARCH.name, task.search!);
    if (words === null) return EMPTY;
    const parameters: Parameters = { words, facets: facets.reduce((mask, facet) => mask | (1n << BigInt(facet)), 0n) };
    if (task.category !== null) parameters['category'] = task.category;
    const { before, limit, offset } = task;
    const found = this.#statement(marketSearchSql({ ...task, before: null })).all(parameters);
    if (before === null) return pageOf(found.slice(offset, offset + limit), found.length, offset);
    // A cursor may point beyond the newest ones.
    const isBeyond = found.length > MAX_COUNTED && found.at(-1)! >= before;
    const later = isBeyond
      ? this.#statement(marketSearchSql(task)).all({ ...parameters, before })
      : found.filter((market) => market < before);
    return pageOf(later.slice(0, limit), found.length, 0);
  }

  #searchEvents(task: EventListTask, statuses: readonly string[]): IndexPage {
    const words = this.#budget.query(EVENT_SEARCH.name, task.search!);
    if (words === null) return EMPTY;
    const parameters: Parameters = { words, statuses: JSON.stringify(statuses) };
    if (task.category !== null) parameters['category'] = task.category;
    const found = this.#statement(eventSearchSql(task)).all(parameters);
    return pageOf(found.slice(task.offset, task.offset + task.limit), found.length, task.offset);
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      if (this.#statements.size === MAX_STATEMENTS) this.#statements.clear();
      statement = this.#db.prepare<[Parameters], number>(sql).pluck();
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

type WalkOf = Pick<Walk, 'keys' | 'descending'> & {
  readonly groups: readonly (string | number)[];
  readonly before: number | null;
  readonly total: number;
};

/** The newest markets that contain the words, as many as are counted, in the order of the list. */
export function marketSearchSql({
  sort,
  descending,
  category,
  before,
}: Pick<MarketListTask, 'sort' | 'descending' | 'category' | 'before'>): string {
  const key = sort === null ? 'market' : MARKET_SORTS[sort];
  const found = `
    SELECT listed.market AS market, listed.${key} AS key, listed.uuid AS uuid
    FROM market_search CROSS JOIN catalog_markets AS listed ON listed.market = market_search.rowid
    WHERE market_search MATCH @words AND spent(market_search.rowid) AND (@facets >> listed.facet) & 1
      ${category === null ? '' : 'AND listed.category = @category'}
      ${before === null ? '' : 'AND market_search.rowid < @before'}
    ORDER BY market_search.rowid DESC LIMIT ${MAX_COUNTED + 1}`;
  return `SELECT market FROM (${found}) ORDER BY ${directed(['key', 'uuid'], descending)}`;
}

/** The same for events, newest first. */
export function eventSearchSql({ category }: Pick<EventListTask, 'category'>): string {
  return `
    SELECT listed.event AS event
    FROM event_search CROSS JOIN catalog_events AS listed ON listed.event = event_search.rowid
    WHERE event_search MATCH @words AND spent(event_search.rowid)
      AND listed.status IN (SELECT value FROM json_each(@statuses))
      ${category === null ? '' : 'AND listed.category = @category'}
    ORDER BY event_search.rowid DESC LIMIT ${MAX_COUNTED + 1}`;
}
