/** The pulse of the exchange and its busiest categories (RULES.md 13.5, 13.6). */
import { PULSE, type Pulse, SPOTLIGHT, SPOTLIGHT_QUERY } from '../../shared/api/leaderboards.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { sumToDecimal } from '../../shared/base/units.ts';
import type { Askers } from '../base/askers.ts';
import { type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { CategorySums, PulseSums } from './exchangeQueries.ts';
import type { OnlineAccounts } from './onlineAccountsStore.ts';
import type { MarketReads } from './reads.ts';

type ExchangeDeps = {
  readonly queries: Pick<MarketReads, 'ofPublic'>;
  readonly onlineAccounts: Pick<OnlineAccounts, 'count'>;
  readonly sharedAnswers: SharedAnswers;
  readonly clock: Clock;
};

const PULSE_KEPT_MS = 30_000;
const SPOTLIGHT_KEPT_MS = 300_000;
const HOURS = 24;
const HOUR_MS = 3_600_000;
const MICRO_PER_USD = 1_000_000;

const SHOW_PULSE = {
  method: 'GET',
  path: '/v1/markets/stats/pulse',
  id: 'getPulse',
  summary: 'Volume, traders and markets of the last 24 hours, beside those of the 24 before.',
  access: 'public',
  answers: { 200: PULSE },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

const SHOW_SPOTLIGHT = {
  method: 'GET',
  path: '/v1/markets/stats/category-spotlight',
  id: 'getCategorySpotlight',
  summary: 'The ten categories with the largest volume in seven days.',
  access: 'public',
  query: SPOTLIGHT_QUERY,
  answers: { 200: SPOTLIGHT },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function exchangeStatisticsRoutes(deps: ExchangeDeps): Route[] {
  const { sharedAnswers } = deps;
  return [
    route(SHOW_PULSE, async (call) => {
      const compute = (askers: Askers): Promise<string | null> => pulse(askers, deps);
      sharedAnswers.send(call, await sharedAnswers.get(call, 'pulse', PULSE_KEPT_MS, compute));
    }),
    route(SHOW_SPOTLIGHT, async (call) => {
      const compute = (askers: Askers): Promise<string | null> => spotlight(askers, deps);
      sharedAnswers.send(call, await sharedAnswers.get(call, 'spotlight', SPOTLIGHT_KEPT_MS, compute));
    }),
  ];
}

async function pulse(askers: Askers, { queries, onlineAccounts, clock }: ExchangeDeps): Promise<string | null> {
  const nowMs = clock.nowMs();
  const result = await queries.ofPublic(askers, 'pulse', { nowMs });
  if (!result.ok) return null;
  const online = onlineAccounts.count(nowMs, HOURS);
  const onlineBefore = onlineAccounts.count(nowMs - HOURS * HOUR_MS, HOURS);
  return JSON.stringify(pulseOf(result.value, online, onlineBefore));
}

function pulseOf(sums: PulseSums, online: number, onlineBefore: number): Pulse {
  const volumeDelta = deltaOf(Number(sums.volumeMicro), Number(sums.volumeBeforeMicro));
  return {
    volume_24h_delta_pct: volumeDelta,
    volume_24h_delta: volumeDelta,
    active_traders_24h: sums.activeTraders,
    traders_online_24h: online,
    settled_today_usd: sumToDecimal(sums.settledTodayMicro),
    settled_today_usdc: usdOf(sums.settledTodayMicro),
    total_volume_24h: usdOf(sums.volumeMicro),
    active_markets: sums.activeMarkets,
    active_markets_delta: deltaOf(sums.activeMarkets, sums.activeMarketsBefore),
    traders_online_delta: deltaOf(online, onlineBefore),
    tape_24h: sums.hours.map(({ startMs, volumeMicro }) => ({
      hour: new Date(startMs).toISOString(),
      volume_usdc: usdOf(volumeMicro),
    })),
  };
}

async function spotlight(askers: Askers, { queries, clock }: ExchangeDeps): Promise<string | null> {
  const result = await queries.ofPublic(askers, 'spotlight', { nowMs: clock.nowMs() });
  return result.ok ? JSON.stringify({ window: '7d', categories: result.value.map(categoryOf) }) : null;
}

function categoryOf({ category, volumeMicro, volumeBeforeMicro, markets }: CategorySums): object {
  return {
    category,
    volume_usdc: usdOf(volumeMicro),
    volume_delta_pct: deltaOf(Number(volumeMicro), Number(volumeBeforeMicro)),
    market_count: markets,
  };
}

/** A signed fraction with four digits; 0 after nothing. */
function deltaOf(now: number, before: number): number {
  return before === 0 ? 0 : Math.round(((now - before) / before) * 10_000) / 10_000;
}

function usdOf(micro: bigint): number {
  return Number(micro) / MICRO_PER_USD;
}
