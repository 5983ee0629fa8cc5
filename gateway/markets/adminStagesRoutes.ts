/** The administrator's steps through the stages in which trading reopens after a halt (RULES.md 9.70). */
import { MARKET } from '../../shared/api/markets.ts';
import { EVENT_STAGES, PLATFORM_STAGES, STAGE_STEP } from '../../shared/api/stages.ts';
import { codeOf, STAGE_NAMES } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog } from './catalog.ts';
import type { MarketResponses } from './marketJson.ts';
import { requireMarket } from './requireMarket.ts';
import { platformStagesOf, type StageCommands, type StageStep, stagesOfEvent } from './stages.ts';

type AdminStageDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly stages: StageCommands;
  readonly responses: MarketResponses;
  readonly feed: { publish(kind: string, data: object): void };
};

const STEP = { method: 'POST', body: STAGE_STEP } as const;
const ERRORS_OF_STEP = ['VALIDATION_ERROR', 'OTHER_STAGE', 'CONFLICT', 'OUTCOME_UNKNOWN'] as const;

const STEP_PLATFORM = {
  ...STEP,
  access: 'superuser',
  path: '/admin/platform/stage',
  id: 'adminStepPlatform',
  summary: 'Steps every market, and those to come, to another stage: cancel-only, post-only, open.',
  answers: { 200: PLATFORM_STAGES },
  errors: ERRORS_OF_STEP,
} as const satisfies RouteSpec;

const STEP_EVENT = {
  ...STEP,
  access: 'catalogue',
  path: '/admin/events/:id/stage',
  id: 'adminStepEvent',
  summary: 'Steps the undecided markets of an event to another stage.',
  params: ID_PARAM,
  answers: { 200: EVENT_STAGES },
  errors: [...ERRORS_OF_STEP, 'RESOURCE_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

const STEP_MARKET = {
  ...STEP,
  access: 'catalogue',
  path: '/admin/markets/:id/stage',
  id: 'adminStepMarket',
  summary: 'Steps a market to another stage.',
  params: ID_PARAM,
  answers: { 200: MARKET },
  errors: [...ERRORS_OF_STEP, 'MARKET_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

export function adminStageRoutes(deps: AdminStageDeps): Route[] {
  return [
    route(STEP_PLATFORM, (call) => stepPlatform(call, deps)),
    route(STEP_EVENT, (call) => stepEvent(call, deps)),
    route(STEP_MARKET, (call) => stepMarket(call, deps)),
  ];
}

async function stepPlatform(call: CallOf<typeof STEP_PLATFORM>, deps: AdminStageDeps): Promise<void> {
  const { feed, stages, views } = deps;
  noteBefore(call, platformStagesOf(views.markets));
  const refusal = await stages.stepAll(stepOf(call.body));
  if (refusal !== null) return refuse(call, refusal);
  feed.publish('platform_stage', { stage: call.body.stage });
  ok(call, platformStagesOf(views.markets));
}

async function stepEvent(call: CallOf<typeof STEP_EVENT>, deps: AdminStageDeps): Promise<void> {
  const { catalog, feed, stages, views } = deps;
  const event = catalog.eventById(call.params.id);
  if (event === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  const answer = () => ({ event_id: event.id, stages: stagesOfEvent(event, views.markets) });
  noteBefore(call, answer());
  const refusal = await stages.stepEvent(event, stepOf(call.body));
  if (refusal !== null) return refuse(call, refusal);
  feed.publish('event_stage', { event_id: event.id, stage: call.body.stage });
  ok(call, answer());
}

async function stepMarket(call: CallOf<typeof STEP_MARKET>, deps: AdminStageDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  noteBefore(call, deps.responses.toJson(market));
  const refusal = await deps.stages.stepMarket(market, stepOf(call.body));
  if (refusal !== null) return refuse(call, refusal);
  deps.feed.publish('market_stage', { market_id: market.id, stage: call.body.stage });
  ok(call, deps.responses.toJson(market));
}

function stepOf({ stage, expected }: CallOf<typeof STEP_PLATFORM>['body']): StageStep {
  return {
    to: codeOf(STAGE_NAMES, stage),
    from: expected === undefined ? null : codeOf(STAGE_NAMES, expected),
  };
}
