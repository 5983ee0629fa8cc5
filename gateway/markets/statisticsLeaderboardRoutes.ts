/**
 * The traders with the highest earnings (RULES.md 13.7), computed by the query pool a few hundred accounts at a time.
 * The present worth of tokens is first copied from the books, a slice of the markets in each turn of the event loop.
 * A leaderboard of very many accounts takes a minute, so the answer is then shared for longer (13.1): whatever readers
 * ask for, each window takes at most a tenth of a query thread.
 */
import { LEADERBOARD, LEADERBOARD_QUERY, type LeaderboardWindow } from '../../shared/api/leaderboards.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { nowPreciseMs } from '../../shared/base/stopwatch.ts';
import type { Asker, Askers } from '../base/askers.ts';
import type { QueryResult } from '../base/reads.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import { presentYesPpm } from '../shardlink/markViews.ts';
import type { Views } from '../shardlink/views.ts';
import {
  byEarnings,
  type LeaderboardPart,
  type LeaderboardTask,
  MOST_TRADERS,
  NO_MARK,
  type TraderSums,
} from './leaderboardQueries.ts';
import type { PublicNames } from './publicNames.ts';
import type { MarketReads } from './reads.ts';

type LeaderboardDeps = {
  readonly queries: Pick<MarketReads, 'ofPublic'>;
  readonly views: Pick<Views, 'books' | 'markets'>;
  readonly profiles: PublicNames;
  readonly sharedAnswers: SharedAnswers;
  readonly clock: Clock;
};

/** The milliseconds that the last computation of each window took. */
type Took = Map<LeaderboardWindow, number>;
type LeaderboardResult = QueryResult<LeaderboardPart>;

const KEPT_MS = 30_000;
/** All forms except the default one are cut from one computation, which may be this old. */
const OTHERS_KEPT_MS = 1000;
/** An answer that took longer than this is shared for so many times as long. */
const LONG_MS = 3000;
const TIMES_SHARED = 10;
const DEFAULT_LIMIT = LEADERBOARD_QUERY.properties.limit.default;
const MICRO_PER_USD = 1_000_000;
/** A market takes about 100 ns. */
const MARKETS_PER_TURN = 2000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The present hour or day counts as a whole one. */
const WINDOWS: Readonly<Record<LeaderboardWindow, { readonly by: LeaderboardTask['by']; readonly spans: number }>> = {
  '24h': { by: 'hours', spans: 24 },
  '7d': { by: 'hours', spans: 7 * 24 },
  '30d': { by: 'days', spans: 30 },
  all: { by: 'days', spans: 365 },
};

const SHOW_LEADERBOARD = {
  method: 'GET',
  path: '/v1/leaderboards/traders',
  id: 'getLeaderboard',
  summary: 'The accounts that earned most in a window.',
  access: 'public',
  query: LEADERBOARD_QUERY,
  answers: { 200: LEADERBOARD },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function leaderboardRoutes(deps: LeaderboardDeps): Route[] {
  const took: Took = new Map();
  return [route(SHOW_LEADERBOARD, (call) => showLeaderboard(call, deps, took))];
}

/** The time for which an answer that took so long is shared, at least `leastMs` (RULES.md 13.1). */
export function sharedMs(leastMs: number, tookMs: number): number {
  return tookMs <= LONG_MS ? leastMs : Math.max(leastMs, TIMES_SHARED * tookMs);
}

async function showLeaderboard(
  call: CallOf<typeof SHOW_LEADERBOARD>,
  deps: LeaderboardDeps,
  took: Took,
): Promise<void> {
  const { window, limit } = call.query;
  const isDefault = limit === DEFAULT_LIMIT;
  const compute = (askers: Askers, uses: (part: Buffer) => void): Promise<string | null> =>
    render(askers, window, limit, deps, took, uses);
  const tookMs = took.get(window) ?? 0;
  const body = await (isDefault
    ? deps.sharedAnswers.get(call, `leaderboard/${window}`, sharedMs(KEPT_MS, tookMs), compute)
    : deps.sharedAnswers.get(call, `leaderboard/${window}/${limit}`, sharedMs(OTHERS_KEPT_MS, tookMs), compute));
  deps.sharedAnswers.send(call, body);
}

async function render(
  asker: Asker,
  window: LeaderboardWindow,
  limit: number,
  deps: LeaderboardDeps,
  took: Took,
  uses: (part: Buffer) => void,
): Promise<string | null> {
  const { sharedAnswers, profiles } = deps;
  const compute = async (askers: Askers): Promise<string | null> => {
    const startMs = nowPreciseMs();
    const ranked = await rank(askers, window, deps);
    if (ranked !== null) took.set(window, nowPreciseMs() - startMs);
    return ranked;
  };
  const keptMs = sharedMs(OTHERS_KEPT_MS, took.get(window) ?? 0);
  const ranked = await sharedAnswers.get(asker, `leaders/${window}`, keptMs, compute);
  if (ranked === null) return null;
  uses(ranked);
  const sums: TraderSums[] = JSON.parse(ranked.toString());
  const traders = sums.slice(0, limit).map((trader) => traderOf(trader, profiles));
  return JSON.stringify({ window, traders });
}

/** The best MOST_TRADERS accounts, best first. */
async function rank(
  askers: Askers,
  window: LeaderboardWindow,
  { queries, views, clock }: LeaderboardDeps,
): Promise<string | null> {
  const { by, spans } = WINDOWS[window];
  const spanMs = by === 'hours' ? HOUR_MS : DAY_MS;
  const nowMs = clock.nowMs();
  const sinceMs = nowMs - (nowMs % spanMs) - (spans - 1) * spanMs;
  const marks = await presentMarks(views);
  let best: TraderSums[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const task: LeaderboardTask = { sinceMs, by, after, marks };
    const result: LeaderboardResult = await queries.ofPublic(askers, 'leaderboardPart', task);
    if (!result.ok) return null;
    best = [...best, ...result.value.traders].sort(byEarnings).slice(0, MOST_TRADERS);
    after = result.value.next;
  }
  return JSON.stringify(best);
}

/** The value of a Yes token of each market, in millionths: its payout, or the middle of its book. */
async function presentMarks(views: LeaderboardDeps['views']): Promise<SharedArrayBuffer> {
  const { count } = views.markets;
  const memory = new SharedArrayBuffer(4 * count);
  const marks = new Uint32Array(memory);
  for (let market = 0; market < count; market++) {
    if (market % MARKETS_PER_TURN === MARKETS_PER_TURN - 1) await new Promise(setImmediate);
    marks[market] = presentYesPpm(market, views) ?? NO_MARK;
  }
  return memory;
}

function traderOf({ account, pnlMicro, basisMicro, trades }: TraderSums, profiles: PublicNames): object {
  const { handle, userId, avatarUrl } = profiles.shown(account);
  return {
    handle,
    user_id: userId,
    avatar_url: avatarUrl,
    pnl_usdc: pnlMicro / MICRO_PER_USD,
    roi: basisMicro <= 0 ? 0 : Math.round((pnlMicro / basisMicro) * 10_000) / 10_000,
    trade_count: trades,
  };
}
