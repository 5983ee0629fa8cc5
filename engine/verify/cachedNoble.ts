/**
 * The reference verifier with a memory: of signers that come often it keeps the public key with a table of its
 * multiples, and checks against that what would otherwise be recovered, more than four times as fast.
 *
 * It gives the very answer that recovery gives. Recovery takes the curve point R with x = r and the parity that v names
 * and asks whether Q = (s R - z G) / r is the signer's key. Here Q is known, and asked is whether (z G + r Q) / s is
 * that R: the same equation, so x is compared with r itself, not modulo n, and the parity of y with v.
 *
 * A table takes as long to make as some thirty recoveries: that is for verifier threads, which leave it to the others
 * (sharedTables.ts). A thread that trades takes what is there, and makes and counts nothing.
 *
 * A table that others made is believed when its checksum is right and it begins with the key that has the signer's
 * address. Damage that this overlooks could only make the sum another point than R, which no signature was made for;
 * so what such a table accepts is accepted, and what it refuses is recovered.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/hex.ts';
import type { Keccak256 } from '../../shared/keccak.ts';
import { BASE_WINDOW_BITS, pointsOf, SIGNER_WINDOW_BITS } from '../../shared/tableLayout.ts';
import { recover } from './noble.ts';
import { sumOfMultiples } from './pointSum.ts';
import { makeTable, type PointTable, packTable, pointOf, unpackTable } from './pointTable.ts';
import type { SharedTables } from './sharedTables.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit } from './signature.ts';
import type { Verifier } from './verifier.ts';

type Known = { readonly table: PointTable; readonly isOwn: boolean };

const { Point } = secp256k1;
const { Fn } = Point;
/** Accepted signatures of a signer until it has a table: what they cost is then what the table costs. */
const TABLE_AFTER = 16;
/** Measured: two coordinates of 256 bits and where they are listed. */
const POINT_BYTES = 125;
export const TABLE_BYTES = pointsOf(SIGNER_WINDOW_BITS) * POINT_BYTES;
const CACHE_BYTES = 64 * 1024 * 1024;
/** Signers whose signatures are counted; then counting starts anew, so strangers cannot fill the memory. */
const MOST_COUNTED = 10_000;

export type CacheOptions = {
  readonly capacityBytes?: number;
  /** What other threads have made, and where own tables go. */
  readonly shared?: SharedTables | undefined;
  /** False on a thread that trades. */
  readonly makesTables?: boolean;
};

export type CachedVerifier = Verifier & {
  /** Checks that a table answered, and those that took a recovery. */
  readonly hits: number;
  readonly misses: number;
  /** Tables made by this verifier. */
  readonly made: number;
  readonly cachedBytes: number;
};

export function cachedNobleVerifier(keccak: Keccak256, options: CacheOptions = {}): CachedVerifier {
  const { capacityBytes = CACHE_BYTES, shared, makesTables = true } = options;
  let base = takeBase(shared);
  if (makesTables && base === undefined) {
    base = makeTable(Point.BASE, BASE_WINDOW_BITS);
    shared?.publishBase(packTable(base));
  }
  /** Least recently used first. */
  const tables = new Map<string, Known>();
  const counts = new Map<string, number>();
  let hits = 0;
  let misses = 0;
  let made = 0;

  /** Counts an accepted signature. @returns whether it is time for a table. */
  function isOften(signer: string): boolean {
    const count = (counts.get(signer) ?? 0) + 1;
    if (count < TABLE_AFTER) {
      if (counts.size >= MOST_COUNTED) counts.clear();
      counts.set(signer, count);
      return false;
    }
    counts.delete(signer);
    return true;
  }

  /** As the one used last. */
  function keep(signer: string, known: Known): void {
    if (!tables.delete(signer) && (tables.size + 1) * TABLE_BYTES > capacityBytes) {
      const [oldest] = tables.keys();
      if (oldest === undefined) return;
      tables.delete(oldest);
    }
    tables.set(signer, known);
  }

  function take(address: Uint8Array, offset: number): Known | undefined {
    base ??= takeBase(shared);
    const packed = base && shared?.take(address, offset);
    const table = packed && unpackTable(packed, SIGNER_WINDOW_BITS);
    const key = table && pointOf(table)?.toBytes(false).subarray(1);
    const isRight = key !== undefined && isAddressOf(key, keccak, address, offset);
    return table && isRight ? { table, isOwn: false } : undefined;
  }

  return {
    name: 'noble',
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    get made() {
      return made;
    },
    get cachedBytes() {
      return tables.size * TABLE_BYTES;
    },
    verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset) {
      const bit = recoveryBit(signature, signatureOffset);
      if (bit === NOT_CANONICAL) return false;
      const signer = toHex(signerAddress, signerOffset, ADDRESS_BYTES);
      const known = tables.get(signer) ?? take(signerAddress, signerOffset);
      let answer: boolean | undefined;
      if (known !== undefined) {
        keep(signer, known);
        answer = isSignedBy(known.table, base!, bit, signature, signatureOffset, digest, digestOffset);
        if (answer === true || (answer === false && known.isOwn)) {
          hits++;
          return answer;
        }
      }
      misses++;
      const publicKey = recover(bit, signature, signatureOffset, digest, digestOffset);
      const isRight =
        publicKey !== undefined && isAddressOf(publicKey.subarray(1), keccak, signerAddress, signerOffset);
      const isDamaged = isRight && answer === false;
      if (isDamaged) tables.delete(signer);
      if (isRight && makesTables && (isDamaged || (known === undefined && isOften(signer)))) {
        const table = makeTable(Point.fromBytes(publicKey), SIGNER_WINDOW_BITS);
        made++;
        keep(signer, { table, isOwn: true });
        shared?.publish(signerAddress, signerOffset, packTable(table));
      }
      return isRight;
    },
  };
}

function takeBase(shared: SharedTables | undefined): PointTable | undefined {
  const packed = shared?.takeBase();
  const table = packed && unpackTable(packed, BASE_WINDOW_BITS);
  return table && pointOf(table)?.equals(Point.BASE) ? table : undefined;
}

/** Whether (z G + r Q) / s is the point that r and the recovery bit name; undefined when it cannot be added so. */
function isSignedBy(
  table: PointTable,
  base: PointTable,
  bit: number,
  signature: Uint8Array,
  signatureOffset: number,
  digest: Uint8Array,
  digestOffset: number,
): boolean | undefined {
  const r = scalarAt(signature, signatureOffset);
  const inverse = Fn.inv(scalarAt(signature, signatureOffset + HASH_BYTES));
  const z = Fn.create(scalarAt(digest, digestOffset));
  const sum = sumOfMultiples(base, Fn.mul(z, inverse), table, Fn.mul(r, inverse));
  return sum && sum.x === r && (sum.y & 1n) === BigInt(bit);
}

function scalarAt(bytes: Uint8Array, offset: number): bigint {
  return BigInt(toHex(bytes, offset, HASH_BYTES));
}
