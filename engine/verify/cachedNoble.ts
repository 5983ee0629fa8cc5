/**
 * The reference verifier for a thread that has time to prepare: of signers that come often it keeps the public key with
 * a table of its multiples, and checks against that what would otherwise be recovered, three times as fast.
 *
 * It gives the very answer that recovery gives. Recovery takes the curve point R with x = r and the parity that v names
 * and asks whether Q = (s R - z G) / r is the signer's key. Here Q is known, and asked is whether (z G + r Q) / s is
 * that R: the same equation, so x is compared with r itself, not modulo n, and the parity of y with v.
 *
 * A table takes as long to make as some thirty recoveries: never on a thread that trades (noble.ts is for those).
 */
import { normalizeZ } from '@noble/curves/abstract/curve.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/hex.ts';
import type { Keccak256 } from '../../shared/keccak.ts';
import { recover } from './noble.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit } from './signature.ts';
import type { Verifier } from './verifier.ts';

type Point = InstanceType<typeof secp256k1.Point>;
/** For each window of `bits` bits of a scalar the multiples 1 … 2^(bits-1) of the point, shifted into its place. */
type Table = { readonly bits: number; readonly points: readonly Point[] };

const { Point } = secp256k1;
const { Fn } = Point;
const SCALAR_BITS = 256;
/** The generator's table is one for all signers, so it may be larger: 33 additions against 52. */
const BASE_WINDOW_BITS = 8;
const SIGNER_WINDOW_BITS = 5;
/** Accepted signatures of a signer until it has a table: what they cost is then what the table costs. */
const TABLE_AFTER = 16;
/** Measured: two coordinates of 256 bits and the objects around them. */
const POINT_BYTES = 152;
export const TABLE_BYTES = pointsOf(SIGNER_WINDOW_BITS) * POINT_BYTES;
const CACHE_BYTES = 64 * 1024 * 1024;
/** Signers whose signatures are counted; then counting starts anew, so strangers cannot fill the memory. */
const MOST_COUNTED = 10_000;

export type CachedVerifier = Verifier & {
  readonly hits: number;
  readonly misses: number;
  readonly cachedBytes: number;
};

export function cachedNobleVerifier(keccak: Keccak256, capacityBytes = CACHE_BYTES): CachedVerifier {
  const base = tableOf(Point.BASE, BASE_WINDOW_BITS);
  /** Least recently used first. */
  const tables = new Map<string, Table>();
  const counts = new Map<string, number>();
  let hits = 0;
  let misses = 0;

  function admit(signer: string, publicKey: Uint8Array): void {
    const count = (counts.get(signer) ?? 0) + 1;
    if (count < TABLE_AFTER) {
      if (counts.size >= MOST_COUNTED) counts.clear();
      counts.set(signer, count);
      return;
    }
    counts.delete(signer);
    if ((tables.size + 1) * TABLE_BYTES > capacityBytes) {
      const [oldest] = tables.keys();
      if (oldest === undefined) return;
      tables.delete(oldest);
    }
    tables.set(signer, tableOf(Point.fromBytes(publicKey), SIGNER_WINDOW_BITS));
  }

  return {
    name: 'noble',
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    get cachedBytes() {
      return tables.size * TABLE_BYTES;
    },
    verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset) {
      const bit = recoveryBit(signature, signatureOffset);
      if (bit === NOT_CANONICAL) return false;
      const signer = toHex(signerAddress, signerOffset, ADDRESS_BYTES);
      const table = tables.get(signer);
      if (table === undefined) {
        misses++;
        const publicKey = recover(bit, signature, signatureOffset, digest, digestOffset);
        const isRight =
          publicKey !== undefined && isAddressOf(publicKey.subarray(1), keccak, signerAddress, signerOffset);
        if (isRight) admit(signer, publicKey);
        return isRight;
      }
      hits++;
      tables.delete(signer);
      tables.set(signer, table);
      const r = scalarAt(signature, signatureOffset);
      const inverse = Fn.inv(scalarAt(signature, signatureOffset + HASH_BYTES));
      const z = Fn.create(scalarAt(digest, digestOffset));
      const sum = addMultiple(addMultiple(Point.ZERO, base, Fn.mul(z, inverse)), table, Fn.mul(r, inverse));
      if (sum.is0()) return false;
      const { x, y } = sum.toAffine();
      return x === r && (y & 1n) === BigInt(bit);
    },
  };
}

/** `from` + `scalar` times the table's point: at most one addition a window, digits -2^(bits-1) + 1 … 2^(bits-1). */
function addMultiple(from: Point, { bits, points }: Table, scalar: bigint): Point {
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

function tableOf(point: Point, bits: number): Table {
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

/** One window more than the scalar has, for the last carry. */
function pointsOf(bits: number): number {
  return (Math.ceil(SCALAR_BITS / bits) + 1) << (bits - 1);
}

function scalarAt(bytes: Uint8Array, offset: number): bigint {
  return BigInt(toHex(bytes, offset, HASH_BYTES));
}
