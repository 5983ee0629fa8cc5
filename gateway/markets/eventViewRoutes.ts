/** One event, with the names of its markets or with all that its page shows (RULES.md 12.32 and 12.33). */
import { EVENT_VIEW, EVENT_WITH_MARKETS } from '../../shared/api/events.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { okInRows, refuse } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog, EventEntry } from './catalog.ts';
import { eventRows, viewRows } from './eventJson.ts';
import type { LiveScores } from './liveScores.ts';
import type { MarketResponses } from './marketJson.ts';

type EventDeps = {
  readonly catalog: Pick<Catalog, 'eventBySlug' | 'eventById'>;
  readonly responses: MarketResponses;
  readonly liveScores: LiveScores;
  readonly views: Pick<Views, 'books' | 'markets'>;
};

const READ = {
  method: 'GET',
  access: 'public',
  params: { slug: { type: 'string', examples: ['who-wins'] } },
  errors: ['RESOURCE_NOT_FOUND', 'ENGINE_BUSY'],
} as const;

const SHOW_EVENT = {
  ...READ,
  path: '/v1/events/:slug',
  id: 'getEvent',
  summary: 'One event with its markets of every status, of two mirrored ones the canonical.',
  answers: { 200: EVENT_WITH_MARKETS },
} as const satisfies RouteSpec;

const VIEW_EVENT = {
  ...READ,
  path: '/v1/events/:slug/view',
  id: 'getEventView',
  summary: 'One event as its page shows it: markets, groups, the featured market and the score.',
  answers: { 200: EVENT_VIEW },
} as const satisfies RouteSpec;

export function eventViewRoutes({ catalog, responses, liveScores, views }: EventDeps): Route[] {
  return [
    route(SHOW_EVENT, (call) => {
      const event = requireEvent(call, eventNamed(catalog, call.params.slug));
      if (event !== null) okInRows(call, eventRows(event, responses));
    }),
    route(VIEW_EVENT, (call) => {
      const event = requireEvent(call, eventNamed(catalog, call.params.slug));
      if (event !== null) okInRows(call, viewRows(event, responses, liveScores, views));
    }),
  ];
}

/** A market names its event by the id. Slugs go first, since one may look like an id. */
function eventNamed(catalog: EventDeps['catalog'], slugOrId: string): EventEntry | undefined {
  return catalog.eventBySlug(slugOrId) ?? catalog.eventById(slugOrId);
}

/** Null when there is no such event and the call has been refused. */
export function requireEvent(call: Call, event: EventEntry | undefined): EventEntry | null {
  if (event !== undefined) return event;
  refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  return null;
}
