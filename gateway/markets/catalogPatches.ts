/** Changes of markets and events from the bodies of PATCH, applied at once or after a second operator has approved. */
import type { MarketPatch } from '../../shared/api/markets.ts';
import { codeOf, MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog } from './catalog.ts';
import type { MarketChange } from './marketCommands.ts';
import { withoutNulls } from './marketDetails.ts';

export function readMarketPatch(
  { status, event_id, trading_starts_at, trading_ends_at, fee_bps, ...details }: MarketPatch,
  catalog: Pick<Catalog, 'eventById'>,
): { readonly change: MarketChange } | { readonly refusal: Refusal } {
  const event = event_id == null ? event_id : catalog.eventById(event_id);
  if (event_id != null && event === undefined) {
    return { refusal: { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' } };
  }
  return {
    change: {
      status: status === undefined ? undefined : codeOf(MARKET_STATUS_NAMES, status),
      feeBps: fee_bps,
      startMs: trading_starts_at === undefined ? undefined : parseTimeMs(trading_starts_at),
      endMs: trading_ends_at === undefined ? undefined : parseTimeMs(trading_ends_at),
      eventId: event === null ? null : event?.id,
      details: withoutNulls(details),
    },
  };
}
