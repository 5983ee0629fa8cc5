/**
 * Inverses modulo an odd prime m below 2^256, for the field and for scalars, by division steps (D. J. Bernstein and
 * B.-Y. Yang, "Fast constant-time gcd computation and modular inversion", 2019), in variable time: nothing here is
 * secret.
 *
 * f = m and g = the value shrink together. With delta the balance of both, one step is
 *   delta > 0 and g odd:  (delta, f, g) := (1 - delta, g, (g - f) / 2)
 *   otherwise:            (delta, f, g) := (1 + delta, f, (g + (g odd ? f : 0)) / 2)
 * until g = 0, when f = ±1. Only the low bits of f and g decide, so 29 steps at a time are done on these, and collected
 * in a matrix (u v; q r) whose entries stay within 2^29: (f, g) := (u f + v g, q f + r g) / 2^29. d and e follow f and
 * g, modulo m, from 0 and 1: always f = d value and g = e value.
 *
 * Numbers are nine limbs of 29 bits, the last of them signed: -2 m < d, e < m and |f|, |g| <= m.
 */
import { LIMB_BITS, LIMB_MASK, LIMBS, SLOT } from './field';

const STEPS: i32 = 29;
const F = memory.data(48, 16);
const G = memory.data(48, 16);
const D = memory.data(48, 16);
const E = memory.data(48, 16);

let u: i64 = 0;
let v: i64 = 0;
let q: i64 = 0;
let r: i64 = 0;

/** 29 steps on the low bits of f and g. @returns the new -delta. */
function collectSteps(start: i32, lowF: i64, lowG: i64): i32 {
  let minusDelta = start;
  let f = lowF;
  let g = lowG;
  let a: i64 = 1;
  let b: i64 = 0;
  let c: i64 = 0;
  let d: i64 = 1;
  let left = STEPS;
  for (;;) {
    // Steps at an even g halve it; instead of halving c and d, a and b are doubled.
    const zeros = <i32>ctz(g | (<i64>-1 << <i64>left));
    g >>= <i64>zeros;
    a <<= <i64>zeros;
    b <<= <i64>zeros;
    minusDelta -= zeros;
    left -= zeros;
    if (left == 0) break;
    if (minusDelta < 0) {
      minusDelta = -minusDelta;
      const oldF = f;
      f = g;
      g = -oldF;
      const oldA = a;
      a = c;
      c = -oldA;
      const oldB = b;
      b = d;
      d = -oldB;
    }
    // While delta stays at or below zero every step adds f where g is odd, so a multiple of f clears several bits of g.
    const bits = min(min(minusDelta + 1, left), 6);
    const inverse = f * (2 - f * f);
    const multiple = (-g * inverse) & ((<i64>1 << <i64>bits) - 1);
    g += multiple * f;
    c += multiple * a;
    d += multiple * b;
  }
  u = a;
  v = b;
  q = c;
  r = d;
  return minusDelta;
}

/** (f, g) := (u f + v g, q f + r g) / 2^29. The sums are multiples of 2^29; each is below 2^29 2^256. */
function applyToFG(): void {
  let carryF: i64 = (u * load<i32>(F) + v * load<i32>(G)) >> LIMB_BITS;
  let carryG: i64 = (q * load<i32>(F) + r * load<i32>(G)) >> LIMB_BITS;
  for (let i: usize = 4; i < 4 * LIMBS; i += 4) {
    const f: i64 = load<i32>(F + i);
    const g: i64 = load<i32>(G + i);
    carryF += u * f + v * g;
    carryG += q * f + r * g;
    store<i32>(F + i - 4, <i32>(carryF & LIMB_MASK));
    store<i32>(G + i - 4, <i32>(carryG & LIMB_MASK));
    carryF >>= LIMB_BITS;
    carryG >>= LIMB_BITS;
  }
  store<i32>(F, <i32>carryF, 32);
  store<i32>(G, <i32>carryG, 32);
}

/** The same for d and e modulo m: a multiple of m, from -2^30 to 2^29 of them, makes each sum divisible by 2^29. */
function applyToDE(m: usize, inverseOfM: i64): void {
  const isNegativeD: i64 = load<i32>(D, 32) >> 31;
  const isNegativeE: i64 = load<i32>(E, 32) >> 31;
  let timesD = (u & isNegativeD) + (v & isNegativeE);
  let timesE = (q & isNegativeD) + (r & isNegativeE);
  let carryD: i64 = u * load<i32>(D) + v * load<i32>(E);
  let carryE: i64 = q * load<i32>(D) + r * load<i32>(E);
  timesD -= (inverseOfM * carryD + timesD) & LIMB_MASK;
  timesE -= (inverseOfM * carryE + timesE) & LIMB_MASK;
  carryD = (carryD + timesD * load<i32>(m)) >> LIMB_BITS;
  carryE = (carryE + timesE * load<i32>(m)) >> LIMB_BITS;
  for (let i: usize = 4; i < 4 * LIMBS; i += 4) {
    const d: i64 = load<i32>(D + i);
    const e: i64 = load<i32>(E + i);
    const limbOfM: i64 = load<i32>(m + i);
    carryD += u * d + v * e + timesD * limbOfM;
    carryE += q * d + r * e + timesE * limbOfM;
    store<i32>(D + i - 4, <i32>(carryD & LIMB_MASK));
    store<i32>(E + i - 4, <i32>(carryE & LIMB_MASK));
    carryD >>= LIMB_BITS;
    carryE >>= LIMB_BITS;
  }
  store<i32>(D, <i32>carryD, 32);
  store<i32>(E, <i32>carryE, 32);
}

function isNonZero(a: usize): bool {
  let bits = 0;
  for (let i: usize = 0; i < 4 * LIMBS; i += 4) bits |= load<i32>(a + i);
  return bits != 0;
}

/** a := ±a + k m, carried; one of these brings -2 m < a < m into 0 <= a < m. */
function addTimes(a: usize, sign: i64, m: usize, k: i64): void {
  let rest: i64 = 0;
  for (let i: usize = 0; i < 4 * (LIMBS - 1); i += 4) {
    rest += sign * load<i32>(a + i) + k * load<i32>(m + i);
    store<i32>(a + i, <i32>(rest & LIMB_MASK));
    rest >>= LIMB_BITS;
  }
  store<i32>(a, <i32>(rest + sign * load<i32>(a, 32) + k * load<i32>(m, 32)), 32);
}

/** out = 1 / a modulo m, for 0 <= a < m in limbs of 29 bits; 0 for 0. `inverseOfM` is 1 / m modulo 2^29. */
export function invert(out: usize, a: usize, m: usize, inverseOfM: i64): void {
  memory.copy(F, m, SLOT);
  memory.copy(G, a, SLOT);
  memory.fill(D, 0, SLOT);
  memory.fill(E, 0, SLOT);
  store<i32>(E, 1);
  let minusDelta = -1;
  while (isNonZero(G)) {
    minusDelta = collectSteps(minusDelta, load<i32>(F), load<i32>(G));
    applyToDE(m, inverseOfM);
    applyToFG();
  }
  const sign: i64 = load<i32>(F, 32) < 0 ? -1 : 1;
  addTimes(D, sign, m, 0);
  if (load<i32>(D, 32) < 0) addTimes(D, 1, m, 1);
  if (load<i32>(D, 32) < 0) addTimes(D, 1, m, 1);
  // After a change of sign it may be above m.
  addTimes(D, 1, m, -1);
  if (load<i32>(D, 32) < 0) addTimes(D, 1, m, 1);
  memory.copy(out, D, SLOT);
}
