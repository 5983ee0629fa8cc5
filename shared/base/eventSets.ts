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

/** Tokens of one market that an account may give. */
export type Held = { readonly yes: number; readonly no: number };
/** A conversion towards USDC: the places of the markets whose No is given, and how many of each. */
type Freeing = { readonly chosen: readonly number[]; readonly amount: number };

/**
 * The conversions after which nothing more can be turned into USDC without a loss in some outcome. Together they pay
 * what the tokens pay at least, whichever market wins: min(Yes - No) + the sum of No.
 * @param held by place, of the markets that are not eliminated
 */
export function freeingConversions(held: readonly Held[]): readonly Freeing[] {
  const steps: Freeing[] = [];
  // No of two and more markets pays: first of all that have some, then of those that have more than the least.
  const levels = [...new Set(held.map(({ no }) => no))].sort((a, b) => a - b).filter((no) => no > 0);
  let [below, most] = [0, 0];
  const gained = held.map(() => 0);
  for (const level of levels) {
    const chosen = placesOf(held, ({ no }) => no >= level);
    most = level;
    if (chosen.length < 2) break;
    steps.push({ chosen, amount: level - below });
    for (const [place, { no }] of held.entries()) if (no < level) gained[place] += level - below;
    below = level;
  }
  // Of the one market that has No left, as many become Yes of the others as a Yes of every market needs.
  const last = most > below ? held.findIndex(({ no }) => no === most) : -1;
  const yes = held.map((each, place) => each.yes + gained[place]);
  const ofOthers = Math.min(...yes.filter((_, place) => place !== last));
  const turned = last < 0 ? 0 : Math.min(most - below, Math.max(0, yes[last] - ofOthers));
  if (turned > 0) steps.push({ chosen: [last], amount: turned });
  const full = last < 0 ? Math.min(...yes) : Math.min(yes[last], ofOthers + turned);
  if (full > 0) steps.push({ chosen: [], amount: full });
  return steps;
}

function placesOf(held: readonly Held[], has: (each: Held) => boolean): number[] {
  return held.flatMap((each, place) => (has(each) ? [place] : []));
}
