/** The routes of markets: a further group is one more row here. */
import type { DepsOf, Route } from '../http/route.ts';
import { adminCatalogRoutes } from './admin/catalog.ts';
import { catalogueFileRoutes } from './admin/catalogueFiles.ts';
import { adminResolutionRoutes } from './admin/resolution.ts';
import { adminScoreRoutes } from './admin/scores.ts';
import { adminStageRoutes } from './admin/stages.ts';
import { browseRoutes } from './public/browse.ts';
import { candleRoutes } from './public/candles.ts';
import { catalogListRoutes } from './public/catalogLists.ts';
import { eventViewRoutes } from './public/eventView.ts';
import { marketDataRoutes } from './public/marketData.ts';
import { marketRoutes } from './public/markets.ts';
import { probabilityRoutes } from './public/probabilities.ts';
import { relatedRoutes } from './public/related.ts';
import { exchangeStatisticsRoutes } from './public/statisticsExchange.ts';
import { recentFillRoutes } from './public/statisticsFills.ts';
import { leaderboardRoutes } from './public/statisticsLeaderboard.ts';
import { marketHistoryRoutes } from './public/statisticsMarkets.ts';
import { tickerRoutes } from './public/tickers.ts';

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
  tickerRoutes,
  recentFillRoutes,
  exchangeStatisticsRoutes,
  leaderboardRoutes,
  adminCatalogRoutes,
  adminScoreRoutes,
  catalogueFileRoutes,
  adminStageRoutes,
  adminResolutionRoutes,
] as const;

export function routesOfMarkets(deps: DepsOf<typeof GROUPS>): Route[] {
  return GROUPS.flatMap((routes) => routes(deps));
}
