/**
 * Event sets in the catalogue (RULES.md 19): an event with `winners: 1`, whose markets were all made with it, one after
 * the other, so that the place of a market in the set is its place in the event.
 */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SetPlace } from '../shardlink/listedMarket.ts';
import type { EventEntry, MarketEntry } from './catalog.ts';

export function isSet(event: EventEntry | undefined): event is EventEntry {
  return event?.details.winners === 1 && event.markets.length > 0;
}

/** Null for a market of no set. */
export function placeInSet(market: MarketEntry, event: EventEntry | undefined): SetPlace | null {
  if (!isSet(event)) return null;
  return { first: event.markets[0].index, ordinal: event.markets.indexOf(market), members: event.markets.length };
}

/** No market joins or leaves a set after its creation (RULES.md 19.1). */
export function refuseJoining(before: EventEntry | undefined, after: EventEntry | undefined): Refusal | null {
  const isOfSet = before?.details.winners === 1 || after?.details.winners === 1;
  return isOfSet && before !== after ? { row: ERRORS.MEMBER_OF_SET } : null;
}
