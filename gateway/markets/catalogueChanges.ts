/**
 * Computes the change that a line of a catalogue file requests for an existing event or market; no change if the line
 * equals the present state. A field that the line leaves out is not changed.
 */

import { isDeepStrictEqual } from 'node:util';
import { EVENT_DETAIL_NAMES, type EventFields, type MarketFields } from '../../shared/api/catalogue.ts';
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { memberOf } from '../../shared/base/memberOf.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import type { Refusal } from '../base/refusal.ts';
import type { EventDetails, EventEntry, MarketDetails, MarketEntry } from './catalog.ts';
import type { MarketChange } from './marketCommands.ts';
import { withoutNulls } from './marketDetails.ts';

/** The terms of a market at this moment, according to its shard. */
export type PresentTerms = {
  readonly status: MarketStatus;
  readonly feeBps: number;
  readonly startMs: number;
  readonly endMs: number;
};

type Changed<C> = { readonly change: C | null } | { readonly refusal: Refusal };

/** @returns null as the change if the line equals the event's present state */
export function changeOfEvent(event: EventEntry, fields: EventFields): Changed<Partial<EventDetails>> {
  const { id, slug: _, ...rest } = fields;
  if (id !== undefined && id.toLowerCase() !== event.id) return neverChanges('id of an event');
  const isNew = ([name, value]: [string, unknown]): boolean => {
    return EVENT_DETAIL_NAMES.includes(name) && !isDeepStrictEqual(memberOf(event.details, name), value);
  };
  const changed = Object.entries(rest).filter(isNew);
  return { change: changed.length === 0 ? null : Object.fromEntries(changed) };
}

/** @param eventId undefined if the line does not name the market's event */
export function changeOfMarket(
  market: MarketEntry,
  present: PresentTerms,
  fields: MarketFields,
  eventId: string | null | undefined,
): Changed<MarketChange> {
  const {
    id: _,
    event_slug: _slug,
    event_id: _event,
    status,
    trading_starts_at,
    trading_ends_at,
    fee_bps,
    ticks_per_unit = market.ticksPerUnit,
    min_order_size_atomic = String(market.minOrderAtomic),
    yes_token_id = market.yesTokenId,
    no_token_id = market.noTokenId,
    ...given
  } = fields;
  if (ticks_per_unit !== market.ticksPerUnit) return neverChanges('ticks_per_unit');
  if (Number(min_order_size_atomic) !== market.minOrderAtomic) return neverChanges('min_order_size_atomic');
  if (yes_token_id !== market.yesTokenId) return neverChanges('yes_token_id');
  if (no_token_id !== market.noTokenId) return neverChanges('no_token_id');
  const details = changedDetails(market.details, withoutNulls(given));
  const change: MarketChange = {
    ...(isPublished(status, present) ? { status: MARKET_STATUS.PENDING } : {}),
    ...(fee_bps === undefined || fee_bps === present.feeBps ? {} : { feeBps: fee_bps }),
    ...changedTime('startMs', trading_starts_at, present),
    ...changedTime('endMs', trading_ends_at, present),
    ...(eventId === undefined || eventId === market.eventId ? {} : { eventId }),
    details,
  };
  const isSame = Object.keys(change).length === 1 && Object.keys(details).length === 0;
  return { change: isSame ? null : change };
}

function changedDetails(present: MarketDetails, given: Partial<MarketDetails>): Partial<MarketDetails> {
  const isNew = ([name, value]: [string, unknown]): boolean => {
    return !isDeepStrictEqual(memberOf(present, name), value);
  };
  return Object.fromEntries(Object.entries(given).filter(isNew));
}

/**
 * A status in a line states how a market opens. Time and the administrator advance it afterwards, and importing a file
 * again must not move it back: so for an existing market, a line can only publish a draft.
 */
function isPublished(status: MarketFields['status'], present: PresentTerms): boolean {
  return present.status === MARKET_STATUS.DRAFT && (status === 'pending' || status === 'active');
}

function changedTime(name: 'startMs' | 'endMs', given: string | undefined, present: PresentTerms): object {
  if (given === undefined || parseTimeMs(given) === present[name]) return {};
  return { [name]: parseTimeMs(given) };
}

function neverChanges(what: string): { readonly refusal: Refusal } {
  return { refusal: { row: ERRORS.CONFLICT, message: `${what} never changes` } };
}
