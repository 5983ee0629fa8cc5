/** The lists of markets and events, against a catalogue that is filtered and sorted by hand (RULES.md 12.1 to 12.8). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { EventEntry, MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { CATEGORIES_SQL, CatalogFacts } from '../../../../gateway/markets/catalogFactsQueries.ts';
import {
  CatalogLists,
  type EventListTask,
  eventSearchSql,
  MARKET_SORTS,
  type MarketListTask,
  marketSearchSql,
} from '../../../../gateway/markets/catalogListsQueries.ts';
import { walkSql } from '../../../../gateway/markets/catalogWalks.ts';
import { searchWords } from '../../../../gateway/markets/catalogWordsQueries.ts';
import { MARKET_STATUS_NAMES, type MarketStatus } from '../../../../shared/base/codes.ts';
import { CatalogRig } from '../../../support/catalogRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(20_260_102);
const random = new Random(seed);
const rig = new CatalogRig();
let db: Database.Database;
let lists: CatalogLists;

type Sort = MarketListTask['sort'];
/** A market as the oracle knows it. */
type Known = {
  readonly market: MarketEntry;
  status: string;
  startMs: number;
  endMs: number;
  volume: number;
};
const known: Known[] = [];

const CATEGORIES = ['Weather', 'Sports', 'Politics'];
const TITLES = ['Will it rain?', 'Will it snow?', 'Élection of Paris', 'Who wins?', 'a b', 'Zebra, zebra', '世界大会'];
const WORDS = ['rain', 'win', 'WILL it', 'election', 'zeb', 'nothing', '世界', 'it'];

/** Few different values of each key, so that many rows have equal ones. */
function addMarket(): Known {
  const terms = {
    status: random.below(MARKET_STATUS_NAMES.length) as MarketStatus,
    startMs: 1000 + random.below(4),
    endMs: 2000 + random.below(4),
  };
  const isDeployed = random.chance(50);
  const details = {
    title: random.pick(TITLES),
    description: random.pick(['Yes if it does.', 'The winner takes it.', '']),
    category: random.pick(CATEGORIES),
    ...(isDeployed ? { condition_id: `0x${'ab'.repeat(32)}` } : {}),
  };
  const market = rig.open(details, null, terms);
  const volume = random.chance(30) ? random.between(1, 3) * 1000 : 0;
  if (volume > 0) rig.trade(market, volume);
  const entry = { market, ...terms, status: MARKET_STATUS_NAMES[terms.status]!, volume: volume * 50 };
  known.push(entry);
  return entry;
}

before(() => {
  console.log(`seed ${seed}`);
  for (let i = 0; i < 240; i++) addMarket();
  for (let i = 0; i < 60; i++) {
    rig.event({
      title: random.pick(['Finals', 'Night of rain', 'Derby']),
      description: random.pick(['A game.', 'Rain or shine.']),
      category: random.pick(CATEGORIES),
      status: random.pick(['upcoming', 'live', 'ended', 'cancelled']),
      sport_league: random.pick([null, 'NFL', 'NBA']),
      sport_teams: random.pick([null, ['Bears', 'Lions'], ['Lions', 'Hawks']]),
    });
  }
  rig.describe({ title: 'Will it rain? Never opened', category: 'Weather' });
  rig.project();
  db = new Database(rig.readDbPath, { readonly: true });
  lists = new CatalogLists(db);
});

after(() => {
  db.close();
  rig.close();
});

function listed(task: Partial<MarketListTask> = {}): { total: number; rows: number[] } {
  const { total, rows } = lists.markets({
    category: null,
    status: null,
    deployStatus: null,
    search: null,
    sort: null,
    descending: true,
    limit: 100,
    offset: 0,
    before: null,
    ...task,
  })!;
  return { total, rows: [...rows] };
}

function oracle(task: Partial<MarketListTask>): { total: number; rows: number[] } {
  const { category, status, deployStatus, search, sort = null, descending = true, limit = 100, offset = 0 } = task;
  const found = known
    .filter(({ market }) => category == null || market.details.category === category)
    .filter((entry) => status == null || entry.status === status)
    .filter(({ market }) => deployStatus == null || deployOf(market) === deployStatus)
    .filter(({ market }) => search == null || hasWords(market.details, search))
    .sort((a, b) => {
      const order = compare(keyOf(a, sort), keyOf(b, sort)) || compare(a.market.id, b.market.id);
      return descending ? -order : order;
    })
    .map(({ market }) => market.index);
  return { total: found.length, rows: found.slice(offset, offset + limit) };
}

function deployOf({ details }: MarketEntry): string {
  return details.condition_id === undefined ? 'not_deployed' : 'deployed';
}

function keyOf({ market, status, startMs, endMs, volume }: Known, sort: Sort): string | number {
  switch (sort) {
    case 'updated_at':
      return market.updatedMs;
    case 'title':
      return market.details.title;
    case 'trading_starts_at':
      return startMs;
    case 'trading_ends_at':
      return endMs;
    case 'status':
      return status;
    case 'total_volume':
      return volume;
    default:
      return market.index;
  }
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The words of a text as people see them: without accents, in lower case. */
function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function hasWords({ title, description }: { title: string; description: string }, search: string): boolean {
  const there = wordsOf(`${title} ${description}`);
  const wanted = wordsOf(search);
  const isLong = (word: string): boolean => word.length >= 3 || /[\u4e00-\u9fff]/.test(word);
  return wanted.every((word) => there.some((one) => (isLong(word) ? one.startsWith(word) : one === word)));
}

const SORTS: Sort[] = [null, ...(Object.keys(MARKET_SORTS) as (keyof typeof MARKET_SORTS)[])];
const FILTERS: Partial<MarketListTask>[] = [null, 'Sports', 'None'].flatMap((category) =>
  [null, 'active', 'settled', 'no such status'].flatMap((status) =>
    [null, 'deployed', 'failed'].map((deployStatus) => ({ category, status, deployStatus })),
  ),
);

describe('a list of markets', () => {
  for (const sort of SORTS) {
    it(`sorted by ${sort ?? 'created_at'} has the rows of the oracle, under every filter, in both directions`, () => {
      for (const filter of FILTERS) {
        for (const descending of [true, false]) {
          for (const offset of [0, 3, 130, 239, 240, 500]) {
            const task = { ...filter, sort, descending, offset, limit: 7 };
            assert.deepEqual(listed(task), oracle(task), JSON.stringify(task));
          }
        }
      }
    });

    it(`sorted by ${sort ?? 'created_at'} is searched as by the oracle`, () => {
      for (const search of WORDS) {
        for (const filter of [{}, { category: 'Sports' }, { status: 'active', deployStatus: 'deployed' }]) {
          for (const descending of [true, false]) {
            const task = { ...filter, search, sort, descending, offset: 2, limit: 9 };
            assert.deepEqual(listed(task), oracle(task), JSON.stringify(task));
          }
        }
      }
    });
  }

  it('shows every row of an unchanged list once, whatever the pages', () => {
    for (const sort of SORTS) {
      for (const limit of [1, 7, 100]) {
        const seen: number[] = [];
        for (let offset = 0; offset < 300; offset += limit) seen.push(...listed({ sort, limit, offset }).rows);
        assert.deepEqual(seen, oracle({ sort, limit: 1000 }).rows);
      }
    }
  });

  it('neither skips nor repeats by cursor, while markets are made and changed', () => {
    const all = oracle({ limit: 1000 }).rows;
    const changeable = known.slice();
    const seen: number[] = [];
    for (let before: number | null = null; ; ) {
      const { rows } = listed({ limit: 13, before });
      if (rows.length === 0) break;
      seen.push(...rows);
      before = rows.at(-1)!;
      addMarket();
      const entry = random.pick(changeable);
      rig.change(entry.market, { title: random.pick(TITLES) });
      rig.trade(entry.market, 1000);
      entry.volume += 1000 * 50;
      rig.project();
    }
    assert.deepEqual(seen, all);
    assert.deepEqual(listed({ sort: 'total_volume' }), oracle({ sort: 'total_volume' }));
  });

  it('by cursor has the total of the whole list', () => {
    assert.equal(listed({ before: 3 }).total, known.length);
    assert.deepEqual(listed({ before: 3, search: 'it', limit: 1 }).total, oracle({ search: 'it' }).total);
  });
});

describe('a search', () => {
  it('is words and nothing else, whatever is typed', () => {
    const hostile = [
      '"',
      '"" OR title:*',
      'rain AND NOT snow',
      'NEAR(rain snow, 1)',
      'title : rain',
      'rain*',
      '^rain',
      '-rain',
      'rain) OR (1',
      "'; DROP TABLE market_search; --",
      '\u0000rain',
      '🌧',
      '́',
      `${'x'.repeat(200)}`,
      'a '.repeat(100),
    ];
    for (const search of hostile) assert.doesNotThrow(() => listed({ search }), search);
    assert.deepEqual(listed({ search: 'rain*' }), listed({ search: 'rain' }));
    assert.deepEqual(listed({ search: '"rain" -it' }), listed({ search: 'rain it' }));
    assert.equal(listed({ search: 'rain AND snow' }).total, 0, 'AND is a word like any other');
  });

  it('without a word finds nothing', () => {
    for (const search of ['?!', '""', '🌧']) {
      assert.deepEqual(searchWords(search), []);
      assert.deepEqual(listed({ search }), { total: 0, rows: [] });
    }
  });

  it('does not find a market that no shard has opened', () => {
    assert.equal(listed({ search: 'never' }).total, 0);
  });
});

describe('a list of events', () => {
  const event = (task: Partial<EventListTask>): { total: number; rows: number[] } => {
    const { total, rows } = lists.events({
      category: null,
      status: null,
      search: null,
      limit: 100,
      offset: 0,
      ...task,
    })!;
    return { total, rows: [...rows] };
  };
  const oracleOf = (matches: (event: EventEntry) => boolean): { total: number; rows: number[] } => {
    const rows = rig.catalog.events.filter(matches).map(({ index }) => index);
    return { total: rows.length, rows: rows.reverse() };
  };

  it('is newest first, filtered and searched as by the oracle', () => {
    for (const category of [null, 'Sports', 'None']) {
      for (const status of [null, 'live', 'no such status']) {
        for (const search of [null, 'rain', 'finals game', 'der', 'nothing']) {
          const expected = oracleOf(
            ({ details }) =>
              (category === null || details.category === category) &&
              (status === null || details.status === status) &&
              (search === null || hasWords(details, search)),
          );
          assert.deepEqual(event({ category, status, search }), expected);
          const slice = { total: expected.total, rows: expected.rows.slice(4, 7) };
          assert.deepEqual(event({ category, status, search, offset: 4, limit: 3 }), slice);
        }
      }
    }
  });
});

describe('the catalogue as a whole', () => {
  it('has its categories and numbers', () => {
    const active = known.filter(({ status }) => status === 'active').length;
    assert.deepEqual(new CatalogFacts(db).metadata(), {
      categories: CATEGORIES.toSorted(),
      total_markets: known.length,
      active_markets: active,
    });
  });

  it('has the leagues of its events with their teams', () => {
    const { events } = rig.catalog;
    const sports = [
      ...new Set(events.filter(({ details }) => details.sport_league !== null).map((e) => e.details.category)),
    ];
    const expected = sports.sort().map((name) => {
      const ofSport = events.map(({ details }) => details).filter(({ category }) => category === name);
      const leagues = [...new Set(ofSport.flatMap(({ sport_league }) => sport_league ?? []))].sort();
      return {
        name,
        leagues: leagues.map((league) => {
          const teams = ofSport.filter((e) => e.sport_league === league).flatMap((e) => e.sport_teams ?? []);
          return { name: league, teams: [...new Set(teams)].sort() };
        }),
      };
    });
    assert.deepEqual(new CatalogFacts(db).taxonomy(), { sports: expected });
  });
});

describe('the plan of every list', () => {
  const plan = (sql: string): string[] =>
    db
      .prepare<Record<string, unknown>[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null])))
      .map(({ detail }) => detail);
  const MARKETS = { name: 'catalog_markets', id: 'market', group: 'facet' };
  const EVENTS = { name: 'catalog_events', id: 'event', group: 'status' };

  it('is a search of an index for each group, without a sort', () => {
    let plans = 0;
    for (const table of [MARKETS, EVENTS]) {
      const keys = table === MARKETS ? SORTS.map((sort) => (sort === null ? [] : [MARKET_SORTS[sort], 'uuid'])) : [[]];
      for (const columns of keys) {
        for (const groups of [1, 2, 5, 48]) {
          for (const descending of [true, false]) {
            for (const hasCategory of [true, false]) {
              for (const hasBefore of [true, false]) {
                const sql = walkSql(table, { groups, keys: columns, descending, hasCategory, hasBefore });
                const steps = plan(sql);
                plans++;
                assert.ok(!steps.some((step) => /SCAN|TEMP B-TREE/.test(step)), `${sql}\n${steps.join('\n')}`);
                const searches = steps.filter((step) => /^SEARCH \w+ USING COVERING INDEX/.test(step));
                assert.equal(searches.length, groups, steps.join('\n'));
              }
            }
          }
        }
      }
    }
    assert.equal(plans, (7 + 1) * 4 * 2 * 2 * 2);
  });

  it('of the categories is a search for each', () => {
    const steps = plan(CATEGORIES_SQL).filter((step) => step.includes('market_counts'));
    assert.ok(steps.length === 2 && steps.every((step) => step.startsWith('SEARCH')), steps.join('\n'));
  });

  it('of a search is its full-text index, and a sort of no more than is counted', () => {
    for (const sort of SORTS) {
      for (const category of [null, 'Sports']) {
        const steps = plan(marketSearchSql({ sort, descending: true, category, before: 5 }));
        assert.ok(
          steps.some((step) => /SCAN market_search VIRTUAL TABLE INDEX/.test(step)),
          steps.join('\n'),
        );
        assert.ok(
          steps.some((step) => /SEARCH listed USING INTEGER PRIMARY KEY/.test(step)),
          steps.join('\n'),
        );
        assert.equal(steps.filter((step) => /^SCAN (?!market_search VIRTUAL|\(subquery)/.test(step)).length, 0);
      }
    }
    const steps = plan(eventSearchSql({ category: 'Sports' }));
    assert.ok(!steps.some((step) => /TEMP B-TREE|SCAN listed/.test(step)), steps.join('\n'));
  });
});
