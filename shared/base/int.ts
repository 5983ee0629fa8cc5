/**
 * Checked arithmetic on safe integers (up to 2^53 - 1; RULES.md 1.1). Money and quantities are plain numbers that are
 * always safe integers; every sum or product that could leave that range goes through here, so an overflow is an
 * assertion and never a rounded amount.
 */
import { assert, unreachable } from './assert.ts';

export const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/**
 * The number is (2^53 - 1)^2, rounded, and 2^53 squared is above it, so one comparison covers both ends of the range.
 * So the function has less than 27 bytes of bytecode, and V8 inlines it everywhere. With two comparisons, or with the
 * number in a constant, larger functions would call it, and each result would be a new object.
 */
export function addSafe(a: number, b: number): number {
  const sum = a + b;
  if (!(sum * sum <= 8112963841460666e16)) sumLeft();
  return sum;
}

function sumLeft(): never {
  unreachable('int: a sum left the safe integers');
}

export function mulSafe(a: number, b: number): number {
  const product = a * b;
  assert(product <= MAX_SAFE && product >= -MAX_SAFE, 'int: a product left the safe integers');
  return product;
}

/**
 * floor(a / b) for 0 <= a <= 2^53 - 1 and b >= 1, exact. A quotient is rounded to the nearest number, never past the
 * next integer, so its floor is right or one too large; if it is too large, its product with b is above a, however the
 * product is rounded. The remainder operator would be exact as well but takes ten times as long, because it is a call
 * into the C library.
 */
export function divFloor(a: number, b: number): number {
  const quotient = Math.floor(a / b);
  return quotient * b > a ? quotient - 1 : quotient;
}

/** ceil(a / b) for 0 <= a <= 2^53 - 1 and b >= 1, exact. */
export function divCeil(a: number, b: number): number {
  const floor = divFloor(a, b);
  return floor * b === a ? floor : floor + 1;
}

/** floor(a * b / c) for non-negative safe integers with a safe result; exact whether or not a * b is safe. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= MAX_SAFE) return divFloor(product, c);
  const quotient = (BigInt(a) * BigInt(b)) / BigInt(c);
  assert(quotient <= BigInt(MAX_SAFE), 'int: a quotient left the safe integers');
  return Number(quotient);
}

/** ceil(a * b / c) for non-negative safe integers with a safe result; exact whether or not a * b is safe. */
export function mulDivCeil(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= MAX_SAFE) return divCeil(product, c);
  const divisor = BigInt(c);
  const quotient = (BigInt(a) * BigInt(b) + divisor - 1n) / divisor;
  assert(quotient <= BigInt(MAX_SAFE), 'int: a quotient left the safe integers');
  return Number(quotient);
}

/**
 * Decimal digits of a * b for safe integers, even if the product is not a safe integer (level totals shown to the
 * public).
 */
export function productToString(a: number, b: number): string {
  const product = a * b;
  return product <= MAX_SAFE ? String(product) : String(BigInt(a) * BigInt(b));
}

const BPS = 10_000;

/** floor(amount * bps / 10000) without leaving the safe integers, for bps up to 10,000. */
export function bpsFloor(amount: number, bps: number): number {
  const whole = divFloor(amount, BPS);
  return whole * bps + divFloor((amount - whole * BPS) * bps, BPS);
}
