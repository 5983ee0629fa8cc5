/** An event as clients see it. */
import type { MarketEvent } from '../../shared/sdk/types.ts';
import type { EventEntry, MarketEntry } from './catalog.ts';
import type { MarketResponses } from './marketResponse.ts';

export function eventOf(event: EventEntry): MarketEvent {
  return {
    id: event.id,
    slug: event.slug,
    ...event.details,
    market_count: event.markets.length,
    created_at: new Date(event.createdMs).toISOString(),
    updated_at: new Date(event.updatedMs).toISOString(),
  };
}

/** The widest enumeration of an event's markets: every status, in the order of creation. */
export function eventWithMarkets(event: EventEntry, markets: readonly MarketEntry[], responses: MarketResponses) {
  return {
    slug: event.slug,
    title: event.details.title,
    status: event.details.status,
    markets: markets.map((market) => ({
      id: market.id,
      title: market.details.title,
      status: responses.statusName(market),
      outcomes: market.details.outcomes,
    })),
    created_at: new Date(event.createdMs).toISOString(),
  };
}
