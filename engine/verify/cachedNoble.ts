/**
 * The reference verifier with a cache: for frequent signers it keeps the public key with a table of its multiples, and
 * checks signatures against that instead of recovering the key, more than four times as fast.
 *
 * This and the tables beside it (pointSum.ts, pointTable.ts, sharedTables.ts) run only where libsecp256k1 does not
 * load. That is every platform without a binary of it, and there they are what keeps orders of frequent signers from
 * costing a recovery each (signatures.bench.ts).
 *
 * The answer is exactly that of recovery. Recovery takes the curve point R with x = r and the parity that v names, and
 * asks whether Q = (s R - z G) / r is the signer's key. Here Q is known, and the question is whether (z G + r Q) / s is
 * that R. It is the same equation, so x is compared with r itself, not modulo n, and the parity of y with v.
 *
 * Making a table takes as long as some thirty recoveries. Only verifier threads do it, and share their tables
 * (sharedTables.ts). A shard's thread uses the tables that are there, and neither makes tables nor counts signers.
 *
 * A table of another thread is used when its checksum is right and its first point is the key with the signer's
 * address. Damage that both overlook could only turn the sum into a point that no signature was made for. So a
 * signature that such a table accepts is accepted, and one that it refuses is checked by recovery.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit } from '../../shared/crypto/signature.ts';
import { BASE_WINDOW_BITS, pointsOf, SIGNER_WINDOW_BITS } from '../../shared/wire/tableLayout.ts';
import { recover } from './noble.ts';
import { sumOfMultiples } from './pointSum.ts';
import { makeTable, type PointTable, packTable, pointOf, unpackTable } from './pointTable.ts';
import type { SharedTables } from './sharedTables.ts';
import type { Verifier } from './verifier.ts';

/** `isOwn`: made by this verifier, so that also its refusals count. */
type Known = { readonly table: PointTable; readonly isOwn: boolean };

const { Point } = secp256k1;
const { Fn } = Point;
/** Accepted signatures after which a signer gets a table: they have cost about as much as the table does. */
export const TABLE_AFTER = 16;
/** Measured: two coordinates of 256 bits and their elements of an array. */
const POINT_BYTES = 125;
export const TABLE_BYTES = pointsOf(SIGNER_WINDOW_BITS) * POINT_BYTES;
const CACHE_BYTES = 64 * 1024 * 1024;
/** Signers that are counted together; then counting starts again, so that strangers cannot fill the memory. */
const MOST_COUNTED = 10_000;

type CacheOptions = {
  readonly capacityBytes?: number;
  /** The tables of all threads. */
  readonly shared?: SharedTables | undefined;
  /** False on a shard's thread. */
  readonly makesTables?: boolean;
  readonly mostCounted?: number;
};

export class CachedNobleVerifier implements Verifier {
  readonly name = 'noble';
  /** Checks that a table answered, and checks that needed a recovery. */
  hits = 0;
  misses = 0;
  /** Tables made by this verifier. */
  made = 0;
  readonly #keccak: Keccak256;
  readonly #capacityBytes: number;
  readonly #shared: SharedTables | undefined;
  readonly #makesTables: boolean;
  readonly #mostCounted: number;
  /** Multiples of the generator; undefined until a verifier thread has made them. */
  #base: PointTable | undefined;
  /** Least recently used first. */
  readonly #tables = new Map<string, Known>();
  readonly #counts = new Map<string, number>();

  constructor(keccak: Keccak256, options: CacheOptions = {}) {
    const { capacityBytes = CACHE_BYTES, shared, makesTables = true, mostCounted = MOST_COUNTED } = options;
    this.#keccak = keccak;
    this.#capacityBytes = capacityBytes;
    this.#shared = shared;
    this.#makesTables = makesTables;
    this.#mostCounted = mostCounted;
    this.#base = readBase(shared);
    if (makesTables && this.#base === undefined) {
      this.#base = makeTable(Point.BASE, BASE_WINDOW_BITS);
      shared?.publishBase(packTable(this.#base));
    }
  }

  get cachedBytes(): number {
    return this.#tables.size * TABLE_BYTES;
  }

  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean {
    const bit = recoveryBit(signature, signatureOffset);
    if (bit === NOT_CANONICAL) return false;
    const signer = toHex(signerAddress, signerOffset, ADDRESS_BYTES);
    const known = this.#tables.get(signer) ?? this.#findShared(signerAddress, signerOffset);
    let answer: boolean | undefined;
    if (known !== undefined) {
      this.#keep(signer, known);
      answer = isSignedBy(known.table, this.#base!, bit, signature, signatureOffset, digest, digestOffset);
      if (answer === true || (answer === false && known.isOwn)) {
        this.hits++;
        return answer;
      }
    }
    this.misses++;
    const publicKey = recover(bit, signature, signatureOffset, digest, digestOffset);
    if (publicKey === undefined) return false;
    if (!isAddressOf(publicKey.subarray(1), this.#keccak, signerAddress, signerOffset)) return false;
    const isDamaged = answer === false;
    if (isDamaged) this.#tables.delete(signer);
    if (this.#makesTables && (isDamaged || (known === undefined && this.#isFrequent(signer)))) {
      const table = makeTable(Point.fromBytes(publicKey), SIGNER_WINDOW_BITS);
      this.made++;
      this.#keep(signer, { table, isOwn: true });
      this.#shared?.publish(signerAddress, signerOffset, packTable(table));
    }
    return true;
  }

  /** Counts an accepted signature. @returns whether its signer should get a table now. */
  #isFrequent(signer: string): boolean {
    const counts = this.#counts;
    const count = (counts.get(signer) ?? 0) + 1;
    if (count < TABLE_AFTER) {
      if (counts.size >= this.#mostCounted) counts.clear();
      counts.set(signer, count);
      return false;
    }
    counts.delete(signer);
    return true;
  }

  /** Keeps a table as the most recently used one. */
  #keep(signer: string, known: Known): void {
    const tables = this.#tables;
    if (!tables.delete(signer) && (tables.size + 1) * TABLE_BYTES > this.#capacityBytes) {
      const [oldest] = tables.keys();
      if (oldest === undefined) return;
      tables.delete(oldest);
    }
    tables.set(signer, known);
    assert(this.cachedBytes <= this.#capacityBytes, 'signer cache: it stays within its bytes');
  }

  /** The table of another thread, if there is one that can be used. */
  #findShared(address: Uint8Array, offset: number): Known | undefined {
    this.#base ??= readBase(this.#shared);
    const packed = this.#base && this.#shared?.read(address, offset);
    const table = packed && unpackTable(packed, SIGNER_WINDOW_BITS);
    const key = table && pointOf(table)?.toBytes(false).subarray(1);
    const isRight = key !== undefined && isAddressOf(key, this.#keccak, address, offset);
    return table && isRight ? { table, isOwn: false } : undefined;
  }
}

function readBase(shared: SharedTables | undefined): PointTable | undefined {
  const packed = shared?.readBase();
  const table = packed && unpackTable(packed, BASE_WINDOW_BITS);
  return table && pointOf(table)?.equals(Point.BASE) ? table : undefined;
}

/** True if (z G + r Q) / s is the point that r and the recovery bit name; undefined if pointSum.ts cannot add. */
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
