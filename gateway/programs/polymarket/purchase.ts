/** Sizes the parts of a purchase that spends an amount of USDC: each costs at most what is left, at its limit. */
import { parsePrice } from '../../../shared/client/amounts.ts';
import type { LimitAndLots } from './amounts.ts';

type Ask = { readonly price: string; readonly token_quantity_atomic: string };
type Purchase = {
  readonly asks: readonly Ask[];
  readonly ticksPerUnit: number;
  readonly mostTicks: bigint;
  readonly leftMicro: bigint;
  readonly leastLots: bigint;
};
/** `unspentMicro` is left when the whole book up to the limit is taken. */
type Step = LimitAndLots & { readonly unspentMicro: bigint };

/**
 * The next part; null if the book has nothing for what is left. It is as many of the best lots as are surely paid at
 * the price of the last of them, and as leave enough for one least order at the price of the last level: with that one
 * less than a lot remains, if the last level has as many; else at most what two least orders cost less at better
 * prices. The first part of a FOK purchase is all of it but for one least order.
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
  if (sure === undefined) return step(last, wholeLots);
  const mostLots = smaller(last.lots - leastLots, sure.lots);
  const first = bestLots(reached, mostLots, leftMicro - leastLots * last.ticks);
  if (first !== null && first.lots >= leastLots) return step(first, first.lots);
  return wholeLots >= leastLots || sure.lots < leastLots ? step(last, wholeLots) : step(sure, sure.lots);
}

/** So many of the best lots at most, for so much at most, and the price of the last of them. */
function bestLots(reached: readonly Reached[], most: bigint, micro: bigint): { ticks: bigint; lots: bigint } | null {
  let best: { ticks: bigint; lots: bigint } | null = null;
  let before = { lots: 0n, costMicro: 0n };
  for (const level of reached) {
    const wanted = smaller(level.lots, most) - before.lots;
    const taken = smaller(wanted, (micro - before.costMicro) / level.ticks);
    if (taken <= 0n) break;
    best = { ticks: level.ticks, lots: before.lots + taken };
    if (best.lots < level.lots) break;
    before = level;
  }
  return best;
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other);

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
