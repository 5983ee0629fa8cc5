/** An event as clients see it, alone and with its markets (RULES.md 12.32 and 12.33). */
import type { MarketEvent } from '../../shared/api/events.ts';
import type { Views } from '../shardlink/views.ts';
import type { EventEntry, MarketEntry } from './catalog.ts';
import { ENUMERATIONS, marketsOf } from './enumerations.ts';
import { featuredOf, groupsOf } from './groups.ts';
import { impliedPricesOf } from './impliedPrices.ts';
import type { LiveScores } from './liveScores.ts';
import type { MarketForm, MarketResponses } from './marketJson.ts';

export function eventOf(event: EventEntry): MarketEvent {
  const { home_player_full_name, away_player_full_name, ...details } = event.details;
  return {
    id: event.id,
    slug: event.slug,
    ...details,
    winners: details.winners ?? null,
    market_count: event.markets.length,
    created_at: new Date(event.createdMs).toISOString(),
    updated_at: new Date(event.updatedMs).toISOString(),
  };
}

/** The event with the names and statuses of its markets, as many as there are: a text for each of them. */
export function* eventRows(event: EventEntry, responses: MarketResponses): Generator<string> {
  const { slug, createdMs } = event;
  const { title, status: ofEvent } = event.details;
  yield `${JSON.stringify({ slug, title, status: ofEvent }).slice(0, -1)},"markets":[`;
  let separator = '';
  for (const market of marketsOf(event, ENUMERATIONS.every, responses)) {
    const { id, details } = market;
    const status = responses.statusName(market);
    yield separator + JSON.stringify({ id, title: details.title, status, outcomes: details.outcomes });
    separator = ',';
  }
  yield `],"created_at":"${new Date(createdMs).toISOString()}"}`;
}

/** Everything that the page of an event shows. */
export function* viewRows(
  event: EventEntry,
  responses: MarketResponses,
  scores: LiveScores,
  views: Pick<Views, 'books' | 'markets'>,
): Generator<string> {
  const inGroups = marketsOf(event, ENUMERATIONS.viewGroups, responses);
  yield `${JSON.stringify(eventOf(event)).slice(0, -1)},"markets":[`;
  yield* separated(responses.listJson(marketsOf(event, ENUMERATIONS.view, responses)));
  yield '],';
  yield* groupRows(inGroups, responses);
  yield `,"featured_market":${featuredJson(inGroups, responses)},"live":${JSON.stringify(scores.of(event.index))}`;
  yield `,"implied_prices":${JSON.stringify(impliedPricesOf(views, event))}}`;
}

/** The member `market_groups`. */
export function* groupRows(
  markets: readonly MarketEntry[],
  responses: MarketResponses,
  form?: MarketForm,
): Generator<string> {
  let separator = '"market_groups":[';
  for (const { type, title, markets: ofGroup } of groupsOf(markets)) {
    yield `${separator}{"type":"${type}","title":"${title}","markets":[`;
    yield* separated(responses.listJson(ofGroup, form));
    yield ']}';
    separator = ',';
  }
  yield separator === ',' ? ']' : `${separator}]`;
}

export function featuredJson(markets: readonly MarketEntry[], responses: MarketResponses, form?: MarketForm): string {
  const featured = featuredOf(markets, responses.statusOf, (market) => responses.volumeMicro(market));
  return featured === undefined ? 'null' : responses.toJson(featured, form);
}

/** The elements of an array. */
export function* separated(texts: Iterable<string>): Generator<string> {
  let separator = '';
  for (const text of texts) {
    yield separator + text;
    separator = ',';
  }
}
