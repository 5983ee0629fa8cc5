/** The other operations on elements of the field (field.as): copies, sums, canonical form, bytes, square roots. */
import { LIMB_BITS, LIMB_MASK, LIMBS, multiply, SLOT, squareTimes, TOP_BITS, TOP_MASK } from './field';

/** p = 2^256 - FOLD, and FOLD = 977 + 8 2^29. */
const FOLD_0: i64 = 977;
const FOLD_1: i64 = 8;

@inline
export function copy(out: usize, a: usize): void {
  v128.store(out, v128.load(a), 0);
  v128.store(out, v128.load(a, 16), 16);
  store<i32>(out, load<i32>(a, 32), 32);
}

/** out = a + b: the magnitudes add up. */
@inline
export function add(out: usize, a: usize, b: usize): void {
  v128.store(out, i32x4.add(v128.load(a), v128.load(b)), 0);
  v128.store(out, i32x4.add(v128.load(a, 16), v128.load(b, 16)), 16);
  store<i32>(out, load<i32>(a, 32) + load<i32>(b, 32), 32);
}

/** out = a - b: of results of products it has magnitude 1, otherwise the magnitudes add up. */
@inline
export function subtract(out: usize, a: usize, b: usize): void {
  v128.store(out, i32x4.sub(v128.load(a), v128.load(b)), 0);
  v128.store(out, i32x4.sub(v128.load(a, 16), v128.load(b, 16)), 16);
  store<i32>(out, load<i32>(a, 32) - load<i32>(b, 32), 32);
}

@inline
export function negate(out: usize, a: usize): void {
  v128.store(out, i32x4.neg(v128.load(a)), 0);
  v128.store(out, i32x4.neg(v128.load(a, 16)), 16);
  store<i32>(out, -load<i32>(a, 32), 32);
}

export function setSmall(out: usize, value: i32): void {
  memory.fill(out, 0, SLOT);
  store<i32>(out, value);
}

/** out = a / 2 modulo p, for a of magnitude 1: again of magnitude 1. */
export function halve(out: usize, a: usize): void {
  // The other limbs weigh even numbers. Adding p to an odd a makes it even; its limbs are added as they fold.
  const odd = -(load<i32>(a) & 1);
  let low = load<i32>(a) - (odd & <i32>FOLD_0);
  for (let i: usize = 0; i < LIMBS - 1; i++) {
    let next = load<i32>(a + 4 * i, 4);
    if (i == 0) next -= odd & <i32>FOLD_1;
    if (i == LIMBS - 2) next += odd & (1 << <i32>TOP_BITS);
    store<i32>(out + 4 * i, (low >> 1) + ((next & 1) << (<i32>LIMB_BITS - 1)));
    low = next;
  }
  store<i32>(out + 4 * (LIMBS - 1), low >> 1);
}

/** Carries the limbs once; what passes 2^256 comes back at the bottom. */
function carry(a: usize): void {
  let rest: i64 = 0;
  for (let i: usize = 0; i < LIMBS - 1; i++) {
    const sum = rest + load<i32>(a + 4 * i);
    store<i32>(a + 4 * i, <i32>(sum & LIMB_MASK));
    rest = sum >> LIMB_BITS;
  }
  const top = rest + load<i32>(a, 32);
  store<i32>(a, <i32>(top & TOP_MASK), 32);
  const passed = top >> TOP_BITS;
  store<i32>(a, load<i32>(a) + <i32>(passed * FOLD_0));
  store<i32>(a, load<i32>(a, 4) + <i32>(passed * FOLD_1), 4);
}

const LESS_P = memory.data(48, 16);

/** Makes `a`, of any magnitude below 4, the one representation with 0 <= a < p and each limb from 0 to 2^29 - 1. */
export function normalise(a: usize): void {
  // Passes one and two carry 2^7 and then -1, 0 or 1 past 2^256, after which 0 <= a < 2^256. The third only carries.
  carry(a);
  carry(a);
  carry(a);
  copy(LESS_P, a);
  store<i32>(LESS_P, load<i32>(a) + <i32>FOLD_0);
  store<i32>(LESS_P, load<i32>(a, 4) + <i32>FOLD_1, 4);
  let rest: i64 = 0;
  for (let i: usize = 0; i < LIMBS; i++) {
    const sum = rest + load<i32>(LESS_P + 4 * i);
    store<i32>(LESS_P + 4 * i, <i32>(sum & LIMB_MASK));
    rest = sum >> LIMB_BITS;
  }
  // a >= p exactly when a + FOLD passes 2^256, and then a - p is what is below.
  const top = load<i32>(LESS_P, 32);
  if (<i64>top >> TOP_BITS == 0) return;
  store<i32>(LESS_P, top & <i32>TOP_MASK, 32);
  copy(a, LESS_P);
}

const COPY = memory.data(48, 16);

/**
 * @returns true if a, of magnitude below 4, is a multiple of p. It is |k| p with |k| <= 128 then, so its lowest limb is
 * -977 k modulo 2^29.
 */
export function isZero(a: usize): bool {
  const low = (<i64>load<i32>(a) + 0x40000) & LIMB_MASK;
  if (low >= 0x80000) return false;
  copy(COPY, a);
  normalise(COPY);
  let bits = 0;
  for (let i: usize = 0; i < LIMBS; i++) bits |= load<i32>(COPY + 4 * i);
  return bits == 0;
}

/** Of a canonical element. */
@inline
export function isOdd(a: usize): bool {
  return (load<i32>(a) & 1) != 0;
}

/** @returns true if two canonical elements are the same. */
export function equals(a: usize, b: usize): bool {
  let difference = 0;
  for (let i: usize = 0; i < LIMBS; i++) difference |= load<i32>(a + 4 * i) ^ load<i32>(b + 4 * i);
  return difference == 0;
}

/** Reads 32 bytes, the most significant first: a value below 2^256 in nine limbs, for the field and for scalars. */
export function fromBytes(out: usize, bytes: usize): void {
  const w0 = bswap(load<u64>(bytes, 24));
  const w1 = bswap(load<u64>(bytes, 16));
  const w2 = bswap(load<u64>(bytes, 8));
  const w3 = bswap(load<u64>(bytes));
  store<i32>(out, <i32>(w0 & LIMB_MASK), 0);
  store<i32>(out, <i32>((w0 >> 29) & LIMB_MASK), 4);
  store<i32>(out, <i32>(((w0 >> 58) | (w1 << 6)) & LIMB_MASK), 8);
  store<i32>(out, <i32>((w1 >> 23) & LIMB_MASK), 12);
  store<i32>(out, <i32>(((w1 >> 52) | (w2 << 12)) & LIMB_MASK), 16);
  store<i32>(out, <i32>((w2 >> 17) & LIMB_MASK), 20);
  store<i32>(out, <i32>(((w2 >> 46) | (w3 << 18)) & LIMB_MASK), 24);
  store<i32>(out, <i32>((w3 >> 11) & LIMB_MASK), 28);
  store<i32>(out, <i32>(w3 >> 40), 32);
}

/** Writes a canonical element as 32 bytes, the most significant first. */
export function toBytes(bytes: usize, a: usize): void {
  const l2 = <u64>load<i32>(a, 8);
  const l4 = <u64>load<i32>(a, 16);
  const l6 = <u64>load<i32>(a, 24);
  store<u64>(bytes, bswap(<u64>load<i32>(a) | (<u64>load<i32>(a, 4) << 29) | (l2 << 58)), 24);
  store<u64>(bytes, bswap((l2 >> 6) | (<u64>load<i32>(a, 12) << 23) | (l4 << 52)), 16);
  store<u64>(bytes, bswap((l4 >> 12) | (<u64>load<i32>(a, 20) << 17) | (l6 << 46)), 8);
  store<u64>(bytes, bswap((l6 >> 18) | (<u64>load<i32>(a, 28) << 11) | (<u64>load<i32>(a, 32) << 40)), 0);
}

/** out = a^(2^times) b. */
function raise(out: usize, a: usize, times: i32, b: usize): void {
  squareTimes(out, a, times);
  multiply(out, out, b);
}

const POWERS = memory.data(384, 16);

/**
 * out = a^((p + 1) / 4), a square root of `a` if it has one, as p = 3 modulo 4. In binary the exponent is 223 ones, a
 * zero, 22 ones, then 00001100. X_k stands for a^(2^k - 1), whose exponent is k ones.
 */
export function squareRoot(out: usize, a: usize): void {
  const x2 = POWERS;
  const x3 = POWERS + SLOT;
  const x11 = POWERS + 2 * SLOT;
  const x22 = POWERS + 3 * SLOT;
  const x44 = POWERS + 4 * SLOT;
  const x88 = POWERS + 5 * SLOT;
  const power = POWERS + 6 * SLOT;
  raise(x2, a, 1, a);
  raise(x3, x2, 1, a);
  raise(power, x3, 3, x3);
  raise(power, power, 3, x3);
  raise(x11, power, 2, x2);
  raise(x22, x11, 11, x11);
  raise(x44, x22, 22, x22);
  raise(x88, x44, 44, x44);
  raise(power, x88, 88, x88);
  raise(power, power, 44, x44);
  raise(power, power, 3, x3);
  raise(power, power, 23, x22);
  raise(power, power, 6, x2);
  squareTimes(out, power, 2);
}
