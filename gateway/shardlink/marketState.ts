/** The state of a market as REST and the stream show it: JSON members, from `status` on. */
import { isDecided, MARKET_STATUS_NAMES, STAGE_NAMES } from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { MarketViews } from './marketViews.ts';

/** Without a comma at either end. */
export function marketState(markets: MarketViews, market: number): string {
  const status = markets.status(market);
  const payoutYesPpm = markets.payoutYesPpm(market);
  return (
    `"status":"${MARKET_STATUS_NAMES[status]}","stage":"${STAGE_NAMES[markets.stage(market)]}"` +
    `,"fee_bps":${markets.feeBps(market)}` +
    `,"trading_starts_at":"${new Date(markets.startMs(market)).toISOString()}"` +
    `,"trading_ends_at":"${new Date(markets.endMs(market)).toISOString()}"` +
    timeMember('resolved_at', markets.resolvedMs(market)) +
    timeMember('settled_at', markets.settledMs(market)) +
    (isDecided(status) ? `,"payouts":[${payoutYesPpm},${PPM - payoutYesPpm}]` : '')
  );
}

/** Absent until it has happened. */
function timeMember(name: string, ms: number): string {
  return ms === 0 ? '' : `,"${name}":"${new Date(ms).toISOString()}"`;
}
