/** Pages of `browse` against a slow and obvious twin, and the indexes that serve them (RULES.md 12.34). */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { type BrowseFilters, BrowseQueries, countSql, pageSql } from '../../../../gateway/markets/browseQueries.ts';
import type { EventEntry } from '../../../../gateway/markets/catalog.ts';
import { KEPT_MS, TRENDING_SQL } from '../../../../gateway/markets/eventRanksQueries.ts';
import { BROWSE_SORTS, type BrowseSort } from '../../../../shared/api/browse.ts';
import { MARKET_STATUS, type MarketStatus } from '../../../../shared/base/codes.ts';
import { DAY_MS } from '../../../../shared/tables/buckets.ts';
import { CATALOG_T0, CatalogRig } from '../../../support/catalogRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const EVENTS = 60;
const STATUSES = ['upcoming', 'live', 'ended', 'cancelled'] as const;
const CATEGORIES = ['Sports', 'Politics'];
const LEAGUES = ['NBA', 'NFL', null];
const TEAMS = ['Lakers', 'Celtics', 'Bears', 'Québec'];
const OPEN: readonly MarketStatus[] = [MARKET_STATUS.ACTIVE, MARKET_STATUS.LOCKED, MARKET_STATUS.RESOLVING];
const EVERYTHING: BrowseFilters = {
  status: null,
  category: null,
  league: null,
  search: null,
  isRanked: false,
  sort: 'start',
  nowMs: CATALOG_T0,
  limit: 50,
  offset: 0,
};

/** The index of each walk to a page, without its category and league; open events have no index by volume. */
const WALKS: Readonly<Record<BrowseSort, readonly RegExp[]>> = {
  start: [/_by_start/],
  trending: [/INTEGER PRIMARY KEY/, /_by_start/],
  volume: [/_by_volume/],
  new: [/(?:events|category|league)_status/],
  ending: [/_by_end/, /_by_start/],
};

type Known = {
  readonly event: EventEntry;
  readonly statuses: MarketStatus[];
  readonly names: string;
  /** The lots traded in its markets, and when the first of those that are open ends. */
  readonly lots: number;
  readonly endMs: number;
};

const rig = new CatalogRig();
after(() => rig.close());
const seed = seedOr(20_260_301);
const random = new Random(seed);
const known = Array.from({ length: EVENTS }, (_, at) => makeEvent(at));
rig.project();
const db = new Database(rig.readDbPath, { readonly: true });
after(() => db.close());
const queries = new BrowseQueries(db);

function makeEvent(at: number): Known {
  const league = random.pick(LEAGUES);
  const teams = league === null ? null : [random.pick(TEAMS), random.pick(TEAMS)];
  const event = rig.event({
    title: `Evening ${random.below(9)}`,
    status: random.pick(STATUSES),
    category: random.pick(CATEGORIES),
    sport_league: league,
    sport_teams: teams,
    // Many start at the same time: then the older one comes first.
    start_time: new Date(CATALOG_T0 + random.below(8) * 1000).toISOString(),
  });
  const outcomes = random.pick([
    ['Yes', 'No'],
    ['Peñarol', 'Neither side'],
    ['yes', 'Draw'],
  ]);
  const statuses = Array.from({ length: random.below(3) }, () => random.below(8) as MarketStatus);
  let [lots, endMs] = [0, Number.POSITIVE_INFINITY];
  for (const status of statuses) {
    const ends = CATALOG_T0 + 1000 + random.below(5);
    const market = rig.open({ title: `Question number ${at}`, outcomes }, event.id, { status, endMs: ends });
    const traded = random.below(4);
    if (traded > 0) rig.trade(market, traded);
    lots += traded;
    if (OPEN.includes(status)) endMs = Math.min(endMs, ends);
  }
  const said = outcomes.filter((name) => !/^(?:yes|no)$/i.test(name)).join(' ');
  const ofMarkets = statuses.length > 0 ? `Question number ${at} ${said}` : '';
  const names = `${event.details.title} ${teams?.join(' ')} ${ofMarkets}`;
  return { event, statuses, names, lots, endMs };
}

function expected({ status, category, league, search, isRanked, sort }: BrowseFilters): number[] {
  const words = search?.toLowerCase().split(' ') ?? [];
  const matching = known.filter(({ event: { details }, statuses, names }) => {
    const isOpen = ['upcoming', 'live'].includes(details.status) && statuses.some((each) => OPEN.includes(each));
    if (status === null ? !isOpen : details.status !== status) return false;
    if (category !== null && details.category !== category) return false;
    if (league !== null && details.sport_league !== league) return false;
    const plain = names.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '').split(' ');
    return words.every((word) => plain.some((name) => name.startsWith(word)));
  });
  const rank = ({ event }: Known): number => (isRanked && event.details.status !== 'live' ? 1 : 0);
  const startMs = ({ event }: Known): number => Date.parse(event.details.start_time);
  const order: Record<BrowseSort, (a: Known, b: Known) => number> = {
    start: () => 0,
    trending: (a, b) => b.lots - a.lots,
    volume: (a, b) => b.lots - a.lots,
    new: (a, b) => b.event.index - a.event.index,
    ending: (a, b) => (a.endMs === b.endMs ? 0 : a.endMs - b.endMs),
  };
  matching.sort(
    (a, b) => rank(a) - rank(b) || order[sort](a, b) || startMs(a) - startMs(b) || a.event.index - b.event.index,
  );
  return matching.map(({ event }) => event.index);
}

function everyFilter(): BrowseFilters[] {
  const filters: BrowseFilters[] = [];
  for (const status of [null, ...STATUSES, 'no such status']) {
    for (const category of [null, ...CATEGORIES]) {
      for (const league of [null, 'NBA']) {
        for (const search of [null, 'lakers', 'EVEN ques', 'quebec', 'penarol', 'draw number', 'yes']) {
          const named = { ...EVERYTHING, status, category, league, search };
          for (const isRanked of [false, true]) filters.push({ ...named, isRanked });
          for (const sort of BROWSE_SORTS) filters.push({ ...named, sort });
        }
      }
    }
  }
  return filters;
}

describe(`a page of browse (SEED=${seed})`, () => {
  test('has the events that every filter lets pass, in order, and counts all of them', () => {
    let found = 0;
    for (const filters of everyFilter()) {
      const page = queries.page({ ...filters, limit: EVENTS });
      assert.deepEqual(
        page,
        { rows: expected(filters), total: page!.rows.length, isFloor: false },
        JSON.stringify(filters),
      );
      found += page!.rows.length;
    }
    assert.ok(found > 1000, `${found} events found`);
  });

  test('is a part of the whole: pages follow each other without a gap or a repetition', () => {
    const sorted = BROWSE_SORTS.map((sort) => ({ ...EVERYTHING, sort }));
    for (const filters of [...sorted, { ...EVERYTHING, isRanked: true }, { ...EVERYTHING, search: 'evening' }]) {
      const whole = expected(filters);
      const paged: number[] = [];
      for (let offset = 0; offset < whole.length; offset += 3) {
        const { rows, total } = queries.page({ ...filters, limit: 3, offset })!;
        assert.equal(total, whole.length);
        paged.push(...rows);
      }
      assert.deepEqual(paged, whole);
    }
  });

  test('of a text without words has no event, whatever characters it has', () => {
    for (const search of ['', '"', '*', '" OR "', '(-)', "'; --"]) {
      assert.deepEqual(queries.page({ ...EVERYTHING, search }), { rows: [], total: 0, isFloor: false });
    }
    const words = Array.from({ length: 500 }, () => 'evening').join(' ');
    assert.ok(queries.page({ ...EVERYTHING, search: words })!.total > 0);
  });
});

test('each page is found by indexes in its order, each count by one, but for open events by volume', () => {
  const parameters = { ...EVERYTHING, status: 'live', category: 'Sports', league: 'NBA', search: '"a" *' };
  for (const filters of everyFilter()) {
    const planOf = (sql: string): string[] => {
      const plan = db.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(parameters);
      return plan.map(({ detail }) => detail);
    };
    const [page, count] = [planOf(pageSql(filters)), planOf(countSql(filters))];
    const shown = `${JSON.stringify(filters)}\n${page.join('\n')}\n${count.join('\n')}`;
    assert.ok(![...page, ...count].some((step) => /SCAN catalog_events/.test(step)), shown);
    if (filters.search !== null) {
      for (const plan of [page, count]) {
        assert.match(plan.join('\n'), /event_names VIRTUAL TABLE/);
        assert.match(plan.join('\n'), /SEARCH catalog_events USING INTEGER PRIMARY KEY/);
      }
      continue;
    }
    const statuses = filters.status === null ? 2 : 1;
    const isOpen = filters.status === null || ['upcoming', 'live'].includes(filters.status);
    const searches = (plan: string[]): string[] => plan.filter((step) => step.startsWith('SEARCH catalog_events'));
    assert.equal(searches(count).length, statuses, shown);
    const isSorted = filters.sort === 'volume' && isOpen;
    const walks = isSorted ? WALKS.new : WALKS[filters.sort];
    assert.equal(searches(page).length, statuses * walks.length, shown);
    searches(page).forEach((step, at) => {
      assert.match(step, walks[at % walks.length]!, shown);
    });
    // That of the page, and those of what is read whole: the events that traded in a day, or the open ones.
    const sorts = page.filter((step) => step.includes('USE TEMP B-TREE')).length;
    assert.ok(sorts <= 1 + (isSorted || filters.sort === 'trending' ? statuses : 0), shown);
  }
});

test('trending counts the trades of 24 hours, kept for half a minute; volume all trades', () => {
  const [old, fresh] = ['Long ago', 'Today'].map((title) => rig.event({ title, category: 'Trades' }));
  const [first, second] = [old, fresh].map((event) => rig.open({ title: 'Traded' }, event.id));
  const of = (sort: BrowseSort, nowMs: number): number[] =>
    queries.page({ ...EVERYTHING, category: 'Trades', sort, nowMs })!.rows.slice();
  rig.trade(first, 1000);
  rig.pass(2 * DAY_MS);
  rig.trade(second, 10);
  rig.project();
  const nowMs = rig.nowMs;
  assert.deepEqual(of('trending', nowMs), [fresh.index, old.index]);
  assert.deepEqual(of('volume', nowMs), [old.index, fresh.index]);
  rig.trade(second, 5000);
  rig.trade(first, 9000);
  rig.project();
  assert.deepEqual(of('volume', nowMs), [old.index, fresh.index]);
  assert.deepEqual(of('trending', nowMs + KEPT_MS - 1), [fresh.index, old.index]);
  assert.deepEqual(of('trending', nowMs + KEPT_MS), [old.index, fresh.index]);
  rig.trade(second, 9000);
  rig.project();
  assert.deepEqual(of('volume', nowMs), [fresh.index, old.index], 'the volume of an event follows its markets');
});

test('an order reads the events that are open, and none of their markets', () => {
  for (const sort of BROWSE_SORTS) {
    const sql = pageSql({ ...EVERYTHING, sort });
    const plan = db.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(EVERYTHING);
    assert.ok(!plan.some(({ detail }) => /catalog_markets/.test(detail)), sql);
  }
  const trading = db.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${TRENDING_SQL}`).all({ sinceMs: 0 });
  const steps = trading.map(({ detail }) => detail).join('\n');
  assert.match(steps, /SEARCH candles USING INDEX candles_by_hour \(start_ms>\?\)/);
  assert.match(steps, /SEARCH catalog_markets USING INTEGER PRIMARY KEY/);
});
