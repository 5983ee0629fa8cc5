/**
 * Payouts of the tokens of a decided market (RULES.md 3.4). A token of Yes pays `payoutYesPpm` millionths of a
 * micro-USDC per atomic token, one of No the remainder to a million, so a full set is one USDC whatever the decision.
 * Only a whole holding is rounded, down to the micro; the rounded part is exact as well, in millionths of a micro.
 *
 * Holdings may be negative after trading without collateral: a debt is rounded up.
 */
import { assert } from './assert.ts';
import { OUTCOME } from './codes.ts';
import { addSafe } from './int.ts';

export const PPM = 1_000_000;

/** floor((yes * payoutYesPpm + no * (PPM - payoutYesPpm)) / PPM), exact however large the products are. */
export function payoutMicro(yesAtomic: number, noAtomic: number, payoutYesPpm: number): number {
  const yesUnits = (yesAtomic - (yesAtomic % PPM)) / PPM;
  const noUnits = (noAtomic - (noAtomic % PPM)) / PPM;
  const whole = addSafe(yesUnits * payoutYesPpm, noUnits * (PPM - payoutYesPpm));
  const fraction = fractionPpm(yesAtomic, noAtomic, payoutYesPpm);
  const rounding = roundingPpm(yesAtomic, noAtomic, payoutYesPpm);
  return addSafe(whole, (fraction - rounding) / PPM);
}

/**
 * The part of one outcome in that payout: Yes gets the payout of Yes alone, No gets the remainder, so both add up to
 * the whole.
 */
export function payoutPartMicro(outcome: number, yesAtomic: number, noAtomic: number, payoutYesPpm: number): number {
  const forYes = payoutMicro(yesAtomic, 0, payoutYesPpm);
  return outcome === OUTCOME.YES ? forYes : payoutMicro(yesAtomic, noAtomic, payoutYesPpm) - forYes;
}

/** The part of a holding's payout that `payoutMicro` rounds away: 0 … PPM - 1. */
export function roundingPpm(yesAtomic: number, noAtomic: number, payoutYesPpm: number): number {
  const rest = fractionPpm(yesAtomic, noAtomic, payoutYesPpm) % PPM;
  return rest < 0 ? rest + PPM : rest;
}

/** The payout of the atomic tokens beyond whole units, below 2 * 10^12. */
function fractionPpm(yesAtomic: number, noAtomic: number, payoutYesPpm: number): number {
  assert(payoutYesPpm >= 0 && payoutYesPpm <= PPM, 'payout: a share of one USDC');
  return (yesAtomic % PPM) * payoutYesPpm + (noAtomic % PPM) * (PPM - payoutYesPpm);
}
