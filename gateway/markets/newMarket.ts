/** Reads and completes a market as an administrator describes it, with the checks that its schema cannot make. */

import type { NewEventSet } from '../../shared/api/events.ts';
import type { NewMarket as GivenMarket } from '../../shared/api/markets.ts';
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import type { Refusal } from '../base/refusal.ts';
import type { NewMarket } from './catalog.ts';
import {
  completeMarketDetails,
  DEFAULT_MIN_ORDER_ATOMIC,
  DEFAULT_TICKS_PER_UNIT,
  withoutNulls,
} from './marketDetails.ts';

type Surroundings = { readonly nowMs: number; readonly defaultFeeBps: number };
type Read = { readonly market: NewMarket } | { readonly refusal: Refusal };

/** @param eventId null for a market without an event; the caller checks that the event exists */
export function readNewMarket(
  given: GivenMarket,
  eventId: string | null,
  { nowMs, defaultFeeBps }: Surroundings,
): Read {
  const {
    status,
    event_id: _,
    trading_starts_at,
    trading_ends_at,
    fee_bps,
    ticks_per_unit,
    min_order_size_atomic,
    yes_token_id,
    no_token_id,
    ...details
  } = given;
  const startMs = trading_starts_at === undefined ? nowMs : parseTimeMs(trading_starts_at);
  const endMs = parseTimeMs(trading_ends_at);
  const isPending = startMs > nowMs;
  if (endMs <= Math.max(startMs, nowMs)) return refused('trading_ends_at', 'after trading_starts_at and now');
  if (status === 'active' && isPending) return refused('status', 'active only once trading has started');
  const ticksPerUnit = ticks_per_unit ?? DEFAULT_TICKS_PER_UNIT;
  const minOrderAtomic = min_order_size_atomic === undefined ? DEFAULT_MIN_ORDER_ATOMIC : Number(min_order_size_atomic);
  if (minOrderAtomic < ticksPerUnit) return refused('min_order_size_atomic', 'at least one lot');
  if ((yes_token_id === undefined) !== (no_token_id === undefined)) {
    return refused(yes_token_id === undefined ? 'yes_token_id' : 'no_token_id', 'both or neither');
  }
  if (yes_token_id !== undefined && yes_token_id === no_token_id) {
    return refused('no_token_id', 'different from yes_token_id');
  }
  const opening = { status: toOpeningStatus(status, isPending), feeBps: fee_bps ?? defaultFeeBps, startMs, endMs };
  return {
    market: {
      eventId,
      ticksPerUnit,
      minOrderAtomic,
      tokenIds: yes_token_id === undefined ? null : [yes_token_id, no_token_id!],
      opening,
      details: completeMarketDetails(withoutNulls(details)),
    },
  };
}

type EventOfSet = Pick<NewEventSet['event'], 'category' | 'description'>;
type TermsOfSet = Omit<NewEventSet, 'event' | 'markets' | 'winners'>;
type NamedMember = NewEventSet['markets'][number] & { readonly id?: string };

/** Reads the markets of an event set (RULES.md 19.1), which share these terms. */
export function readNewMembers(
  { category = 'Other', description: ofEvent }: EventOfSet,
  terms: TermsOfSet,
  members: readonly NamedMember[],
  surroundings: Surroundings,
): { readonly markets: NewMarket[] } | { readonly refusal: Refusal } {
  const markets: NewMarket[] = [];
  for (const { id, title, subtitle = '', description = ofEvent ?? title } of members) {
    const read = readNewMarket({ ...terms, title, subtitle, description, category }, null, surroundings);
    if ('refusal' in read) return read;
    markets.push(id === undefined ? read.market : { ...read.market, id: id.toLowerCase() });
  }
  return { markets };
}

export function invalidField(field: string, rule: string): Refusal {
  return { row: ERRORS.VALIDATION_ERROR, message: `invalid ${field}`, details: { field, rule } };
}

/** A market requested as pending although its start time has passed opens at the next tick of its shard. */
function toOpeningStatus(asked: GivenMarket['status'], isPending: boolean): MarketStatus {
  if (asked === 'draft') return MARKET_STATUS.DRAFT;
  return isPending || asked === 'pending' ? MARKET_STATUS.PENDING : MARKET_STATUS.ACTIVE;
}

function refused(field: string, rule: string): Read {
  return { refusal: invalidField(field, rule) };
}
