/**
 * Shares of fees that are owed to accounts, in micro-USDC (RULES.md 14.44 and 14.45). A fee in tokens is valued at the
 * tokens' price in its fill. Each share is rounded down once.
 */
import { SIDE } from './codes.ts';
import { MAX_SAFE } from './int.ts';

const BPS = 10_000;
/** The share of an account's fees that its referrer earns. */
export const REFERRAL_BPS = 1000;

/**
 * @param fee tokens for a BUY, micro-USDC for a SELL
 * @param ticks of the outcome that was bought or sold
 */
export function shareOfFee(side: number, fee: number, ticks: number, ticksPerUnit: number, bps: number): number {
  const weight = side === SIDE.BUY ? ticks : ticksPerUnit;
  const product = fee * weight * bps;
  if (product <= MAX_SAFE) return Math.floor(product / (ticksPerUnit * BPS));
  return Number((BigInt(fee) * BigInt(weight) * BigInt(bps)) / BigInt(ticksPerUnit * BPS));
}
