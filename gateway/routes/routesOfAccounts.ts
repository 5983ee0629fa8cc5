/** The routes of accounts and of the people who have them: a further group is one more row here. */
import type { DepsOf, Route } from '../http/route.ts';
import { achievementRoutes } from './account/achievements.ts';
import { claimRoutes } from './account/claims.ts';
import { demoFundRoutes } from './account/demoFunds.ts';
import { fundMovementRoutes } from './account/fundMovements.ts';
import { fundRoutes } from './account/funds.ts';
import { historyRoutes } from './account/history.ts';
import { notificationRoutes } from './account/notifications.ts';
import { pnlRoutes } from './account/pnl.ts';
import { positionRoutes } from './account/positions.ts';
import { profileRoutes } from './account/profile.ts';
import { publicProfileRoutes } from './account/publicProfile.ts';
import { rewardRoutes } from './account/rewards.ts';
import { statementRoutes } from './account/statement.ts';
import { adminFundRoutes } from './admin/funds.ts';
import { adminRebateRoutes } from './admin/rebates.ts';
import { adminSessionRoutes } from './admin/sessions.ts';
import { nonceFloorRoutes } from './auth/nonceFloors.ts';
import { oauthRoutes } from './auth/oauth.ts';
import { privyRoutes } from './auth/privy.ts';
import { sessionRoutes } from './auth/sessions.ts';
import { walletSignInRoutes } from './auth/wallet.ts';
import { walletRoutes } from './auth/wallets.ts';

const GROUPS = [
  notificationRoutes,
  achievementRoutes,
  profileRoutes,
  publicProfileRoutes,
  demoFundRoutes,
  fundRoutes,
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
