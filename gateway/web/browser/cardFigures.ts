/** Chooses the markets that a card of home shows, and computes their figures. */
import type { BrowsedEvents, Market } from '../../../shared/client/types.ts';
import { FINEST, finestTicks } from './format.ts';
import { hasMatch } from './matches.ts';

export type HomeEvent = BrowsedEvents['events'][number];
export type Quote = NonNullable<HomeEvent['quotes']>[string];

/** A card shows the first markets of an event; its page has all of them. */
const MARKETS_A_CARD = 3;
const TICKS_PER_PERCENT = FINEST / 100;

/** Those that match a search, then those that have a price; a card without any shows its first market. */
export function shownMarkets(event: HomeEvent, words: readonly string[]): readonly Market[] {
  const markets = event.market_groups.flatMap((group) => group.markets);
  const rankOf = (market: Market): number => {
    const isFound = [nameOf(market), market.title, ...market.outcomes].some((text) => hasMatch(text, words));
    return (isFound ? 2 : 0) + (priceOf(event.quotes?.[market.id]) === null ? 0 : 1);
  };
  const ranked = markets.map((market) => ({ market, rank: rankOf(market) })).filter(({ rank }) => rank > 0);
  ranked.sort((a, b) => b.rank - a.rank);
  const shown = ranked.slice(0, MARKETS_A_CARD).map(({ market }) => market);
  return shown.length > 0 ? shown : markets.slice(0, 1);
}

/** "-0.025" is -3 points: half a point away from zero counts as one. */
export function changeInPercent(change: string | null): number {
  // Zero is no price.
  if (change === null || change === '0') return 0;
  const isDown = change.startsWith('-');
  const points = Math.round(finestTicks(isDown ? change.slice(1) : change) / TICKS_PER_PERCENT);
  return isDown ? -points : points;
}

/** Between the best prices, or that of the last trade. */
export function priceOf(quote: Quote | undefined): string | null {
  return quote?.midpoint ?? quote?.last_price ?? null;
}

export function nameOf(market: Market): string {
  return market.subtitle || market.title;
}
