/**
 * u P + v Q with the tables of P and Q: one addition a window and no doubling, in half the time of the library's
 * additions. Those take any two points, at any scale; here one of the two is a table's, so its scale is 1, and the
 * case that such a formula cannot add, a point to itself or to its opposite, is left to the caller, who asks the
 * library. By chance nobody ever meets it; somebody who knows a key may choose a signature that does.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { PointTable } from './pointTable.ts';

const { Fp } = secp256k1.Point;
const P = Fp.ORDER;

/** x / z² and y / z³ modulo p, of either sign; z = 0 is nothing so far. */
type Sum = { x: bigint; y: bigint; z: bigint };

/** Undefined in the case above, which a sum of zero is part of, and when both scalars are zero. */
export function sumOfMultiples(
  p: PointTable,
  u: bigint,
  q: PointTable,
  v: bigint,
): { readonly x: bigint; readonly y: bigint } | undefined {
  const sum: Sum = { x: 0n, y: 0n, z: 0n };
  if (!addMultiple(sum, p, u) || !addMultiple(sum, q, v) || sum.z === 0n) return undefined;
  const inverse = Fp.inv(Fp.create(sum.z));
  const square = Fp.sqr(inverse);
  return { x: Fp.create(sum.x * square), y: Fp.create(sum.y * Fp.mul(square, inverse)) };
}

/** Digits -2^(bits-1) + 1 … 2^(bits-1). @returns false when it met the case that it cannot add. */
function addMultiple(sum: Sum, { bits, coordinates }: PointTable, scalar: bigint): boolean {
  const half = 1 << (bits - 1);
  const mask = BigInt(2 * half - 1);
  const shift = BigInt(bits);
  let rest = scalar;
  for (let first = 0; rest > 0n; first += half) {
    let digit = Number(rest & mask);
    rest >>= shift;
    if (digit > half) {
      digit -= 2 * half;
      rest += 1n;
    }
    if (digit === 0) continue;
    const at = 2 * (first + Math.abs(digit) - 1);
    const y = coordinates[at + 1]!;
    if (!add(sum, coordinates[at]!, digit > 0 ? y : -y)) return false;
  }
  return true;
}

/** The textbook's mixed addition in Jacobian coordinates: 8 products and 3 squares. */
function add(sum: Sum, x: bigint, y: bigint): boolean {
  if (sum.z === 0n) {
    sum.x = x;
    sum.y = y;
    sum.z = 1n;
    return true;
  }
  const zz = (sum.z * sum.z) % P;
  const dx = (x * zz - sum.x) % P;
  if (dx === 0n) return false;
  const dy = (((y * zz) % P) * sum.z - sum.y) % P;
  const dx2 = (dx * dx) % P;
  const dx3 = (dx2 * dx) % P;
  const start = (sum.x * dx2) % P;
  sum.x = (dy * dy - dx3 - 2n * start) % P;
  sum.y = (dy * (start - sum.x) - sum.y * dx3) % P;
  sum.z = (sum.z * dx) % P;
  return true;
}
