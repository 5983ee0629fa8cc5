/** Path parameters that several routes share; a function that returns null has answered the call. */
import { HASH, UUID } from '../../shared/api/fields.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Call } from './call.ts';
import { refuse } from './respond.ts';

/** Path parameters as the document shows them. */
export const ID_PARAM = { id: UUID } as const;
export const MARKET_ID_PARAM = { market_id: UUID } as const;
export const HASH_PARAM = { hash: HASH } as const;

export const INVALID_HASH: Refusal = { row: ERRORS.VALIDATION_ERROR, message: 'invalid order hash' };

type HashCall = Call & { readonly params: { readonly hash: string } };

/** Writes the 32 bytes of `:hash` to `out`; false when the call was refused. */
export function requireHash(call: HashCall, out: Uint8Array): boolean {
  const { hash } = call.params;
  if (tryParseHex(hash, HASH_BYTES, out, 0)) return true;
  const details = { field: 'hash', rule: 'format', value: hash.slice(0, 100) };
  refuse(call, { ...INVALID_HASH, details });
  return false;
}
