/** The tape: the newest trades of all markets, without their ids, under public names (RULES.md 13.2). */
import { RECENT_FILLS, RECENT_FILLS_QUERY, type RecentFill } from '../../shared/api/statistics.ts';
import { SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { divFloor } from '../../shared/base/int.ts';
import { unitsToDecimal } from '../../shared/base/units.ts';
import type { Asker } from '../base/askers.ts';
import { microsOf } from '../base/page.ts';
import { ok, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from './catalog.ts';
import type { Fill, FillsTask } from './fillQueries.ts';
import type { PublicNames } from './publicNames.ts';
import type { MarketReads } from './reads.ts';

type FillDeps = {
  readonly catalog: Pick<Catalog, 'markets'>;
  readonly profiles: PublicNames & {
    readonly pseudonyms: { idOf(cursor: string): Buffer | null; cursorOf(id: Uint8Array): string };
  };
  readonly queries: Pick<MarketReads, 'ofPublic'>;
  readonly sharedAnswers: SharedAnswers;
};

const KEPT_MS = 10_000;
const DEFAULT_LIMIT = RECENT_FILLS_QUERY.properties.limit.default;
const MICRO_PER_USD = 1_000_000;

const LIST_FILLS = {
  method: 'GET',
  path: '/v1/markets/fills/recent',
  id: 'listRecentFills',
  summary: 'The newest fills of all markets, as their takers see them.',
  access: 'public',
  query: RECENT_FILLS_QUERY,
  answers: { 200: RECENT_FILLS },
  errors: ['VALIDATION_ERROR', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function recentFillRoutes(deps: FillDeps): Route[] {
  return [route(LIST_FILLS, (call) => listFills(call, deps))];
}

async function listFills(call: CallOf<typeof LIST_FILLS>, deps: FillDeps): Promise<void> {
  const { limit, since, min_size_usd, cursor } = call.query;
  const before = cursor === undefined ? null : deps.profiles.pseudonyms.idOf(cursor);
  if (cursor !== undefined && before === null) {
    refuseField(call, 'cursor', 'known');
    return;
  }
  const task: FillsTask = {
    before,
    sinceMicros: microsOf(since),
    minMicro: min_size_usd === undefined ? 0 : microOf(min_size_usd),
    limit,
  };
  const isDefault = limit === DEFAULT_LIMIT && since === undefined && min_size_usd === undefined && before === null;
  const compute = (asker: Asker): Promise<string | null> => render(asker, task, deps);
  if (!isDefault) call.readsPast();
  const body = await (isDefault ? deps.sharedAnswers.get(call, 'recent-fills', KEPT_MS, compute) : compute(call));
  if (typeof body === 'string') ok(call, body);
  else deps.sharedAnswers.send(call, body);
}

async function render(asker: Asker, task: FillsTask, deps: FillDeps): Promise<string | null> {
  // One more row than the page shows says whether there is a next page.
  const result = await deps.queries.ofPublic(asker, 'recentFills', { ...task, limit: task.limit + 1 });
  if (!result.ok) return null;
  const shown = result.value.slice(0, task.limit);
  const hasMore = result.value.length > shown.length;
  const next_cursor = hasMore ? deps.profiles.pseudonyms.cursorOf(shown.at(-1)!.id) : null;
  return JSON.stringify({ fills: shown.map((fill) => fillOf(fill, deps)), next_cursor });
}

function fillOf(fill: Fill, { catalog, profiles }: FillDeps): RecentFill {
  const { id, details } = catalog.markets[fill.market];
  const { taker_ticks: ticks, ticks_per_unit: ticksPerUnit } = fill;
  return {
    market_id: id,
    market_title: details.title,
    outcome: details.outcomes[fill.taker_outcome],
    side: SIDE_NAMES[fill.taker_side],
    size_usd: unitsToDecimal(fill.notional_micro),
    price_cents: String(divFloor(200 * ticks + ticksPerUnit, 2 * ticksPerUnit)),
    user_handle: profiles.shown(fill.taker_account).handle,
    category: details.category,
    filled_at: fillTime(fill.matched_ms, fill.after_us),
  };
}

/** The least number of micro-USDC that is at least this amount. */
function microOf(usd: number): number {
  const nearest = Math.round(usd * MICRO_PER_USD);
  return nearest / MICRO_PER_USD < usd ? nearest + 1 : nearest;
}
