/** The queries about markets and the whole exchange, prepared on a connection to read.db by a thread of the pool. */
import type Database from 'better-sqlite3';
import type { Progress } from '../../shared/wire/progress.ts';
import { BrowseQueries } from './browseQueries.ts';
import { CandleQueries } from './candleQueries.ts';
import { CatalogFacts } from './catalogFactsQueries.ts';
import { CatalogLists } from './catalogListsQueries.ts';
import { DayTradingQueries } from './dayTradingQueries.ts';
import { ExchangeQueries, type WindowTask } from './exchangeQueries.ts';
import { FillQueries } from './fillQueries.ts';
import { LeaderboardQueries } from './leaderboardQueries.ts';
import { MarketHistoryQueries } from './marketHistoryQueries.ts';
import type { MarketQueries } from './reads.ts';
import { VolumeQueries } from './volumeQueries.ts';
import type { MarketVolumes } from './volumes.ts';

/** Queries of the exchange itself. */
type VolumesAsked = {
  marketVolumes(): MarketVolumes;
  volumesBetween(task: WindowTask): BigInt64Array;
};

export function prepareMarketQueries(
  db: Database.Database,
  progress: Pick<Progress, 'committed'>,
): MarketQueries & VolumesAsked {
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
    browse: (filters) => browse.page(filters),
    candles: (task) => {
      const { candles: page, nextMs } = candles.page(task, progress.committed(task.shard));
      return { json: JSON.stringify(page), nextMs };
    },
    marketDay: (task) => days.one(task),
    marketDays: (task) => days.all(task),
    marketDaysOf: (task) => days.some(task),
    newestCandles: ({ tasks, nowMs }) => {
      // Read before the first task: everything that a query reads is of one moment.
      const committed = tasks.map(({ shard }) => progress.committed(shard));
      return tasks.map((task, index) => candles.newest(task, nowMs, committed[index]));
    },
    listMarkets: (task) => lists.markets(task),
    listEvents: (task) => lists.events(task),
    catalogMetadata: () => facts.metadata(),
    sportsTaxonomy: () => facts.taxonomy(),
    marketVolumes: () => volumes.volumes(),
    recentFills: (task) => fills.recent(task),
    pulse: (task) => exchange.pulse(task),
    spotlight: (task) => exchange.spotlight(task),
    volumesBetween: (task) => exchange.volumesBetween(task),
    leaderboardPart: (task) => leaderboard.part(task),
    priceHistory: (task) => history.history(task),
    marketHolders: (task) => history.holders(task.market),
    marketTrades: (task) => history.trades(task.market),
  };
}
