/**
 * Measures the queries of the pool over one read.db. A history with few trades has fewer points, positions and fills to
 * answer, so each row says how many its answers have; if these numbers differ, growth is that of the time per row.
 */
import Database from 'better-sqlite3';
import { FILLS_EVER } from '../gateway/base/page.ts';
import { type BrowseFilters, BrowseQueries } from '../gateway/markets/browseQueries.ts';
import { CandleQueries } from '../gateway/markets/candleQueries.ts';
import { CatalogFacts } from '../gateway/markets/catalogFactsQueries.ts';
import { CatalogLists, type MarketListTask } from '../gateway/markets/catalogListsQueries.ts';
import { ExchangeQueries } from '../gateway/markets/exchangeQueries.ts';
import { FillQueries } from '../gateway/markets/fillQueries.ts';
import { LeaderboardQueries, type LeaderboardTask, NO_MARK } from '../gateway/markets/leaderboardQueries.ts';
import { MarketHistoryQueries } from '../gateway/markets/marketHistoryQueries.ts';
import { OUTCOME } from '../shared/base/codes.ts';
import { DAY_MS, HOUR_MS } from '../shared/tables/buckets.ts';
import { Random } from '../test/support/random.ts';
import { END_MS, LEAGUES, type Sizes, WORDS } from './catalogueHistory.ts';
import { Histogram } from './histogram.ts';
import { type Row, STOLEN, StealMeter } from './report.ts';

const SEED = 13;
export const QUERIES = 200;
/** Measured parts of a leaderboard: the time of a part depends on its accounts and positions. */
const PARTS = 100;
/** Parts before those: the first ones look up the mark of each market for all later parts. */
const PARTS_BEFORE = 1000;
/** The windows of the leaderboard, in spans. */
const WINDOWS = {
  '24h': { by: 'hours', spans: 24 },
  '7d': { by: 'hours', spans: 7 * 24 },
  '30d': { by: 'days', spans: 30 },
  all: { by: 'days', spans: 365 },
} as const;

type Query = {
  readonly name: string;
  /** Returns the number of rows in its answer. */
  readonly ask: (random: Random) => number;
  /** Number of repetitions; default: QUERIES. */
  readonly times?: number;
  readonly warmUps?: number;
};
export type Measured = { readonly p50Us: number; readonly p99Us: number; readonly rowsOfAnswer: number };

export function measureQueries(
  readDbPath: string,
  sizes: Sizes,
): { readonly rows: Row[]; readonly byName: ReadonlyMap<string, Measured> } {
  const database = new Database(readDbPath, { readonly: true });
  const byName = new Map<string, Measured>();
  const rows: Row[] = [];
  for (const query of queriesOf(database, sizes)) {
    const steal = new StealMeter();
    const measured = measure(query);
    byName.set(query.name, measured);
    rows.push({
      what: `query over ${sizes.trades} trades, ${query.name}`,
      'p50 us': measured.p50Us,
      'p99 us': measured.p99Us,
      'rows of an answer': measured.rowsOfAnswer,
      [STOLEN]: steal.percent(),
    });
  }
  database.close();
  return { rows, byName };
}

function measure({ ask, times = QUERIES, warmUps = times / 10 }: Query): Measured {
  const random = new Random(SEED);
  const histogram = new Histogram();
  let answered = 0;
  for (let warmUp = 0; warmUp < warmUps; warmUp++) ask(random);
  for (let index = 0; index < times; index++) {
    const startedNs = process.hrtime.bigint();
    answered += ask(random);
    histogram.record(Number(process.hrtime.bigint() - startedNs));
  }
  return {
    p50Us: histogram.quantileUs(0.5),
    p99Us: histogram.quantileUs(0.99),
    rowsOfAnswer: answered / times,
  };
}

function queriesOf(database: Database.Database, sizes: Sizes): Query[] {
  return [...listQueries(database, sizes), ...browseQueries(database), ...statisticsQueries(database, sizes)];
}

function listQueries(database: Database.Database, { markets, events }: Sizes): Query[] {
  const lists = new CatalogLists(database);
  const facts = new CatalogFacts(database);
  const first: MarketListTask = {
    category: null,
    status: null,
    deployStatus: null,
    search: null,
    sort: null,
    descending: true,
    limit: 21,
    offset: 0,
    before: null,
  };
  const list = (task: Partial<MarketListTask>): number => lists.markets({ ...first, ...task })!.rows.length;
  const listEvents = (task: { readonly search?: string; readonly offset?: number }): number =>
    lists.events({ category: null, status: null, search: null, limit: 20, offset: 0, ...task })!.rows.length;
  const number = (random: Random): string => String(random.below(markets));
  return [
    { name: 'newest markets', ask: () => list({}) },
    { name: 'markets of a category and a status', ask: () => list({ category: 'Sports', status: 'active' }) },
    { name: 'markets after a cursor', ask: (random) => list({ before: random.below(markets) }) },
    { name: 'markets far down', ask: (random) => list({ offset: random.below(markets) }) },
    { name: 'markets by volume', ask: () => list({ sort: 'total_volume' }) },
    { name: 'markets by title', ask: () => list({ sort: 'title', descending: false }) },
    { name: 'markets by a rare word', ask: (random) => list({ search: number(random) }) },
    { name: 'markets by a common word', ask: (random) => list({ search: oneOf(WORDS, random) }) },
    { name: 'newest events', ask: () => listEvents({}) },
    { name: 'events far down', ask: (random) => listEvents({ offset: random.below(events) }) },
    { name: 'events by a common word', ask: (random) => listEvents({ search: oneOf(WORDS, random) }) },
    { name: 'metadata', ask: () => facts.metadata().categories.length },
    { name: 'taxonomy', ask: () => facts.taxonomy().sports.length },
  ];
}

function browseQueries(database: Database.Database): Query[] {
  const browse = new BrowseQueries(database);
  const first: BrowseFilters = {
    ...{ status: null, category: null, league: null, search: null, isRanked: false },
    ...({ sort: 'start', nowMs: 0, limit: 50, offset: 0 } as const),
  };
  const page = (filters: Partial<BrowseFilters>): number => browse.page({ ...first, ...filters })!.rows.length;
  return [
    { name: 'browse', ask: () => page({}) },
    { name: 'browse by rank', ask: () => page({ isRanked: true }) },
    { name: 'browse by volume', ask: () => page({ sort: 'volume' }) },
    { name: 'browse a league', ask: (random) => page({ league: oneOf(LEAGUES, random) }) },
    { name: 'browse by words', ask: (random) => page({ search: oneOf(WORDS, random) }) },
  ];
}

function statisticsQueries(database: Database.Database, sizes: Sizes): Query[] {
  const fills = new FillQueries(database);
  const history = new MarketHistoryQueries(database);
  const exchange = new ExchangeQueries(database);
  const newest = { before: null, sinceMicros: FILLS_EVER, minMicro: 0, limit: 51 };
  const marketOf = (random: Random): number => random.below(sizes.markets);
  const points = (market: number, interval: '1h' | '1m'): number => history.history({ market, interval }).length;
  const candlesOf = new CandleQueries(database);
  const page = { shard: 0, outcome: OUTCOME.YES, fromMs: null, beforeMs: null, limit: 100, nowMs: END_MS };
  const candles = (market: number, interval: '1h' | '1m'): number =>
    candlesOf.page({ ...page, market, interval }, 0).candles.length;
  return [
    { name: 'recent fills', ask: () => fills.recent(newest).length },
    { name: 'recent fills of 200 USDC', ask: () => fills.recent({ ...newest, minMicro: 200_000_000 }).length },
    { name: 'history by hour, busiest market', ask: () => points(0, '1h') },
    { name: 'history by minute, busiest market', ask: () => points(0, '1m') },
    { name: 'history by hour, any market', ask: (random) => points(marketOf(random), '1h') },
    { name: 'candles by hour, busiest market', ask: () => candles(0, '1h') },
    { name: 'candles by minute, busiest market', ask: () => candles(0, '1m') },
    { name: 'trades of the busiest market', ask: () => history.trades(0).length },
    { name: 'trades of any market', ask: (random) => history.trades(marketOf(random)).length },
    { name: 'pulse', ask: () => exchange.pulse({ nowMs: END_MS }).hours.length },
    { name: 'spotlight', ask: () => exchange.spotlight({ nowMs: END_MS }).length },
    ...leaderboardQueries(database, sizes),
  ];
}

/**
 * A part of a leaderboard: 500 accounts or 500 positions. A whole leaderboard is requested part by part, so that other
 * queries come between. No market has a book here, which is the worst case: the last trade of each is read once.
 */
function leaderboardQueries(database: Database.Database, { markets, accounts }: Sizes): Query[] {
  const leaderboard = new LeaderboardQueries(database);
  const marks = new SharedArrayBuffer(4 * markets);
  new Uint32Array(marks).fill(NO_MARK);
  return Object.entries(WINDOWS).map(([window, { by, spans }]) => {
    const spanMs = by === 'hours' ? HOUR_MS : DAY_MS;
    const sinceMs = END_MS - (END_MS % spanMs) - (spans - 1) * spanMs;
    const part = (after: number): LeaderboardTask => ({ sinceMs, by, after, marks });
    const ask = (random: Random): number =>
      leaderboard.part(part(random.below(Math.max(1, accounts - 500)))).traders.length;
    return { name: `part of the leaderboard, ${window}`, ask, times: PARTS, warmUps: PARTS_BEFORE };
  });
}

function oneOf<T>(values: readonly T[], random: Random): T {
  return values[random.below(values.length)];
}
