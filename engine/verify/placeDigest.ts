/** The EIP-712 digest of a PLACE or REPLACE command, computed directly from its record. */

import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, UINT256_BYTES } from '../../shared/base/hex.ts';
import type { OrderFieldForm } from '../../shared/base/orderFields.ts';
import { domainSeparator, type OrderHasher } from '../../shared/crypto/eip712.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { PLACED_FIELDS } from '../../shared/wire/orderBody.ts';

const { PLACE } = COMMAND;
const BYTES_OF: { readonly [form in OrderFieldForm]?: number } = {
  address: ADDRESS_BYTES,
  token: UINT256_BYTES,
  uint256: UINT256_BYTES,
};

const SAFE_BYTES = 8;
const U32_BYTES = 4;
const OCTET = 1;

/** Where a record has each signed field, and how many bytes; up to eight are a number. */
const SIGNED_PLACES = PLACED_FIELDS.flatMap(({ form, bits, at, isWide, field: { signed } }) => {
  if (signed === undefined || form === 'noAddress') return [];
  assert(bits === undefined || bits[0] === 0, 'ORDERBODY-1: what is signed of `kind` is its first octet');
  const numberBytes = isWide ? SAFE_BYTES : U32_BYTES;
  if (bits !== undefined) return [{ signed, at: PLACE.kind, size: OCTET }];
  return [{ signed, at, size: BYTES_OF[form] ?? numberBytes }];
});

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
    const { signed, at, size } = SIGNED_PLACES[index];
    const from = word + at;
    if (size > SAFE_BYTES) hasher.putBytes(signed, bytes, from * 4, size);
    else if (size === SAFE_BYTES) hasher.putNumber(signed, words[from + 1], words[from]);
    else hasher.putNumber(signed, 0, size === OCTET ? words[from] & 0xff : words[from]);
  }
  hasher.finish(out, outOffset);
}

/** Returns true if the hasher computes digests for this chain and contract already. */
export function isDomainOf({ separator }: OrderHasher, chainId: number, exchange: Uint8Array): boolean {
  return domainSeparator(chainId, exchange).every((byte, index) => byte === separator[index]);
}
