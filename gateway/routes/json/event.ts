/** An event as clients see it. */
import type { EventWithMarkets, MarketEvent } from '../../../shared/api/markets.ts';
import type { EventEntry, MarketEntry } from '../../store/catalog.ts';
import type { MarketResponses } from './market.ts';

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

export function eventWithMarkets(
  event: EventEntry,
  markets: readonly MarketEntry[],
  responses: MarketResponses,
): EventWithMarkets {
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
