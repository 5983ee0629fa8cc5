/**
 * The levels of a book in the terms of one outcome, as clients read them, best price first. Outcome 1 is the mirror of
 * outcome 0: prices become D - p and the sides change places (RULES.md 2).
 */
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { MAX_SAFE, productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { type Book, type BookSide, NO_TICK } from './bookViews.ts';

type BookLevel = {
  readonly price: string;
  readonly num_orders: number;
  readonly token_quantity_atomic: string;
  readonly notional_usdc_micro: string;
  readonly size: string;
};

type BookLevels = { readonly bids: readonly BookLevel[]; readonly asks: readonly BookLevel[] };

const EMPTY: BookLevels = { bids: [], asks: [] };

export function bookLevels(book: Book | undefined, outcome: Outcome, count: number): BookLevels {
  if (book === undefined) return EMPTY;
  const bids = sideLevels(book, book.bids, outcome, count);
  const asks = sideLevels(book, book.asks, outcome, count);
  return outcome === OUTCOME.YES ? { bids, asks } : { bids: asks, asks: bids };
}

/** Best bid and ask of one outcome in its own ticks, NO_TICK where a side is empty. */
export function bestTicks(book: Book | undefined, outcome: Outcome): { readonly bid: number; readonly ask: number } {
  if (book === undefined) return { bid: NO_TICK, ask: NO_TICK };
  const bid = book.bids.highest();
  const ask = book.asks.lowest();
  if (outcome === OUTCOME.YES) return { bid, ask };
  const mirror = (tick: number): number => (tick === NO_TICK ? NO_TICK : book.ticksPerUnit - tick);
  return { bid: mirror(ask), ask: mirror(bid) };
}

/** The level that is best in Yes terms is best in terms of No as well. */
function sideLevels(book: Book, side: BookSide, outcome: Outcome, count: number): BookLevel[] {
  const isBids = side === book.bids;
  const levels: BookLevel[] = [];
  let tick = isBids ? side.highest() : side.lowest();
  while (tick !== NO_TICK && levels.length < count) {
    levels.push(level(book, side, tick, outcome));
    tick = isBids ? side.below(tick) : side.above(tick);
  }
  return levels;
}

function level(book: Book, side: BookSide, tick: number, outcome: Outcome): BookLevel {
  const { ticksPerUnit } = book;
  const lots = side.lots[tick];
  const ownTicks = outcome === OUTCOME.YES ? tick : ticksPerUnit - tick;
  return {
    price: tickToPrice(ownTicks, ticksPerUnit),
    num_orders: side.orders[tick],
    token_quantity_atomic: productToString(lots, ticksPerUnit),
    notional_usdc_micro: productToString(lots, ownTicks),
    size: makerRemainders(book, side, tick),
  };
}

/** The BUY orders of a bid level buy Yes at its tick; those of an ask level buy No at the mirrored tick. */
function makerRemainders(book: Book, side: BookSide, tick: number): string {
  const buyLots = side.buyLots[tick];
  const sellLots = side.lots[tick] - buyLots;
  const buyTicks = side === book.bids ? tick : book.ticksPerUnit - tick;
  const sum = buyLots * buyTicks + sellLots * book.ticksPerUnit;
  if (sum <= MAX_SAFE) return String(sum);
  return String(BigInt(buyLots) * BigInt(buyTicks) + BigInt(sellLots) * BigInt(book.ticksPerUnit));
}
