/** The queries about markets and the whole exchange, prepared on a connection to read.db by a thread of the pool. */
import type Database from 'better-sqlite3';
import type { Progress } from '../../shared/wire/progress.ts';
import { type BrowseFilters, BrowseQueries } from './browseQueries.ts';
import { CandleQueries, type CandlesTask, type NewestTask } from './candleQueries.ts';
import { CatalogFacts } from './catalogFactsQueries.ts';
import { CatalogLists, type EventListTask, type MarketListTask } from './catalogListsQueries.ts';
import { type DaysTask, type DayTask, DayTradingQueries, type MarketDayTask } from './dayTradingQueries.ts';
import { ExchangeQueries, type PulseTask, type WindowTask } from './exchangeQueries.ts';
import { FillQueries, type FillsTask } from './fillQueries.ts';
import { LeaderboardQueries, type LeaderboardTask } from './leaderboardQueries.ts';
import { type HistoryTask, MarketHistoryQueries } from './marketHistoryQueries.ts';
import { VolumeQueries } from './volumeQueries.ts';

export function prepareMarketQueries(db: Database.Database, progress: Pick<Progress, 'committed'>) {
  const browse = new BrowseQueries(db);
  const candles = new CandleQueries(db);
  const lists = new CatalogLists(db);
  const days = new DayTradingQueries(db);
  const facts = new CatalogFacts(db);
  const volumes = new VolumeQueries(db);
  const fills = new FillQueries(db);
  const exchange = new ExchangeQueries(db);
  const leaderboard = new LeaderboardQueries(db);
  const history = new MarketHistoryQueries(db);
  return {
    browse: (filters: BrowseFilters) => browse.page(filters),
    /** As text: a page has a thousand objects, which the gateway thread would have to copy and render. */
    candles: (task: CandlesTask) => {
      const { candles: page, nextMs } = candles.page(task, progress.committed(task.shard));
      return { json: JSON.stringify(page), nextMs };
    },
    marketDay: (task: MarketDayTask) => days.one(task),
    marketDays: (task: DayTask) => days.all(task),
    marketDaysOf: (task: DaysTask) => days.some(task),
    /** The candles of each task, oldest first. */
    newestCandles: ({ tasks, nowMs }: { readonly tasks: readonly NewestTask[]; readonly nowMs: number }) => {
      // Read before the first task: everything that a query reads is of one moment.
      const committed = tasks.map(({ shard }) => progress.committed(shard));
      return tasks.map((task, index) => candles.newest(task, nowMs, committed[index]));
    },
    listMarkets: (task: MarketListTask) => lists.markets(task),
    listEvents: (task: EventListTask) => lists.events(task),
    catalogMetadata: (_task: null) => facts.metadata(),
    sportsTaxonomy: (_task: null) => facts.taxonomy(),
    marketVolumes: (_task: null) => volumes.volumes(),
    recentFills: (task: FillsTask) => fills.recent(task),
    pulse: (task: PulseTask) => exchange.pulse(task),
    spotlight: (task: PulseTask) => exchange.spotlight(task),
    volumesBetween: (task: WindowTask) => exchange.volumesBetween(task),
    leaderboardPart: (task: LeaderboardTask) => leaderboard.part(task),
    priceHistory: (task: HistoryTask) => history.history(task),
    /** The number of accounts that hold tokens of the market. */
    marketHolders: (task: { readonly market: number }) => history.holders(task.market),
    marketTrades: (task: { readonly market: number }) => history.trades(task.market),
  };
}
