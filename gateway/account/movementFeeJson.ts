/** Refusals of what an account cannot pay because of the fee of a movement on the chain (RULES.md 17.50). */
import { E, ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';

type Refused = {
  readonly code: number;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
};

/** The numbers of a shard include the fee: the answer names it. */
export function namingFee({ code, message, details }: Refused, feeMicro: number): Pick<Refusal, 'message' | 'details'> {
  if (code !== E.INSUFFICIENT_BALANCE || feeMicro === 0) return { message, details };
  return {
    message: `the amount and the fee of ${feeMicro} micro-USDC are more than is available`,
    details: { ...details, fee_usdc_micro: String(feeMicro) },
  };
}

/** Of a merge: the sets pay what they are merged for. */
export function lessThanFee(field: string, feeMicro: number): Refusal {
  const message = `the amount does not cover the fee of ${feeMicro} micro-USDC`;
  return { row: ERRORS.VALIDATION_ERROR, message, details: { field, rule: 'minimum', value: String(feeMicro) } };
}
