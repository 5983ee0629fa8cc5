/**
 * Sizes an order at the market: for the SDK, for `pmx buy` and for the ticket of the page.
 *
 * Invariant:
 *   SWEEP-1  A buyer at the market never pays more than the sum, whatever the book has become: it buys the tokens that
 *            the sum pays for at the limit.
 */
import { tryParsePriceTicks } from '../base/units.ts';
import { facing, type Levels, type Side, type Sweep, sweep, sweepBudget } from './sweep.ts';

/** USDC that a buyer spends at most, or tokens, of which what is below a lot is not traded (RULES.md 1.4). */
type MarketAmount = { readonly usdMicro: bigint } | { readonly sizeAtomic: bigint };

/** The limit is so far from the best price of now, or from the last one that the amount reaches. */
type Slippage = { readonly ticks: bigint; readonly from: 'best' | 'reached' };

/** An order at the market: its limit, whole lots of tokens, and what it takes now. */
type Taking = { readonly limitTicks: number; readonly lots: bigint; readonly taken: Sweep };

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
