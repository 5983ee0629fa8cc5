/** The depth of a book: the prices that a drawing of it shows, and what an order up to a price meets. */
import type { Level } from '../../../shared/client/stream/bookReplica.ts';
import { dollars, FINEST, finestTicks, inCents, units } from './format.ts';

const MICRO_PER_DOLLAR = 1e6;
/** Ticks of the finest grid on each side of the middle: the least that shows most of both sides is drawn. */
const REACHES = [200, 500, 1000, 2000, FINEST];
const MOST = 0.8;

/** Sums of all levels up to this price. A drawing needs no exact ones. */
export type Step = { readonly ticks: number; readonly atomic: number; readonly micro: number };
export type Range = { readonly from: number; readonly to: number };

export function staircase(levels: readonly Level[]): Step[] {
  let [atomic, micro] = [0, 0];
  return levels.map(({ price, token_quantity_atomic }) => {
    const ticks = finestTicks(price);
    atomic += Number(token_quantity_atomic);
    micro += (Number(token_quantity_atomic) * ticks) / FINEST;
    return { ticks, atomic, micro };
  });
}

/** The drawn prices: the middle of the book, and on each side the least reach that holds most tokens of both. */
export function rangeOf(bids: readonly Step[], asks: readonly Step[]): Range {
  const bid = bids[0]?.ticks ?? asks[0].ticks;
  const ask = asks[0]?.ticks ?? bids[0].ticks;
  const middle = Math.round((bid + ask) / 2);
  const around = (reach: number): Range => ({
    from: Math.max(0, middle - reach),
    to: Math.min(FINEST, middle + reach),
  });
  const isEnough = (range: Range): boolean =>
    [bids, asks].every((side) => reached(side, range) >= MOST * (side.at(-1)?.atomic ?? 0));
  return around(REACHES.find((reach) => isEnough(around(reach))) ?? FINEST);
}

/** A sentence on what an order up to the price meets at once; null between the sides. */
export function sentenceAt(ticks: number, bids: readonly Step[], asks: readonly Step[]): string | null {
  const bought = asks.findLast((step) => step.ticks <= ticks);
  const sold = bids.findLast((step) => step.ticks >= ticks);
  const met = bought ?? sold;
  if (met === undefined) return null;
  const tokens = `${units(BigInt(Math.round(met.atomic)))} tokens`;
  const limit = `${inCents(met.ticks)} for ${dollars(met.micro / MICRO_PER_DOLLAR)}`;
  return bought === undefined ? `Sell ${tokens} down to ${limit}` : `Buy ${tokens} up to ${limit}`;
}

/** The tokens of the levels inside the range. */
export function reached(side: readonly Step[], { from, to }: Range): number {
  return side.findLast(({ ticks }) => ticks >= from && ticks <= to)?.atomic ?? 0;
}
