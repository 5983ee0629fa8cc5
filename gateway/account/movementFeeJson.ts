/** Refusals of movements that an account cannot pay because of the chain fee (RULES.md 17.50). */
import { E, ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';

type Refused = {
  readonly code: number;
  readonly message?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
};

/** The shard's numbers include the fee, so the answer names it. */
export function namingFee({ code, message, details }: Refused, feeMicro: number): Pick<Refusal, 'message' | 'details'> {
  if (code !== E.INSUFFICIENT_BALANCE || feeMicro === 0) return { message, details };
  return {
    message: `the amount and the fee of ${feeMicro} micro-USDC are more than is available`,
    details: { ...details, fee_usdc_micro: String(feeMicro) },
  };
}

/** For a merge: the payout of the sets is less than the fee. */
export function lessThanFee(field: string, feeMicro: number): Refusal {
  const message = `the amount does not cover the fee of ${feeMicro} micro-USDC`;
  return { row: ERRORS.VALIDATION_ERROR, message, details: { field, rule: 'minimum', value: String(feeMicro) } };
}
