/** The prices of a market, wherever they are shown: from its book, and those of trades (RULES.md 1.7). */
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { midpointToDecimal, spreadToDecimal, tickToPrice } from '../../shared/base/units.ts';
import { bestTicks } from './bookLevels.ts';
import { type Book, NO_TICK } from './bookViews.ts';

/** Of one outcome. A price of an empty side is null, and so is what is computed from it. */
type BookPrices = {
  readonly best_bid: string | null;
  readonly best_ask: string | null;
  readonly spread: string | null;
  readonly midpoint: string | null;
};

/** @param book undefined: without any level */
export function bookPrices(book: Book | undefined, outcome: Outcome, ticksPerUnit: number): BookPrices {
  const { bid, ask } = bestTicks(book, outcome);
  const isTwoSided = bid !== NO_TICK && ask !== NO_TICK;
  return {
    best_bid: bid === NO_TICK ? null : tickToPrice(bid, ticksPerUnit),
    best_ask: ask === NO_TICK ? null : tickToPrice(ask, ticksPerUnit),
    spread: isTwoSided ? spreadToDecimal(bid, ask, ticksPerUnit) : null,
    midpoint: isTwoSided ? midpointToDecimal(bid, ask, ticksPerUnit) : null,
  };
}

/** The price of a trade in one outcome; null before the first. */
export function tradePrice(yesTicks: number, outcome: Outcome, ticksPerUnit: number): string | null {
  return yesTicks === NO_TICK ? null : tickToPrice(ownTicks(outcome, yesTicks, ticksPerUnit), ticksPerUnit);
}

/**
 * The value of each outcome according to the book: `current_prices` and probabilities; null unless there are orders on
 * both sides. Decimal texts that are JSON numbers as they stand, so no float is involved. They add up to 1.
 */
export function midsOf(book: Book | undefined): readonly [yes: string, no: string] | null {
  if (book === undefined) return null;
  const yes = bookPrices(book, OUTCOME.YES, book.ticksPerUnit).midpoint;
  return yes === null ? null : [yes, bookPrices(book, OUTCOME.NO, book.ticksPerUnit).midpoint!];
}
