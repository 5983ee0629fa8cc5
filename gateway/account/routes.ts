/** The routes of accounts and of the people who have them: a further group is one more row here. */
import type { DepsOf, Route } from '../http/route.ts';
import { achievementRoutes } from './achievementsRoutes.ts';
import { adminFundRoutes } from './adminFundsRoutes.ts';
import { adminRebateRoutes } from './adminRebatesRoutes.ts';
import { adminSessionRoutes } from './adminSessionsRoutes.ts';
import { claimRoutes } from './claimsRoutes.ts';
import { demoFundRoutes } from './demoFundsRoutes.ts';
import { fundMovementRoutes } from './fundMovementsRoutes.ts';
import { fundRoutes } from './fundsRoutes.ts';
import { historyRoutes } from './historyRoutes.ts';
import { nonceFloorRoutes } from './nonceFloorsRoutes.ts';
import { notificationRoutes } from './notificationsRoutes.ts';
import { oauthRoutes } from './oauthRoutes.ts';
import { pnlRoutes } from './pnlRoutes.ts';
import { positionRoutes } from './positionsRoutes.ts';
import { privyRoutes } from './privyRoutes.ts';
import { profileRoutes } from './profileRoutes.ts';
import { publicProfileRoutes } from './publicProfileRoutes.ts';
import { rewardRoutes } from './rewardsRoutes.ts';
import { sessionRoutes } from './sessionsRoutes.ts';
import { setConversionRoutes } from './setConversionsRoutes.ts';
import { statementRoutes } from './statementRoutes.ts';
import { walletSignInRoutes } from './walletRoutes.ts';
import { walletRoutes } from './walletsRoutes.ts';

const GROUPS = [
  notificationRoutes,
  achievementRoutes,
  profileRoutes,
  publicProfileRoutes,
  demoFundRoutes,
  fundRoutes,
  setConversionRoutes,
  claimRoutes,
  pnlRoutes,
  positionRoutes,
  statementRoutes,
  fundMovementRoutes,
  rewardRoutes,
  historyRoutes,
  sessionRoutes,
  walletSignInRoutes,
  walletRoutes,
  nonceFloorRoutes,
  privyRoutes,
  oauthRoutes,
  adminSessionRoutes,
  adminFundRoutes,
  adminRebateRoutes,
] as const;

export function routesOfAccounts(deps: DepsOf<typeof GROUPS>): Route[] {
  return GROUPS.flatMap((routes) => routes(deps));
}
