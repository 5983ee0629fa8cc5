/**
 * Signatures to ask verifiers about: good ones by the thousand, cheaply; the same with one thing changed; and those
 * that arithmetic on the curve is likely to get wrong. A digest is an input here, so a signature can be made for any
 * u1, u2 and key without a private key: R = u1 G + u2 Q, r = x of R, s = r / u2, z = u1 s.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import type { Random } from './random.ts';

export const { Point } = secp256k1;
const { Fn } = Point;
type CurvePoint = InstanceType<typeof Point>;
const G = Point.BASE;
/** The order of the group. */
const N = Fn.ORDER;
const R_OFFSET = 0;
const S_OFFSET = HASH_BYTES;
const V_OFFSET = 2 * HASH_BYTES;

export type SignatureCase = {
  readonly label: string;
  readonly digest: Uint8Array;
  readonly signature: Uint8Array;
  readonly signer: Uint8Array;
};

type Signer = { readonly privateKey: bigint; readonly key: CurvePoint; readonly address: Uint8Array };
type Parts = { readonly r: bigint; readonly s: bigint; readonly odd: boolean; readonly z: bigint };

export class SignatureMaker {
  readonly #keccak: Keccak256;
  readonly #random: Random;
  /** The nonce of the next signature and its point: steps are cheaper than multiplications. */
  #nonce: bigint;
  #point: CurvePoint;
  readonly #step: bigint;
  readonly #stepPoint: CurvePoint;

  constructor(keccak: Keccak256, random: Random) {
    this.#keccak = keccak;
    this.#random = random;
    this.#nonce = this.scalar();
    this.#point = G.multiply(this.#nonce);
    this.#step = this.scalar();
    this.#stepPoint = G.multiply(this.#step);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#random.below(256));
  }

  /** 1 … n-1. */
  scalar(): bigint {
    return (BigInt(toHex(this.bytes(HASH_BYTES + 8))) % (N - 1n)) + 1n;
  }

  signer(privateKey: bigint = this.scalar()): Signer {
    const key = G.multiply(privateKey);
    return { privateKey, key, address: this.addressOf(key) };
  }

  addressOf(key: CurvePoint): Uint8Array {
    return this.#keccak(key.toBytes(false).subarray(1)).slice(-ADDRESS_BYTES);
  }

  /** A good signature with the next nonce. */
  next(signer: Signer, label = 'good'): SignatureCase {
    this.#nonce = Fn.add(this.#nonce, this.#step);
    this.#point = this.#point.add(this.#stepPoint);
    return this.#signWith(signer, this.#nonce, this.#point, BigInt(toHex(this.bytes(HASH_BYTES))), label);
  }

  /** A good signature with this nonce; the digest may be any number of 256 bits. */
  sign(signer: Signer, nonce: bigint, digest: bigint = this.scalar(), label = 'good'): SignatureCase {
    return this.#signWith(signer, nonce, G.multiply(nonce), digest, label);
  }

  /** With s in the lower half: the other half names the opposite R. */
  ofParts(label: string, { r, s, odd, z }: Parts, signer: Uint8Array): SignatureCase {
    const isHigh = s > N / 2n;
    const signature = signatureOf(r, isHigh ? N - s : s, odd !== isHigh);
    return { label, digest: wordOf(z), signature, signer };
  }

  #signWith({ privateKey, address }: Signer, nonce: bigint, point: CurvePoint, z: bigint, label: string) {
    const { x, y } = point.toAffine();
    const r = Fn.create(x);
    const s = Fn.mul(Fn.add(Fn.create(z), Fn.mul(r, privateKey)), Fn.inv(Fn.create(nonce)));
    return this.ofParts(label, { r, s, odd: (y & 1n) === 1n, z }, address);
  }
}

/** The kinds of `mutated`. */
const MUTATIONS = [
  'a bit of the digest',
  'a bit of r',
  'a bit of s',
  'a bit of v',
  'a bit of the signer',
  'v without 27',
  'the other parity',
  'any v',
  'the high s',
  'the high s with the other parity',
  'r and s exchanged',
  'r below its point by one',
  'r plus n',
  's plus n',
  'r that is 0',
  's that is 0',
  'r that is n',
  's that is n',
  'the digest plus n',
  'the opposite digest',
  'a digest of zero',
  'the signer of another',
  'the digest of another',
] as const;
type Mutation = (typeof MUTATIONS)[number];

/** The same with one thing changed. A change that does not fit into its bytes leaves the case as it is. */
export function mutated(one: SignatureCase, other: SignatureCase, kind: Mutation, random: Random): SignatureCase {
  const digest = one.digest.slice();
  const signature = one.signature.slice();
  const signer = one.signer.slice();
  const result = { label: `${one.label}, ${kind}`, digest, signature, signer };
  const [r, s, z] = [numberAt(signature, R_OFFSET), numberAt(signature, S_OFFSET), numberAt(digest, 0)];
  const v = signature[V_OFFSET];
  const put = (target: Uint8Array, offset: number, value: bigint): void => {
    if (value >= 0n && value < 1n << 256n) target.set(wordOf(value), offset);
  };
  const changes: Readonly<Record<Mutation, () => unknown>> = {
    'a bit of the digest': () => flip(digest, random.below(8 * HASH_BYTES)),
    'a bit of r': () => flip(signature, random.below(8 * HASH_BYTES)),
    'a bit of s': () => flip(signature, 8 * S_OFFSET + random.below(8 * HASH_BYTES)),
    'a bit of v': () => flip(signature, 8 * V_OFFSET + random.below(8)),
    'a bit of the signer': () => flip(signer, random.below(8 * ADDRESS_BYTES)),
    'v without 27': () => signature.fill(v % 27, V_OFFSET),
    'the other parity': () => signature.fill(v < 27 ? 1 - v : 55 - v, V_OFFSET),
    'any v': () => signature.fill(random.below(256), V_OFFSET),
    'the high s': () => put(signature, S_OFFSET, N - s),
    'the high s with the other parity': () => {
      put(signature, S_OFFSET, N - s);
      signature[V_OFFSET] = v < 27 ? 1 - v : 55 - v;
    },
    'r and s exchanged': () => {
      put(signature, R_OFFSET, s);
      put(signature, S_OFFSET, r);
    },
    'r below its point by one': () => put(signature, R_OFFSET, r - 1n),
    'r plus n': () => put(signature, R_OFFSET, r + N),
    's plus n': () => put(signature, S_OFFSET, s + N),
    'r that is 0': () => put(signature, R_OFFSET, 0n),
    's that is 0': () => put(signature, S_OFFSET, 0n),
    'r that is n': () => put(signature, R_OFFSET, N),
    's that is n': () => put(signature, S_OFFSET, N),
    'the digest plus n': () => put(digest, 0, z + N),
    'the opposite digest': () => put(digest, 0, Fn.neg(Fn.create(z))),
    'a digest of zero': () => digest.fill(0),
    'the signer of another': () => signer.set(other.signer),
    'the digest of another': () => digest.set(other.digest),
  };
  changes[kind]();
  return result;
}

function signatureOf(r: bigint, s: bigint, odd: boolean): Uint8Array {
  const signature = new Uint8Array(SIGNATURE_BYTES);
  signature.set(wordOf(r), R_OFFSET);
  signature.set(wordOf(s), S_OFFSET);
  signature[V_OFFSET] = odd ? 28 : 27;
  return signature;
}

function wordOf(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(2 * HASH_BYTES, '0'), 'hex'));
}

function numberAt(bytes: Uint8Array, offset: number): bigint {
  return BigInt(toHex(bytes, offset, HASH_BYTES));
}

function flip(bytes: Uint8Array, bit: number): void {
  bytes[bit >> 3] ^= 1 << (bit & 7);
}
