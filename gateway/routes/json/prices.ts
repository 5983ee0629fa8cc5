/** The prices of both outcomes of a market, from its book. */
import { midpointToDecimal } from '../../../shared/base/units.ts';
import { type Book, NO_TICK } from '../../views/books.ts';

/** Decimal texts that are JSON numbers as they stand, so no float is involved. They add up to 1. */
type Mids = readonly [yes: string, no: string];

/** The midpoint of each outcome; null unless there are orders on both sides. */
export function midsOf(book: Book | undefined): Mids | null {
  if (book === undefined) return null;
  const bid = book.bids.highest();
  const ask = book.asks.lowest();
  if (bid === NO_TICK || ask === NO_TICK) return null;
  const { ticksPerUnit } = book;
  return [
    midpointToDecimal(bid, ask, ticksPerUnit),
    midpointToDecimal(ticksPerUnit - ask, ticksPerUnit - bid, ticksPerUnit),
  ];
}
