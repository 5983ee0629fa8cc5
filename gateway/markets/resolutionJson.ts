/** The decision of a market as text for a person. */
import { PPM } from '../../shared/base/payout.ts';
import { unitsToDecimal } from '../../shared/base/units.ts';

/** The label of the winning outcome, or "Yes 0.25, No 0.75" if both are paid. */
export function resolutionOf([yes, no]: readonly string[], payoutYes: number): string {
  if (payoutYes === PPM) return yes;
  if (payoutYes === 0) return no;
  return `${yes} ${unitsToDecimal(payoutYes)}, ${no} ${unitsToDecimal(PPM - payoutYes)}`;
}
