/**
 * u P + v Q with the tables of P and Q: one addition for each window and no doubling, in half the time of the library's
 * additions. The library adds any two points, of any scale. Here one of the two comes from a table, so its scale is 1.
 * This formula cannot add a point to itself or to its opposite; in that case the caller uses the library. It does not
 * happen by chance, but the owner of a key can choose a signature that makes it happen.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { PointTable } from './pointTable.ts';

const { Fp } = secp256k1.Point;
const P = Fp.ORDER;

/** The point x / z², y / z³ modulo p; the numbers may be negative. z = 0 is the sum of no points. */
type Sum = { x: bigint; y: bigint; z: bigint };

/** Undefined in the case above, which includes a sum of zero, and when both scalars are zero. */
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

/** Adds scalar × point, with digits from -2^(bits-1) + 1 to 2^(bits-1). @returns false where it cannot add. */
function addMultiple(sum: Sum, { bits, coordinates }: PointTable, scalar: bigint): boolean {
  const half = 1 << (bits - 1);
  const mask = BigInt(2 * half - 1);
  const shift = BigInt(bits);
  let remaining = scalar;
  for (let first = 0; remaining > 0n; first += half) {
    let digit = Number(remaining & mask);
    remaining >>= shift;
    if (digit > half) {
      digit -= 2 * half;
      remaining += 1n;
    }
    if (digit === 0) continue;
    const at = 2 * (first + Math.abs(digit) - 1);
    const y = coordinates[at + 1];
    if (!add(sum, coordinates[at], digit > 0 ? y : -y)) return false;
  }
  return true;
}

/** Mixed addition in Jacobian coordinates, as in the textbooks: 8 products and 3 squares. */
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
