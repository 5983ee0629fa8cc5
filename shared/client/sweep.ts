/**
 * Computes which part of the book an order would take at this moment: exactly, in lots and ticks, as matching would
 * (RULES.md 2.1). The book may change before the order arrives: what follows is expected, and not promised. The order
 * at the market is sized here for the SDK, for `pmx buy` and for the ticket of the page.
 *
 * Invariant:
 *   SWEEP-1  A buyer at the market never pays more than the sum, whatever the book has become: it buys the tokens that
 *            the sum pays for at the limit.
 */
import { tryParsePriceTicks } from '../base/units.ts';

/** The parts of a book that count, of the stream or of an answer. */
type Level = { readonly price: string; readonly token_quantity_atomic: string };
export type Levels = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };

export type Side = 'BUY' | 'SELL';

/** The levels are those of the order's own outcome. */
export type Sweep = {
  readonly filledAtomic: bigint;
  /** USDC that a buyer pays or a seller receives for that, before the fee. */
  readonly notionalMicro: bigint;
  readonly levels: number;
  /** The last price that is reached; null if nothing is taken. */
  readonly lastTicks: number | null;
};

/** USDC that a buyer spends at most, or tokens, of which what is below a lot is not traded (RULES.md 1.4). */
type MarketAmount = { readonly usdMicro: bigint } | { readonly sizeAtomic: bigint };

/** The limit is so far from the best price of now, or from the last one that the amount reaches. */
type Slippage = { readonly ticks: bigint; readonly from: 'best' | 'reached' };

/** An order at the market: its limit, whole lots of tokens, and what it takes now. */
type Taking = { readonly limitTicks: number; readonly lots: bigint; readonly taken: Sweep };

const BPS = 10_000n;
const NOTHING: Sweep = { filledAtomic: 0n, notionalMicro: 0n, levels: 0, lastTicks: null };

/** Of an order for so many tokens, up to its limit. */
export function sweep(
  book: Levels,
  side: Side,
  ticksPerUnit: number,
  wantedAtomic: bigint,
  limitTicks: number | null = null,
): Sweep {
  let taken = NOTHING;
  for (const level of facing(book, side)) {
    const ticks = tryParsePriceTicks(level.price, ticksPerUnit);
    const leftAtomic = wantedAtomic - taken.filledAtomic;
    if (leftAtomic === 0n || (limitTicks !== null && isWorse(ticks, limitTicks, side))) break;
    const thereAtomic = BigInt(level.token_quantity_atomic);
    taken = plus(taken, ticks, thereAtomic < leftAtomic ? thereAtomic : leftAtomic, ticksPerUnit);
  }
  return taken;
}

/** Of a buyer who spends at most so much. */
export function sweepBudget(book: Levels, ticksPerUnit: number, budgetMicro: bigint): Sweep {
  let taken = NOTHING;
  for (const level of book.asks) {
    const ticks = tryParsePriceTicks(level.price, ticksPerUnit);
    const lots = (budgetMicro - taken.notionalMicro) / BigInt(ticks);
    const affordableAtomic = lots * BigInt(ticksPerUnit);
    const thereAtomic = BigInt(level.token_quantity_atomic);
    const isLast = affordableAtomic < thereAtomic;
    const takenAtomic = isLast ? affordableAtomic : thereAtomic;
    if (takenAtomic > 0n) taken = plus(taken, ticks, takenAtomic, ticksPerUnit);
    if (isLast) break;
  }
  return taken;
}

/** An order at the market; null if there is nothing on the other side. It may be for no lot at all. */
export function atMarket(
  book: Levels,
  side: Side,
  ticksPerUnit: number,
  amount: MarketAmount,
  slippage: Slippage,
): Taking | null {
  const [best] = facing(book, side);
  if (best === undefined) return null;
  const lotAtomic = BigInt(ticksPerUnit);
  const reached = (): number | null =>
    'usdMicro' in amount
      ? sweepBudget(book, ticksPerUnit, amount.usdMicro).lastTicks
      : sweep(book, side, ticksPerUnit, amount.sizeAtomic).lastTicks;
  const from = (slippage.from === 'best' ? null : reached()) ?? tryParsePriceTicks(best.price, ticksPerUnit);
  const limit = BigInt(from) + (side === 'BUY' ? slippage.ticks : -slippage.ticks);
  const onGrid = limit < 1n ? 1n : limit < lotAtomic ? limit : lotAtomic - 1n;
  // SWEEP-1.
  const lots = 'usdMicro' in amount ? amount.usdMicro / onGrid : amount.sizeAtomic / lotAtomic;
  const limitTicks = Number(onGrid);
  return { limitTicks, lots, taken: sweep(book, side, ticksPerUnit, lots * lotAtomic, limitTicks) };
}

/** The side of the book that the order meets, best price first. */
function facing({ bids, asks }: Levels, side: Side): readonly Level[] {
  return side === 'BUY' ? asks : bids;
}

function isWorse(ticks: number, limitTicks: number, side: Side): boolean {
  return side === 'BUY' ? ticks > limitTicks : ticks < limitTicks;
}

function plus(taken: Sweep, ticks: number, quantityAtomic: bigint, ticksPerUnit: number): Sweep {
  return {
    filledAtomic: taken.filledAtomic + quantityAtomic,
    notionalMicro: taken.notionalMicro + (quantityAtomic * BigInt(ticks)) / BigInt(ticksPerUnit),
    levels: taken.levels + 1,
    lastTicks: ticks,
  };
}

/** Of all that an order receives, in that asset (RULES.md 2.3). */
export function feeOf(gross: bigint, feeBps: number): bigint {
  return (gross * BigInt(feeBps)) / BPS;
}
