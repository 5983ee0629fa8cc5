/**
 * A signature as 65 bytes, r | s | v, and the rules of shared/crypto/signature.ts: r and s from 1, r below n, s at most
 * n / 2, v one of 0, 1, 27, 28.
 */
const V: usize = 64;
export const S: usize = 32;
export const NOT_CANONICAL = -1;

/** The recovery bit, or NOT_CANONICAL. */
export function recoveryBit(signature: usize): i32 {
  if (isZero(signature) || !isAtMost(signature, ORDER_0 - 1, ORDER_1, ORDER_2, ORDER_3)) return NOT_CANONICAL;
  const s = signature + S;
  if (isZero(s) || !isAtMost(s, HALF_0, HALF_1, HALF_2, HALF_3)) return NOT_CANONICAL;
  const v = load<u8>(signature, V);
  if (v == 0 || v == 27) return 0;
  if (v == 1 || v == 28) return 1;
  return NOT_CANONICAL;
}

/** n, and n / 2 rounded down, least significant first. */
const ORDER_0: u64 = 0xbfd25e8cd0364141;
const ORDER_1: u64 = 0xbaaedce6af48a03b;
const ORDER_2: u64 = 0xfffffffffffffffe;
const ORDER_3: u64 = 0xffffffffffffffff;
const HALF_0: u64 = 0xdfe92f46681b20a0;
const HALF_1: u64 = 0x5d576e7357a4501d;
const HALF_2: u64 = 0xffffffffffffffff;
const HALF_3: u64 = 0x7fffffffffffffff;

function isZero(bytes: usize): bool {
  return (load<u64>(bytes) | load<u64>(bytes, 8) | load<u64>(bytes, 16) | load<u64>(bytes, 24)) == 0;
}

/** @returns true if the 32 bytes, the most significant first, are at most the number of these words. */
function isAtMost(bytes: usize, w0: u64, w1: u64, w2: u64, w3: u64): bool {
  const b3 = bswap(load<u64>(bytes));
  if (b3 != w3) return b3 < w3;
  const b2 = bswap(load<u64>(bytes, 8));
  if (b2 != w2) return b2 < w2;
  const b1 = bswap(load<u64>(bytes, 16));
  if (b1 != w1) return b1 < w1;
  return bswap(load<u64>(bytes, 24)) <= w0;
}
