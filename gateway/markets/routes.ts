/** The routes of markets: a new group is one more row here. */
import type { DepsOf, Route } from '../http/route.ts';
import { adminCatalogRoutes } from './adminCatalogRoutes.ts';
import { catalogueFileRoutes } from './adminCatalogueFilesRoutes.ts';
import { adminEventSetRoutes } from './adminEventSetsRoutes.ts';
import { adminResolutionRoutes } from './adminResolutionRoutes.ts';
import { adminScoreRoutes } from './adminScoresRoutes.ts';
import { adminStageRoutes } from './adminStagesRoutes.ts';
import { browseRoutes } from './browseRoutes.ts';
import { candleRoutes } from './candlesRoutes.ts';
import { catalogListRoutes } from './catalogListsRoutes.ts';
import { eventViewRoutes } from './eventViewRoutes.ts';
import { marketDataRoutes } from './marketDataRoutes.ts';
import { marketRoutes } from './marketsRoutes.ts';
import { probabilityRoutes } from './probabilitiesRoutes.ts';
import { publicHistoryRoutes } from './publicHistoryRoutes.ts';
import { relatedRoutes } from './relatedRoutes.ts';
import { exchangeStatisticsRoutes } from './statisticsExchangeRoutes.ts';
import { recentFillRoutes } from './statisticsFillsRoutes.ts';
import { leaderboardRoutes } from './statisticsLeaderboardRoutes.ts';
import { marketHistoryRoutes } from './statisticsMarketsRoutes.ts';
import { tickerRoutes } from './tickersRoutes.ts';

const GROUPS = [
  catalogListRoutes,
  marketRoutes,
  browseRoutes,
  eventViewRoutes,
  relatedRoutes,
  probabilityRoutes,
  marketDataRoutes,
  marketHistoryRoutes,
  candleRoutes,
  publicHistoryRoutes,
  tickerRoutes,
  recentFillRoutes,
  exchangeStatisticsRoutes,
  leaderboardRoutes,
  adminCatalogRoutes,
  adminEventSetRoutes,
  adminScoreRoutes,
  catalogueFileRoutes,
  adminStageRoutes,
  adminResolutionRoutes,
] as const;

export function routesOfMarkets(deps: DepsOf<typeof GROUPS>): Route[] {
  return GROUPS.flatMap((routes) => routes(deps));
}
