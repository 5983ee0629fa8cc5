/**
 * Ids of positions: the id of the market with the account and the outcome mixed in. So a position always has the same
 * id, no two positions share one, and the market can be computed from the id for the account, so the id serves as a
 * cursor.
 *
 *   id = market id xor the first 128 bits of keccak256("position/<user id>/<outcome>"), without the bits of a UUID
 *        that say its version and variant: those stay the market's
 */
import { bytesToUuid, UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';

/** The bits that an account mixes into the ids of one outcome. */
export type PositionMask = Uint8Array;

const VERSION_BYTE = 6;
const VARIANT_BYTE = 8;

export function positionMask(userId: string, outcome: number): PositionMask {
  const mask = keccak256(new TextEncoder().encode(`position/${userId}/${outcome}`)).slice(0, UUID_BYTES);
  mask[VERSION_BYTE] &= 0x0f;
  mask[VARIANT_BYTE] &= 0x3f;
  return mask;
}

export function positionId(marketUuid: Uint8Array, mask: PositionMask): string {
  return bytesToUuid(marketUuid.map((byte, at) => byte ^ mask[at]));
}

/** The market of a position with this id. */
export function marketOfPosition(id: string, mask: PositionMask): string {
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(id, bytes, 0);
  return positionId(bytes, mask);
}
