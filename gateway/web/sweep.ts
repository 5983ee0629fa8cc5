/**
 * Computes which part of the book an order would take at this moment: exactly, in lots and ticks, as matching would
 * (RULES.md 2.1). The book may change before the order arrives: the ticket expects this, and does not promise it.
 */
import { tryParsePriceTicks } from '../../shared/base/units.ts';
import type { Level, Levels } from '../../shared/client/stream/bookReplica.ts';

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

/** The side of the book that the order meets, best price first. */
export function facing({ bids, asks }: Levels, side: Side): readonly Level[] {
  return side === 'BUY' ? asks : bids;
}

function isWorse(ticks: number, limitTicks: number, side: Side): boolean {
  return side === 'BUY' ? ticks > limitTicks : ticks < limitTicks;
}

function plus(taken: Sweep, ticks: number, quantityAtomic: bigint, ticksPerUnit: number): Sweep {
  return {
    filledAtomic: taken.filledAtomic + quantityAtomic,
    notionalMicro: taken.notionalMicro + (quantityAtomic / BigInt(ticksPerUnit)) * BigInt(ticks),
    levels: taken.levels + 1,
    lastTicks: ticks,
  };
}
