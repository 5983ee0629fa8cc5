/**
 * A curve point with those of its multiples that turn a multiplication into a few additions (pointSum.ts), and such a
 * table as plain memory for other threads. Making a table takes as long as some thirty recoveries of a key; reading one
 * takes a fifth of a recovery.
 */
import { normalizeZ } from '@noble/curves/abstract/curve.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { assert } from '../../shared/base/assert.ts';
import { pointsOf } from '../../shared/wire/tableLayout.ts';

type Point = InstanceType<typeof secp256k1.Point>;
/** The multiples 1 … 2^(bits-1) of the point for each window of `bits` bits of a scalar, shifted to its bits. */
export type PointTable = {
  readonly bits: number;
  /** x and y of each point. */
  readonly coordinates: readonly bigint[];
};
/** x and y of each point, four elements each, least significant first. */
export type PackedTable = BigUint64Array<ArrayBuffer>;

const { Point } = secp256k1;
/** Elements of a coordinate. */
const COORDINATE = 4;

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
  assert(points.length === pointsOf(bits), 'point table: every window has its multiples');
  return { bits, coordinates: normalizeZ(Point, points).flatMap(({ X, Y }) => [X, Y]) };
}

/** The point of a table, undefined when it is not on the curve. */
export function pointOf({ coordinates: [x, y] }: PointTable): Point | undefined {
  try {
    const point = Point.fromAffine({ x: x!, y: y! });
    point.assertValidity();
    return point;
  } catch {
    return undefined;
  }
}

export function packTable({ coordinates }: PointTable): PackedTable {
  const packed = new BigUint64Array(coordinates.length * COORDINATE);
  for (const [index, coordinate] of coordinates.entries()) packCoordinate(packed, index * COORDINATE, coordinate);
  return packed;
}

/** Reads the coordinates as they are: the caller checks that they are a table, and of which point. */
export function unpackTable(packed: PackedTable, bits: number): PointTable {
  assert(packed.length === pointsOf(bits) * 2 * COORDINATE, 'point table: as long as its windows say');
  const coordinates: bigint[] = [];
  for (let at = 0; at < packed.length; at += COORDINATE) coordinates.push(coordinateAt(packed, at));
  return { bits, coordinates };
}

/** An element keeps the low 64 bits of what is stored in it. */
function packCoordinate(packed: PackedTable, at: number, value: bigint): void {
  for (let i = 0; i < COORDINATE; i++) packed[at + i] = value >> BigInt(64 * i);
}

/** In two halves, because sums of long numbers are slower. */
function coordinateAt(packed: PackedTable, at: number): bigint {
  const high = (packed[at + 3] << 64n) | packed[at + 2];
  return (high << 128n) | (packed[at + 1] << 64n) | packed[at];
}
