/**
 * Rules of a placement body that depend on several fields or on the catalogue, so that no schema can express them.
 * Everything that depends on the state of a book or an account is left to the shard.
 */
import type { PlacementBody } from '../../shared/api/orders.ts';
import { isImmediate, MAX_ORDER_AMOUNT, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import type { Refusal } from '../base/refusal.ts';

/** Returns the reason why the fields of a body contradict each other; null if they do not. */
export function refuseCombination(body: PlacementBody): Refusal | null {
  if (Number(body.nonce) > MAX_SAFE) return invalid('invalid nonce', 'nonce', 'maximum', body.nonce);
  const minTakerNet = Number(body.min_taker_net ?? 0);
  if (minTakerNet > MAX_ORDER_AMOUNT) {
    return invalid('invalid min_taker_net', 'min_taker_net', 'maximum', body.min_taker_net);
  }
  const mayRest = !isImmediate(TIME_IN_FORCE[body.time_in_force ?? 'GTC']);
  if (!mayRest && body.post_only === true) {
    return invalid('post_only cannot be combined with FOK or FAK', 'post_only', 'combination', true);
  }
  if (mayRest && minTakerNet !== 0) {
    return invalid('min_taker_net is for FOK and FAK orders', 'min_taker_net', 'combination', body.min_taker_net);
  }
  if (body.time_in_force === 'GTD' && (body.expiration ?? 0) === 0) {
    return { row: ERRORS.GTD_NEEDS_EXPIRATION, details: { field: 'expiration', rule: 'required' } };
  }
  return null;
}

/** The refusal of an order whose token is not the one of its outcome. */
export function tokenMismatch(tokenId: string): Refusal {
  return invalid('token_id does not match outcome_index', 'token_id', 'match', tokenId);
}

function invalid(message: string, field: string, rule: string, value: unknown): Refusal {
  return { row: ERRORS.VALIDATION_ERROR, message, details: { field, rule, value } };
}
