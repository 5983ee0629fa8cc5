/** Pages of `browse` against a slow and obvious twin, and the indexes that serve them (RULES.md 12.34). */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { type BrowseFilters, BrowseQueries, countSql, pageSql } from '../../../../gateway/markets/browseQueries.ts';
import type { EventEntry } from '../../../../gateway/markets/catalog.ts';
import { MARKET_STATUS, type MarketStatus } from '../../../../shared/base/codes.ts';
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
  limit: 50,
  offset: 0,
};

type Known = { readonly event: EventEntry; readonly statuses: MarketStatus[]; readonly names: string };

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
  const statuses = Array.from({ length: random.below(3) }, () => random.below(8) as MarketStatus);
  for (const status of statuses) rig.open({ title: `Question number ${at}` }, event.id, { status });
  const names = `${event.details.title} ${teams?.join(' ')} ${statuses.length > 0 ? `Question number ${at}` : ''}`;
  return { event, statuses, names };
}

function expected({ status, category, league, search, isRanked }: BrowseFilters): number[] {
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
  matching.sort((a, b) => rank(a) - rank(b) || startMs(a) - startMs(b) || a.event.index - b.event.index);
  return matching.map(({ event }) => event.index);
}

function everyFilter(): BrowseFilters[] {
  const filters: BrowseFilters[] = [];
  for (const status of [null, ...STATUSES, 'no such status']) {
    for (const category of [null, ...CATEGORIES]) {
      for (const league of [null, 'NBA']) {
        for (const search of [null, 'lakers', 'EVEN ques', 'quebec', 'question number']) {
          for (const isRanked of [false, true])
            filters.push({ ...EVERYTHING, status, category, league, search, isRanked });
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
    for (const filters of [EVERYTHING, { ...EVERYTHING, isRanked: true }, { ...EVERYTHING, search: 'evening' }]) {
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

test('every page and every count is served by an index, and only the rows of pages are sorted', () => {
  const parameters = { ...EVERYTHING, status: 'live', category: 'Sports', league: 'NBA', search: '"a" *' };
  for (const filters of everyFilter()) {
    for (const sql of [pageSql(filters), countSql(filters)]) {
      const plan = db.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(parameters);
      const steps = plan.map(({ detail }) => detail);
      assert.ok(!steps.some((step) => /SCAN catalog_events/.test(step)), `${sql}\n${steps.join('\n')}`);
      const shown = `${sql}\n${steps.join('\n')}`;
      if (filters.search !== null) {
        assert.match(shown, /event_names VIRTUAL TABLE/);
        assert.match(shown, /SEARCH catalog_events USING INTEGER PRIMARY KEY/);
        continue;
      }
      const walks = steps.filter((step) => /SEARCH catalog_events USING (?:COVERING )?INDEX \w+_by_start/.test(step));
      assert.equal(walks.length, filters.status === null ? 2 : 1, shown);
      assert.ok(steps.filter((step) => step.includes('USE TEMP B-TREE')).length <= 1, shown);
    }
  }
});

test('the last price of a market is the tick of its last trade', () => {
  const market = rig.open({ title: 'Traded' });
  rig.trade(market, 1000);
  rig.project();
  assert.deepEqual(queries.lastTicks([market.index, market.index - 1, 999_999]), [50, 0, 0]);
});
