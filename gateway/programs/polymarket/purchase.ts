/** Sizes the parts of a purchase that spends an amount of USDC: each costs at most what is left, at its limit. */
import { parsePrice } from '../../../shared/client/amounts.ts';
import type { Terms } from './amounts.ts';

type Ask = { readonly price: string; readonly token_quantity_atomic: string };
type Purchase = {
  readonly asks: readonly Ask[];
  readonly ticksPerUnit: number;
  readonly mostTicks: bigint;
  readonly leftMicro: bigint;
  readonly leastLots: bigint;
};
/** `unspentMicro` is left when the whole book up to the limit is taken. */
type Step = Terms & { readonly unspentMicro: bigint };

/**
 * The next part; null if the book has nothing for what is left. It is as many of the best levels as are surely paid at
 * the price of the last of them; the part that reaches the last level is then of that level alone, and leaves less than
 * a lot. The first part of a FOK purchase is all of it but for one least order.
 */
export function nextStep(purchase: Purchase, isFirstOfFok: boolean): Step | null {
  const { leftMicro, leastLots } = purchase;
  const reached = levelsReached(purchase);
  const last = reached.at(-1);
  if (last === undefined) return null;
  const unspentMicro = leftMicro - last.costMicro;
  const step = ({ ticks: limitTicks }: { readonly ticks: bigint }, lots: bigint): Step => ({
    limitTicks,
    lots,
    unspentMicro,
  });
  const wholeLots = leftMicro / last.ticks;
  const sure = reached.findLast(({ lots, ticks }) => lots * ticks <= leftMicro);
  if (sure === last) return step(last, last.lots);
  if (isFirstOfFok) return step(last, wholeLots >= 2n * leastLots ? wholeLots - leastLots : wholeLots);
  return sure !== undefined && sure.lots >= leastLots ? step(sure, sure.lots) : step(last, wholeLots);
}

type Reached = { readonly ticks: bigint; readonly lots: bigint; readonly costMicro: bigint };

/** By level, the lots down to it that what is left pays for, and what they cost. */
function levelsReached({ asks, ticksPerUnit, mostTicks, leftMicro }: Purchase): readonly Reached[] {
  const reached: Reached[] = [];
  let [lots, costMicro] = [0n, 0n];
  for (const { price, token_quantity_atomic } of asks) {
    const ticks = parsePrice(price, ticksPerUnit);
    const affordable = (leftMicro - costMicro) / ticks;
    if (ticks > mostTicks || affordable === 0n) break;
    const there = BigInt(token_quantity_atomic) / BigInt(ticksPerUnit);
    const taken = affordable < there ? affordable : there;
    lots += taken;
    costMicro += taken * ticks;
    reached.push({ ticks, lots, costMicro });
    if (taken < there) break;
  }
  return reached;
}
