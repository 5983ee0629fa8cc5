/** The present value of tokens (RULES.md 13.7). */
import { isDecided } from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import { type Books, NO_TICK } from './bookViews.ts';
import type { MarketViews } from './marketViews.ts';

type MarkViews = { readonly books: Books; readonly markets: MarketViews };

/** Value of a Yes token in millionths: its payout, or the middle of its book; null if there is neither. */
export function presentYesPpm(market: number, { books, markets }: MarkViews): number | null {
  if (!markets.has(market)) return null;
  if (isDecided(markets.status(market))) return markets.payoutYesPpm(market);
  const book = books.of(market);
  if (book === undefined) return null;
  const bid = book.bids.highest();
  const ask = book.asks.lowest();
  // Half a tick is a whole number of millionths, whatever the grid.
  return bid === NO_TICK || ask === NO_TICK ? null : (bid + ask) * (PPM / (2 * book.ticksPerUnit));
}
