/** The refusals of a single order, in the order of their precedence. */
import type { ErrorKey } from '../../shared/base/errors.ts';

export const ORDER_ERRORS = [
  'VALIDATION_ERROR',
  'GTD_NEEDS_EXPIRATION',
  'MARKET_NOT_FOUND',
  'ACCOUNT_FROZEN',
  'ACCOUNT_CLOSE_ONLY',
  'DUPLICATE_ORDER',
  'ORDER_TOMBSTONED',
  'DEADLINE_PASSED',
  'DUPLICATE_CLIENT_ORDER_ID',
  'MARKET_NOT_ACTIVE',
  'CANCEL_ONLY_PHASE',
  'ORDER_EXPIRED',
  'INVALID_TICK',
  'INVALID_LOT',
  'BELOW_MIN_SIZE',
  'INVALID_SIGNATURE',
  'FORBIDDEN',
  'NONCE_BELOW_FLOOR',
  'FEE_RATE_MISMATCH',
  'ORDER_GROUP_TRIGGERED',
  'TOO_MANY_OPEN_ORDERS',
  'ORDER_CAPACITY_REACHED',
  'INSUFFICIENT_BALANCE',
  'POST_ONLY_PHASE',
  'POST_ONLY_WOULD_CROSS',
  'FOK_NOT_FILLED',
  'FAK_NO_FILL',
  'MIN_NET_NOT_MET',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly ErrorKey[];

/** A replacement can also fail at the order that it replaces. */
export const REPLACE_ERRORS = [
  ...ORDER_ERRORS,
  'REPLACES_ANOTHER_MARKET',
  'ORDER_NOT_FOUND',
  'ORDER_NOT_CANCELLABLE',
  'REMAINING_CHANGED',
] as const satisfies readonly ErrorKey[];
