/**
 * Computes which part of the book an order would take at this moment: exactly, in lots and ticks, as matching would
 * (RULES.md 2.1). The book may change before the order arrives: what follows is expected, and not promised.
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
    if (leftAtomic <= 0n || (limitTicks !== null && isWorse(ticks, limitTicks, side))) break;
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

/** Throws for what plain JavaScript may give in its place: `buy` is no sale. */
export function checkedSide(side: Side): Side {
  if (side !== 'BUY' && side !== 'SELL') throw new TypeError(`a side is 'BUY' or 'SELL', not ${side}`);
  return side;
}

/** The side of the book that the order meets, best price first. */
export function facing({ bids, asks }: Levels, side: Side): readonly Level[] {
  return checkedSide(side) === 'BUY' ? asks : bids;
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
