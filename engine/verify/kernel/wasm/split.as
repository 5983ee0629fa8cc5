/**
 * Splits a scalar into two of half the length (R. Gallant, R. Lambert and S. Vanstone, 2001): k = k1 + k2 lambda modulo
 * n, with |k1|, |k2| < 2^128. (a1, b1) and (a2, b2) are short vectors with a + b lambda = 0 modulo n and a1 b2 - a2 b1
 * = n. With c1 and c2 the nearest integers to b2 k / n and -b1 k / n, (k1, k2) = (k, 0) - c1 (a1, b1) - c2 (a2, b2),
 * which is at most half of each vector long: |k1| <= (a1 + a2) / 2 and |k2| <= (b2 - b1) / 2, both below 2^127.4. The
 * error of the quotients' approximation below is less than 2^-126.
 */
import { LIMB_MASK } from './field';
import { multiplyWide, wideLimb } from './scalar';

/** 2^384 b2 / n and -2^384 b1 / n, rounded. */
const G_1 = memory.data<i32>([
  0x5dbb031, 0x49904d2, 0x1a329ffa, 0x151428e3, 0xeb153da, 0x8724942, 0xf37a1b2, 0x434fa8d, 0x3086d2, 0, 0, 0,
], 16);
const G_2 = memory.data<i32>([
  0xac47f71, 0xb8da574, 0x1d41b185, 0x411593b, 0x1e4c4221, 0x1fd4855f, 0xa1bd51, 0x1ac021d1, 0xe4437e, 0, 0, 0,
], 16);
const A_1 = memory.data<i32>([0x1284eb15, 0x3648724, 0x151af37a, 0xda4434f, 0x308], 16);
const MINUS_B_1 = memory.data<i32>([0xabfe4c3, 0x1aa3fd48, 0x3a20a1b, 0x6fdac02, 0xe44], 16);
const A_2 = memory.data<i32>([0x1d44cfd8, 0x1e08846c, 0x18bcfd95, 0x14a1ef51, 0x114c], 16);
const B_2 = A_1;
const SHORT: usize = 5;

const C_1 = memory.data(48, 16);
const C_2 = memory.data(48, 16);
/** Five columns of eight bytes. */
const COLUMNS = memory.data(48, 16);

/** The parts: absolute values of 128 bits, and signs. */
export let low1: u64 = 0;
export let high1: u64 = 0;
export let isNegative1: bool = false;
export let low2: u64 = 0;
export let high2: u64 = 0;
export let isNegative2: bool = false;

let low: u64 = 0;
let high: u64 = 0;
let isNegative: bool = false;

export function split(k: usize): void {
  nearestQuotient(C_1, k, G_1);
  nearestQuotient(C_2, k, G_2);
  for (let i: usize = 0; i < SHORT; i++) store<i64>(COLUMNS + 8 * i, load<i32>(k + 4 * i));
  addProduct(-1, C_1, A_1);
  addProduct(-1, C_2, A_2);
  carryShort();
  low1 = low;
  high1 = high;
  isNegative1 = isNegative;
  memory.fill(COLUMNS, 0, 40);
  addProduct(1, C_1, MINUS_B_1);
  addProduct(-1, C_2, B_2);
  carryShort();
  low2 = low;
  high2 = high;
  isNegative2 = isNegative;
}

/** out = k g / 2^384, rounded to the nearest: limb 13 begins at bit 377. */
function nearestQuotient(out: usize, k: usize, g: usize): void {
  multiplyWide(k, g);
  let rest = (wideLimb(13) >> 6) & 1;
  for (let i: usize = 0; i < SHORT; i++) {
    const above = i < SHORT - 1 ? wideLimb(14 + i) << 22 : 0;
    rest += ((wideLimb(13 + i) >> 7) | above) & LIMB_MASK;
    store<i32>(out + 4 * i, <i32>(rest & LIMB_MASK));
    rest >>= 29;
  }
}

/** Adds sign a b modulo 2^145, which is enough: the sums are below 2^128. */
function addProduct(sign: i64, a: usize, b: usize): void {
  for (let i: usize = 0; i < SHORT; i++) {
    const limb: i64 = sign * load<i32>(a + 4 * i);
    for (let j: usize = 0; i + j < SHORT; j++) {
      const at = COLUMNS + 8 * (i + j);
      store<i64>(at, load<i64>(at) + limb * load<i32>(b + 4 * j));
    }
  }
}

/** Carries the columns, whose sum has a sign, and packs them. */
function carryShort(): void {
  // The sign is in bit 28 of the top limb, above the 128 bits that begin with bit 116.
  let rest: i64 = 0;
  for (let i: usize = 0; i < SHORT; i++) {
    rest += load<i64>(COLUMNS + 8 * i);
    store<i64>(COLUMNS + 8 * i, rest & LIMB_MASK);
    rest >>= 29;
  }
  isNegative = (load<i64>(COLUMNS, 32) & (1 << 28)) != 0;
  if (isNegative) {
    rest = 0;
    for (let i: usize = 0; i < SHORT; i++) {
      rest -= load<i64>(COLUMNS + 8 * i);
      store<i64>(COLUMNS + 8 * i, rest & LIMB_MASK);
      rest >>= 29;
    }
  }
  const l2 = load<u64>(COLUMNS, 16);
  low = load<u64>(COLUMNS) | (load<u64>(COLUMNS, 8) << 29) | (l2 << 58);
  high = (l2 >> 6) | (load<u64>(COLUMNS, 24) << 23) | (load<u64>(COLUMNS, 32) << 52);
}
