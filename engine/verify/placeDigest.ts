/** The EIP-712 digest of a PLACE or REPLACE command, computed directly from its record. */

import { domainSeparator, type OrderHasher } from '../../shared/crypto/eip712.ts';
import { OCTET_BYTES, SAFE_BYTES, SIGNED_PLACES } from '../../shared/wire/signedPlaces.ts';

/** Writes 32 bytes at `outOffset` of `out`, which may be the command's own hash field. */
export function placeDigest(
  hasher: OrderHasher,
  words: Uint32Array,
  bytes: Uint8Array,
  word: number,
  out: Uint8Array,
  outOffset: number,
): void {
  for (let index = 0; index < SIGNED_PLACES.length; index++) {
    const { word: signed, at, size } = SIGNED_PLACES[index];
    const from = word + at;
    if (size > SAFE_BYTES) hasher.putBytes(signed, bytes, from * 4, size);
    else if (size === SAFE_BYTES) hasher.putNumber(signed, words[from + 1], words[from]);
    else hasher.putNumber(signed, 0, size === OCTET_BYTES ? words[from] & 0xff : words[from]);
  }
  hasher.finish(out, outOffset);
}

/** Returns true if the hasher computes digests for this chain and contract already. */
export function isDomainOf({ separator }: OrderHasher, chainId: number, exchange: Uint8Array): boolean {
  return domainSeparator(chainId, exchange).every((byte, index) => byte === separator[index]);
}
