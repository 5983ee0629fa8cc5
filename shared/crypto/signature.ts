/**
 * The checks around the curve arithmetic, shared by all verifiers so that they cannot differ: r and s in 1 … n-1, s in
 * the lower half (the other half is a second valid signature of the same order), v one of 0, 1, 27, 28 (RULES.md 5.2).
 * A signature is 65 bytes, r | s | v.
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES } from '../base/hex.ts';
import type { Keccak256 } from './keccak.ts';

export const SIGNATURE_BYTES = 65;
export const PUBLIC_KEY_BYTES = 65;
export const NOT_CANONICAL = -1;

const SCALAR_BYTES = 32;
/** The order n of the curve, and floor(n / 2): the largest s that counts as low. */
const ORDER = bytesOf('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');
const HALF_ORDER = bytesOf('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');

assert(ORDER.length === SCALAR_BYTES && HALF_ORDER.length === SCALAR_BYTES, 'signature: limits are scalars');
assert(SIGNATURE_BYTES === 2 * SCALAR_BYTES + 1, 'signature: r, s and v');

/** Returns the recovery bit 0 or 1 of a well-formed signature, otherwise NOT_CANONICAL. */
export function recoveryBit(signature: Uint8Array, offset: number): number {
  if (signature.length < offset + SIGNATURE_BYTES) return NOT_CANONICAL;
  const sOffset = offset + SCALAR_BYTES;
  if (isZero(signature, offset) || compare(signature, offset, ORDER) >= 0) return NOT_CANONICAL;
  if (isZero(signature, sOffset) || compare(signature, sOffset, HALF_ORDER) > 0) return NOT_CANONICAL;
  const v = signature[offset + 2 * SCALAR_BYTES];
  if (v === 0 || v === 27) return 0;
  if (v === 1 || v === 28) return 1;
  return NOT_CANONICAL;
}

/**
 * Returns true if the address of an uncompressed public key (0x04 | x | y) is the signer's. The zero address never
 * matches.
 */
export function isAddressOf(
  publicKeyXY: Uint8Array,
  keccak: Keccak256,
  signerAddress: Uint8Array,
  signerOffset: number,
): boolean {
  const hash = keccak(publicKeyXY);
  let difference = 0;
  let bits = 0;
  for (let index = 0; index < ADDRESS_BYTES; index++) {
    const byte = signerAddress[signerOffset + index];
    difference |= byte ^ hash[hash.length - ADDRESS_BYTES + index];
    bits |= byte;
  }
  return difference === 0 && bits !== 0;
}

function isZero(bytes: Uint8Array, offset: number): boolean {
  for (let index = 0; index < SCALAR_BYTES; index++) if (bytes[offset + index] !== 0) return false;
  return true;
}

/** Negative, zero or positive if the scalar at `offset` is below, equal to or above the limit. */
function compare(bytes: Uint8Array, offset: number, limit: Uint8Array): number {
  for (let index = 0; index < SCALAR_BYTES; index++) {
    const difference = bytes[offset + index] - limit[index];
    if (difference !== 0) return difference;
  }
  return 0;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g)!, (byte) => Number.parseInt(byte, 16));
}
