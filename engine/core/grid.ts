/** Converts the two signed amounts to ticks and lots (RULES.md 1.2-1.5). Pure, and the same at every replay. */
import { assert } from '../../shared/base/assert.ts';
import { SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { divFloor, MAX_SAFE, mulDivCeil, mulDivFloor } from '../../shared/base/int.ts';

/** The record in which `toGrid` leaves its result: reused, so nothing is allocated per order. */
type GridResult = { limitTicks: number; quantityLots: number };

/**
 * Resting kinds (GTC, GTD) must lie exactly on the grid. FOK and FAK may have any ratio of amounts: the limit is the
 * worst tick that still honours it (a BUY never pays more, a SELL never receives less), and the quantity is rounded
 * down to lots.
 * @returns OK, INVALID_TICK or INVALID_LOT; quantityLots may be 0, which the minimum size refuses.
 */
export function toGrid(
  side: number,
  timeInForce: number,
  makerAmount: number,
  takerAmount: number,
  ticksPerUnit: number,
  result: GridResult,
): number {
  const usdcMicro = side === SIDE.BUY ? makerAmount : takerAmount;
  const tokensAtomic = side === SIDE.BUY ? takerAmount : makerAmount;
  const quantityLots = divFloor(tokensAtomic, ticksPerUnit);
  const isResting = timeInForce === TIME_IN_FORCE.GTC || timeInForce === TIME_IN_FORCE.GTD;
  // A price of 1 or more is on no tick; this is decided first, so the quotients below are at most ticksPerUnit. A buyer
  // who would pay that much in an immediate order also pays any price in the book.
  if (usdcMicro >= tokensAtomic) {
    if (isResting || side === SIDE.SELL) return E.INVALID_TICK;
    result.limitTicks = ticksPerUnit - 1;
    result.quantityLots = quantityLots;
    return OK;
  }
  const product = usdcMicro * ticksPerUnit;
  let floorTicks: number;
  let ceilTicks: number;
  if (product <= MAX_SAFE) {
    // One division serves both, inline and not in a function: V8 would allocate a new object for a product beyond 31
    // bits.
    floorTicks = Math.floor(product / tokensAtomic);
    if (floorTicks * tokensAtomic > product) floorTicks--; // divFloor says why
    ceilTicks = floorTicks * tokensAtomic === product ? floorTicks : floorTicks + 1;
  } else {
    floorTicks = mulDivFloor(usdcMicro, ticksPerUnit, tokensAtomic);
    ceilTicks = mulDivCeil(usdcMicro, ticksPerUnit, tokensAtomic);
  }
  if (isResting) {
    if (floorTicks !== ceilTicks || floorTicks < 1) return E.INVALID_TICK;
    if (quantityLots * ticksPerUnit !== tokensAtomic) return E.INVALID_LOT;
  }
  assert(ceilTicks - floorTicks <= 1, 'grid: the two ticks around a ratio are neighbours');
  assert(quantityLots * ticksPerUnit <= tokensAtomic, 'grid: the lots are part of the signed tokens');
  const limitTicks = side === SIDE.BUY ? floorTicks : ceilTicks;
  if (limitTicks < 1 || limitTicks > ticksPerUnit - 1) return E.INVALID_TICK;
  result.limitTicks = limitTicks;
  result.quantityLots = quantityLots;
  return OK;
}
