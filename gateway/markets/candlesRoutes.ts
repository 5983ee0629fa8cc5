/** The candles of a market (RULES.md 13.13). */
import { CANDLES, CANDLES_QUERY } from '../../shared/api/candles.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketReads } from './reads.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';

type CandleDeps = MarketDeps & {
  readonly queries: Pick<MarketReads, 'ofPublic'>;
  readonly clock: Clock;
};

const SHOW_CANDLES = {
  method: 'GET',
  path: '/v1/markets/:id/candles',
  id: 'listCandles',
  summary: 'The trading of a market by interval, without a gap: prices, volumes and number of trades.',
  access: 'public',
  params: ID_PARAM,
  query: CANDLES_QUERY,
  answers: { 200: CANDLES },
  errors: ['MARKET_NOT_FOUND', 'VALIDATION_ERROR', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

/** The Unix second before which the next page ends. */
const CURSOR = /^[1-9][0-9]{0,10}$/;

export function candleRoutes(deps: CandleDeps): Route[] {
  return [route(SHOW_CANDLES, (call) => showCandles(call, deps))];
}

async function showCandles(call: CallOf<typeof SHOW_CANDLES>, deps: CandleDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const { interval, outcome_index, from, to, limit, cursor } = call.query;
  const fromMs = from === undefined ? null : parseTimeMs(from);
  const toMs = to === undefined ? null : parseTimeMs(to);
  if (fromMs !== null && toMs !== null && fromMs >= toMs) {
    const details = { field: 'from', rule: 'before', value: from };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'from must be before to', details });
    return;
  }
  if (cursor !== undefined && !CURSOR.test(cursor)) {
    refuseField(call, 'cursor', 'known');
    return;
  }
  call.readsPast();
  const shard = deps.views.markets.shard(market.index);
  const result = await deps.queries.ofPublic(call, 'candles', {
    ...{ market: market.index, shard, outcome: outcome_index, interval, limit },
    ...{ fromMs, beforeMs: cursor === undefined ? toMs : Number(cursor) * 1000 },
    nowMs: deps.clock.nowMs(),
  });
  if (!result.ok) return refuse(call, { row: result.row });
  const { json, nextMs } = result.value;
  const next_cursor = nextMs === null ? 'null' : `"${nextMs / 1000}"`;
  ok(
    call,
    `{"market_id":"${market.id}","outcome_index":${outcome_index},"interval":"${interval}"` +
      `,"candles":${json},"next_cursor":${next_cursor}}`,
  );
}
