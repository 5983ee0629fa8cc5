/** The queries of read.db about markets and the whole exchange. */

import type { Page } from '../base/page.ts';
import type { PublicReads } from '../base/reads.ts';
import type { BrowseFilters } from './browseQueries.ts';
import type { CandlesTask, CandleText, NewestTask } from './candleQueries.ts';
import type { CatalogMetadata, SportsTaxonomy } from './catalogFactsQueries.ts';
import type { EventListTask, IndexPage, MarketListTask } from './catalogListsQueries.ts';
import type { DaysTask, DayTask, MarketDay, MarketDays, MarketDayTask, NamedDay } from './dayTradingQueries.ts';
import type { CategorySums, PulseSums, PulseTask } from './exchangeQueries.ts';
import type { Fill, FillsTask } from './fillQueries.ts';
import type { LeaderboardPart, LeaderboardTask } from './leaderboardQueries.ts';
import type { HistoryTask, MarketTrade, PricePoint } from './marketHistoryQueries.ts';

export type MarketQueries = {
  browse(filters: BrowseFilters): Page<number> | null;
  /** As text: a page has a thousand objects, which the gateway thread would have to copy and render. */
  candles(task: CandlesTask): { readonly json: string; readonly nextMs: number | null };
  catalogMetadata(task: null): CatalogMetadata;
  leaderboardPart(task: LeaderboardTask): LeaderboardPart;
  listEvents(task: EventListTask): IndexPage | null;
  listMarkets(task: MarketListTask): IndexPage | null;
  marketDay(task: MarketDayTask): MarketDay;
  marketDays(task: DayTask): MarketDays;
  marketDaysOf(task: DaysTask): NamedDay[];
  /** The number of accounts that hold tokens of the market. */
  marketHolders(task: { market: number }): number;
  marketTrades(task: { market: number }): MarketTrade[];
  /** The candles of each task, oldest first. */
  newestCandles(task: { readonly tasks: readonly NewestTask[]; readonly nowMs: number }): CandleText[][];
  priceHistory(task: HistoryTask): PricePoint[];
  pulse(task: PulseTask): PulseSums;
  recentFills(task: FillsTask): Fill[];
  sportsTaxonomy(task: null): SportsTaxonomy;
  spotlight(task: PulseTask): CategorySums[];
};

export type MarketReads = PublicReads<MarketQueries>;
