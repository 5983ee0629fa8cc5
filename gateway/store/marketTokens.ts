/** The token ids of a market's outcomes, as they follow from the market's id. */
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES, uint256ToDecimal, uuidToBytes } from '../../shared/base/hex.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';

/** The tokens of a market to which none were given. */
export function derivedTokenIds(idBytes: Uint8Array): readonly [yes: string, no: string] {
  return [deriveTokenId(idBytes, 0), deriveTokenId(idBytes, 1)];
}

export function toIdBytes(id: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  const isUuid = uuidToBytes(id, bytes, 0);
  assert(isUuid, 'catalog: a market id is a UUID');
  return bytes;
}

/**
 * The token id of an outcome: keccak-256 of the market's id and the outcome, as a 256-bit number. Two markets never
 * share one, and anyone can compute it, as on a chain.
 */
function deriveTokenId(idBytes: Uint8Array, outcome: 0 | 1): string {
  const preimage = new Uint8Array(UUID_BYTES + 1);
  preimage.set(idBytes);
  preimage[UUID_BYTES] = outcome;
  return uint256ToDecimal(keccak256(preimage));
}
