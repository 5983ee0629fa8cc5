/** Achievements: whether an account has earned one is computed when the account asks (RULES.md 14.70 to 14.72). */
import { ACHIEVEMENT_IDS, ACHIEVEMENTS } from '../../shared/api/notifications.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Accounts } from './accounts.ts';
import type { AchievementFacts } from './achievementQueries.ts';
import { type Achievements, STORED_ACHIEVEMENTS, type StoredAchievement } from './achievementsStore.ts';
import { NFL_WINDOW_MS, NflRanking } from './nflRanking.ts';
import type { AccountReads } from './reads.ts';

type AchievementDeps = {
  readonly accounts: Pick<Accounts, 'byIndex'>;
  readonly achievements: Achievements;
  readonly queries: Pick<AccountReads, 'nflPart' | 'ofAccount'>;
  readonly clock: Clock;
  readonly isDiskLow: () => boolean;
};

const LEAST_CLOSED = 20;
const LEAST_WIN_PERCENT = 55;
const LEAST_NFL_CLOSED = 5;
const TOP_PERCENT = 5;

const SHOW_ACHIEVEMENTS = {
  method: 'GET',
  path: '/v1/user/achievements',
  id: 'listAchievements',
  summary: 'What the account has achieved, and when that was found out. A grant is never taken back.',
  access: 'read:account',
  answers: { 200: ACHIEVEMENTS },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function achievementRoutes(deps: AchievementDeps): Route[] {
  const ranking = new NflRanking(deps);
  return [route(SHOW_ACHIEVEMENTS, (call) => showAchievements(call, ranking, deps))];
}

async function showAchievements(
  call: CallOf<typeof SHOW_ACHIEVEMENTS>,
  ranking: NflRanking,
  { accounts, achievements, queries, clock, isDiskLow }: AchievementDeps,
): Promise<void> {
  const account = call.principal.accountIndex;
  const nowMs = clock.nowMs();
  const before = achievements.of(account);
  const missing = STORED_ACHIEVEMENTS.filter((id) => !before.has(id));
  // On a full disk, and on a standby, the answer contains only what was granted before.
  const mayGrant = !isDiskLow() && (call.host.role?.changeRefusal() ?? null) === null;
  if (missing.length > 0 && mayGrant) {
    const facts = await queries.ofAccount(call, 'achievementFacts', { account, nflSinceMs: nowMs - NFL_WINDOW_MS });
    if (!facts.ok) return refuse(call, facts);
    const earned: StoredAchievement[] = [];
    for (const id of missing) if (await isEarned(id, call, facts.value, ranking)) earned.push(id);
    if (earned.length > 0) {
      achievements.grant(account, earned, nowMs);
      await achievements.durable();
    }
  }
  const granted = new Map<string, number>(achievements.of(account));
  granted.set('joined', accounts.byIndex(account).createdMs);
  const shown = ACHIEVEMENT_IDS.filter((id) => granted.has(id));
  ok(
    call,
    shown.map((id) => ({ id, granted_at: new Date(granted.get(id)!).toISOString() })),
  );
}

function isEarned(
  id: StoredAchievement,
  call: AccountCall,
  { marketsTraded, closed, won, nflClosed, nflMicro }: AchievementFacts,
  ranking: NflRanking,
): boolean | Promise<boolean> {
  switch (id) {
    case 'first_trade':
      return marketsTraded >= 1;
    case 'markets_traded_10':
      return marketsTraded >= 10;
    case 'markets_traded_100':
      return marketsTraded >= 100;
    case 'sharp':
      return closed >= LEAST_CLOSED && won * 100 >= closed * LEAST_WIN_PERCENT;
    case 'top_5pct_nfl':
      return nflClosed >= LEAST_NFL_CLOSED && ranking.isAmongBest(call, nflMicro, TOP_PERCENT);
  }
}
