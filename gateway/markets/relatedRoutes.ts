/** The route for the markets related to one (RULES.md 12.38). */
import { RELATED_MARKETS } from '../../shared/api/events.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { okInRows } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog, MarketEntry } from './catalog.ts';
import { ENUMERATIONS, isListed } from './enumerations.ts';
import { separated } from './eventJson.ts';
import type { MarketResponses } from './marketJson.ts';
import { distinctQuestions } from './related.ts';
import { requireMarket } from './requireMarket.ts';

type RelatedDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly responses: MarketResponses;
};

const SHOW_RELATED = {
  method: 'GET',
  path: '/v1/markets/:id/related',
  id: 'listRelatedMarkets',
  summary: 'The other markets of the same event or series, each question once.',
  access: 'public',
  params: ID_PARAM,
  answers: { 200: RELATED_MARKETS },
  errors: ['MARKET_NOT_FOUND', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function relatedRoutes({ catalog, views, responses }: RelatedDeps): Route[] {
  return [
    route(SHOW_RELATED, (call) => {
      const market = requireMarket(call, { catalog, views }, call.params.id);
      if (market === null) return;
      const isShown = (other: MarketEntry): boolean =>
        other !== market && isListed(other, ENUMERATIONS.view, responses.statusOf);
      // A copy, because a market may leave its event between two pieces of the answer.
      okInRows(call, relatedRows([...besides(market, catalog)], isShown, responses));
    }),
  ];
}

/** A market without an event belongs to a series, or stands alone. */
function besides({ eventId, details }: MarketEntry, catalog: Catalog): readonly MarketEntry[] {
  if (eventId !== null) return catalog.eventById(eventId)?.markets ?? [];
  return details.series_ticker === undefined ? [] : catalog.inSeries(details.series_ticker);
}

function* relatedRows(
  markets: readonly MarketEntry[],
  isShown: (market: MarketEntry) => boolean,
  responses: MarketResponses,
): Generator<string> {
  yield '{"markets":[';
  const { distinct, total } = yield* distinctQuestions(markets, isShown);
  yield* separated(responses.listJson(distinct));
  yield `],"totalMarkets":${total}}`;
}
