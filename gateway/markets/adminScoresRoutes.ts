/** The administrator's routes for data that the exchange only passes on: live scores and desk indications. */

import { LIVE_SCORE, NEW_SCORE } from '../../shared/api/events.ts';
import { INDICATION, type Indication as IndicationBody, NEW_INDICATION } from '../../shared/api/quotes.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import { NOT_A_NUMBER, tickToPrice, tryParsePriceTicks } from '../../shared/base/units.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog, MarketEntry } from './catalog.ts';
import { requireEvent } from './eventViewRoutes.ts';
import type { Indication, Indications } from './indications.ts';
import type { LiveScores } from './liveScores.ts';
import { requireMarket } from './requireMarket.ts';

type ScoreDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly liveScores: LiveScores;
  readonly indications: Indications;
  readonly clock: Clock;
};

const POST = { method: 'POST', access: 'catalogue', storing: true, params: ID_PARAM } as const;

const POST_SCORE = {
  ...POST,
  path: '/admin/events/:id/score',
  id: 'adminPostScore',
  summary: 'The latest score of an event, in place of the one before.',
  body: NEW_SCORE,
  answers: { 200: LIVE_SCORE },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const POST_INDICATION = {
  ...POST,
  path: '/admin/markets/:id/indications',
  id: 'adminPostIndication',
  summary: 'The prices at which a desk says it would trade until a moment, in place of those before.',
  body: NEW_INDICATION,
  answers: { 200: INDICATION },
  errors: ['VALIDATION_ERROR', 'MARKET_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

export function adminScoreRoutes(deps: ScoreDeps): Route[] {
  return [
    route(POST_SCORE, (call) => postScore(call, deps)),
    route(POST_INDICATION, (call) => postIndication(call, deps)),
  ];
}

async function postScore(call: CallOf<typeof POST_SCORE>, deps: ScoreDeps): Promise<void> {
  const { catalog, liveScores, clock } = deps;
  const event = requireEvent(call, catalog.eventById(call.params.id));
  if (event === null) return;
  const { clock: gameClock = null, period = null, ...score } = call.body;
  noteBefore(call, liveScores.of(event.index));
  liveScores.set(event.index, { ...score, clock: gameClock, period }, clock.nowMs());
  const posted = liveScores.of(event.index)!;
  await liveScores.durable();
  ok(call, posted);
}

async function postIndication(call: CallOf<typeof POST_INDICATION>, deps: ScoreDeps): Promise<void> {
  const { views, indications, clock } = deps;
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const indication = readIndication(call, market, clock.nowMs());
  if (indication === null) return;
  if (isDecided(views.markets.status(market.index))) return refuse(call, { row: ERRORS.INVALID_TRANSITION });
  const before = indications.of(market.index, clock.nowMs());
  noteBefore(call, before === null ? null : indicationOf(market, before));
  indications.set(market.index, indication);
  await indications.durable();
  ok(call, indicationOf(market, indication));
}

/** Null when the call has been refused. */
function readIndication(
  call: CallOf<typeof POST_INDICATION>,
  { ticksPerUnit }: MarketEntry,
  nowMs: number,
): Indication | null {
  const { bid, ask, expires_at } = call.body;
  const bidTicks = tryParsePriceTicks(bid, ticksPerUnit);
  const askTicks = tryParsePriceTicks(ask, ticksPerUnit);
  const expiresMs = parseTimeMs(expires_at);
  if (bidTicks === NOT_A_NUMBER) return refuseField(call, 'bid', 'a price on the grid', bid);
  if (askTicks === NOT_A_NUMBER) return refuseField(call, 'ask', 'a price on the grid', ask);
  if (askTicks <= bidTicks) return refuseField(call, 'ask', 'above bid', ask);
  if (expiresMs <= nowMs) return refuseField(call, 'expires_at', 'in the future', expires_at);
  return { bidTicks, askTicks, expiresMs };
}

function indicationOf(market: MarketEntry, { bidTicks, askTicks, expiresMs }: Indication): IndicationBody {
  return {
    market_id: market.id,
    bid: tickToPrice(bidTicks, market.ticksPerUnit),
    ask: tickToPrice(askTicks, market.ticksPerUnit),
    expires_at: new Date(expiresMs).toISOString(),
  };
}
