/**
 * A curve point with the multiples of it that turn a multiplication into a few additions, and such a table as plain
 * memory, for other threads. Making one takes as long as some thirty recoveries of a key, reading one a third of one.
 */
import { normalizeZ } from '@noble/curves/abstract/curve.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { pointsOf } from '../../shared/tableLayout.ts';

export type Point = InstanceType<typeof secp256k1.Point>;
/** For each window of `bits` bits of a scalar the multiples 1 … 2^(bits-1) of the point, shifted into its place. */
export type PointTable = { readonly bits: number; readonly points: readonly Point[] };
/** x and y of each point, four elements each, least significant first. */
export type PackedTable = BigUint64Array<ArrayBuffer>;

const { Point } = secp256k1;
/** Elements of a coordinate, and of a point. */
const COORDINATE = 4;
const POINT = 2 * COORDINATE;

export function makeTable(point: Point, bits: number): PointTable {
  const points: Point[] = [];
  const half = 1 << (bits - 1);
  let base = point;
  while (points.length < pointsOf(bits)) {
    let multiple = base;
    for (let i = 0; i < half; i++) {
      points.push(multiple);
      multiple = multiple.add(base);
    }
    base = points.at(-1)!.double();
  }
  return { bits, points: normalizeZ(Point, points) };
}

/** `from` + `scalar` times the table's point: at most one addition a window, digits -2^(bits-1) + 1 … 2^(bits-1). */
export function addMultiple(from: Point, { bits, points }: PointTable, scalar: bigint): Point {
  const half = 1 << (bits - 1);
  const mask = BigInt(2 * half - 1);
  const shift = BigInt(bits);
  let sum = from;
  let rest = scalar;
  for (let first = 0; rest > 0n; first += half) {
    let digit = Number(rest & mask);
    rest >>= shift;
    if (digit > half) {
      digit -= 2 * half;
      rest += 1n;
    }
    if (digit > 0) sum = sum.add(points[first + digit - 1]!);
    else if (digit < 0) sum = sum.add(points[first - digit - 1]!.negate());
  }
  return sum;
}

export function packTable({ points }: PointTable): PackedTable {
  const packed = new BigUint64Array(points.length * POINT);
  for (const [index, { X, Y }] of points.entries()) {
    packCoordinate(packed, index * POINT, X);
    packCoordinate(packed, index * POINT + COORDINATE, Y);
  }
  return packed;
}

/**
 * Of the first point it is certain that it is one of the curve; that the others are its multiples, somebody else
 * vouches for. Undefined when a coordinate is none at all.
 */
export function unpackTable(packed: PackedTable, bits: number): PointTable | undefined {
  const points: Point[] = [];
  try {
    for (let at = 0; at < packed.length; at += POINT) {
      points.push(Point.fromAffine({ x: coordinateAt(packed, at), y: coordinateAt(packed, at + COORDINATE) }));
    }
    points[0]?.assertValidity();
  } catch {
    return undefined;
  }
  return points.length === pointsOf(bits) ? { bits, points } : undefined;
}

/** An element keeps the low 64 bits of what is stored in it. */
function packCoordinate(packed: PackedTable, at: number, value: bigint): void {
  for (let i = 0; i < COORDINATE; i++) packed[at + i] = value >> BigInt(64 * i);
}

/** In halves: fewer long sums. */
function coordinateAt(packed: PackedTable, at: number): bigint {
  const high = (packed[at + 3]! << 64n) | packed[at + 2]!;
  return (high << 128n) | (packed[at + 1]! << 64n) | packed[at]!;
}
