/**
 * The arithmetic of event sets (RULES.md 19): markets of which exactly one outcome wins. With k chosen markets,
 *
 *   towards USDC    a No in each chosen market   ->   (k - 1) * a USDC and a Yes in each other market
 *   and for k = 0   a Yes in every market        ->   a USDC
 *
 * and back. Both sides are worth the same whichever wins, because exactly one Yes pays. Every amount is an integer,
 * so no conversion rounds.
 */
import { assert } from './assert.ts';
import { mulSafe } from './int.ts';
import { PPM, payoutMicro, roundingPpm } from './payout.ts';

export const LEAST_MEMBERS = 2;
export const MOST_MEMBERS = 64;
export const CONVERSION = { TO_USDC: 0, FROM_USDC: 1 } as const;

/** Markets of a set as 64 bits in two words, the first market in the lowest one. */
export type Chosen = readonly [low: number, high: number];

export function isChosen([low, high]: Chosen, ordinal: number): boolean {
  return ((ordinal < 32 ? low : high) & (1 << (ordinal & 31))) !== 0;
}

export function chosenOf(ordinals: Iterable<number>): Chosen {
  let [low, high] = [0, 0];
  for (const ordinal of ordinals) {
    assert(ordinal >= 0 && ordinal < MOST_MEMBERS, 'eventSets: a set has 64 markets at most');
    if (ordinal < 32) low |= 1 << ordinal;
    else high |= 1 << (ordinal & 31);
  }
  return [low >>> 0, high >>> 0];
}

/** The USDC that a conversion pays, or that it takes on the way back. */
export function conversionMicro(chosenCount: number, amountAtomic: number): number {
  return chosenCount === 0 ? amountAtomic : mulSafe(chosenCount - 1, amountAtomic);
}

/** The payouts of Yes in a set without an answer: all alike, the remainder to a whole for the first. */
export function equalPayoutsPpm(markets: number): number[] {
  assert(markets >= LEAST_MEMBERS && markets <= MOST_MEMBERS, 'eventSets: a set has 2 to 64 markets');
  const each = Math.floor(PPM / markets);
  return Array.from({ length: markets }, (_, ordinal) => (ordinal === 0 ? PPM - (markets - 1) * each : each));
}

/**
 * The part of its set's excess that a market takes over when its Yes pays this much. It is rounded up, so the market's
 * collateral is never less than its tokens are worth. The rounded part is exact in millionths of a micro.
 */
export function excessShare(excessMicro: number, payoutYesPpm: number): { micro: number; roundingPpm: number } {
  const rest = roundingPpm(excessMicro, 0, payoutYesPpm);
  const floor = payoutMicro(excessMicro, 0, payoutYesPpm);
  return rest === 0 ? { micro: floor, roundingPpm: 0 } : { micro: floor + 1, roundingPpm: PPM - rest };
}
