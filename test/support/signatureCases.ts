/**
 * Signatures for tests of verifiers: thousands of good ones, made cheaply; the same with one thing changed; and
 * signatures on which wrong arithmetic on the curve is likely to fail. A digest is an input here, so a signature can be
 * made for any u1, u2 and key without a private key: R = u1 G + u2 Q, r = x of R, s = r / u2, z = u1 s.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import type { Random } from './random.ts';

export const { Point } = secp256k1;
const { Fn, Fp } = Point;
export type CurvePoint = InstanceType<typeof Point>;
export const G = Point.BASE;
/** The order of the group, and the prime of the field. */
export const N = Fn.ORDER;
export const P = Fp.ORDER;
/** The endomorphism: LAMBDA (x, y) = (BETA x, y), and both have order 3. */
export const LAMBDA = 0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72n;
const R_OFFSET = 0;
export const S_OFFSET = HASH_BYTES;
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

  /** The address that the point at infinity would have if it were 64 bytes of zero. */
  addressOfInfinity(): Uint8Array {
    return this.#keccak(new Uint8Array(2 * HASH_BYTES)).slice(-ADDRESS_BYTES);
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

  /** The signature in whose check the sum is u1 G + u2 Q; null when that sum has no usable x. */
  constructed(label: string, key: CurvePoint, u1: bigint, u2: bigint): SignatureCase | null {
    const sum = times(G, u1).add(times(key, u2));
    if (sum.is0()) return null;
    const { x: r, y } = sum.toAffine();
    if (r >= N) return null;
    const s = Fn.mul(r, Fn.inv(Fn.create(u2)));
    return this.ofParts(label, { r, s, odd: (y & 1n) === 1n, z: Fn.mul(Fn.create(u1), s) }, this.addressOf(key));
  }

  /** The signature with these numbers for the address that it recovers to; null when it recovers to none. */
  recovering(label: string, r: bigint, s: bigint, odd: boolean, digest: bigint): SignatureCase | null {
    const R = pointAt(r, odd);
    if (R === null) return null;
    const inverse = Fn.inv(Fn.create(r));
    const key = times(R, Fn.mul(s, inverse)).subtract(times(G, Fn.mul(Fn.create(digest), inverse)));
    if (key.is0()) return null;
    const digestBytes = wordOf(digest);
    return { label, digest: digestBytes, signature: signatureOf(r, s, odd), signer: this.addressOf(key) };
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
export const MUTATIONS = [
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

/** The same with one thing changed. A change that does not fit into its bytes leaves the case unchanged. */
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

/** Numbers at which carries, digits and reductions change: around powers of two, the order, λ and their halves. */
const SPECIAL_SCALARS: readonly bigint[] = [
  1n,
  2n,
  3n,
  7n,
  16n,
  (1n << 29n) - 1n,
  1n << 29n,
  (1n << 58n) + 1n,
  (1n << 64n) - 1n,
  1n << 64n,
  (1n << 64n) + 1n,
  (1n << 127n) - 1n,
  1n << 127n,
  (1n << 128n) - 1n,
  1n << 128n,
  (1n << 128n) + 1n,
  1n << 192n,
  (1n << 255n) - 19n,
  N / 2n,
  N / 2n + 1n,
  LAMBDA,
  N - LAMBDA,
  N - 1n - LAMBDA,
  LAMBDA + 1n,
  Fn.mul(LAMBDA, 1n << 64n),
  N - (1n << 128n),
  N - (1n << 64n),
  N - 3n,
  N - 2n,
  N - 1n,
  0x5555555555555555555555555555555555555555555555555555555555555555n,
  0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaan,
  0x7fffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000n,
];

/** Good and bad signatures at the edges of the arithmetic. Each good one has the signer that it recovers to. */
export function edgeCases(maker: SignatureMaker): SignatureCase[] {
  return [...special(maker), ...sums(maker), ...coordinates(maker), ...infinities(maker)].filter((one) => one !== null);
}

/** Every special number as private key, as nonce, as digest and as s. */
function special(maker: SignatureMaker): (SignatureCase | null)[] {
  const anyone = maker.signer();
  const any = maker.scalar();
  const digests = [0n, N, N + 1n, P, (1n << 256n) - 1n, ...SPECIAL_SCALARS];
  const lowS = SPECIAL_SCALARS.filter((s) => s <= N / 2n);
  return [
    ...SPECIAL_SCALARS.map((d) => maker.next(maker.signer(d), `private key ${d}`)),
    ...SPECIAL_SCALARS.map((k) => maker.sign(anyone, k, maker.scalar(), `nonce ${k}`)),
    ...digests.map((z) => maker.sign(anyone, any, z, `digest ${z}`)),
    ...[...lowS, N / 2n + 1n, N - 1n].map((s) => maker.recovering(`s = ${s}`, xOf(any), s, true, maker.scalar())),
  ];
}

/** Special u1 and u2, and sums whose parts are equal, opposite or images of each other under λ. */
function sums(maker: SignatureMaker): (SignatureCase | null)[] {
  const any = maker.signer();
  const u = maker.scalar();
  const out: (SignatureCase | null)[] = [];
  for (const value of SPECIAL_SCALARS) {
    out.push(maker.constructed(`u1 = ${value}`, any.key, value, u));
    out.push(maker.constructed(`u2 = ${value}`, any.key, u, value));
    out.push(maker.constructed(`u1 = u2 = ${value}`, any.key, value, value));
  }
  out.push(maker.constructed('u1 = 0', any.key, 0n, u));
  const keys = [1n, 2n, 3n, N - 1n, N - 2n, N / 2n + 1n, LAMBDA, N - LAMBDA, N - 1n - LAMBDA, 1n << 64n, 1n << 128n];
  for (const privateKey of keys) {
    const { key } = maker.signer(privateKey);
    for (const [name, factor] of [
      ['the same', 1n],
      ['twice', 2n],
      ['half of', Fn.inv(2n)],
      ['λ times', LAMBDA],
      ['the opposite of λ times', N - LAMBDA],
      ['2^64 times', 1n << 64n],
    ] as const) {
      const u2 = Fn.mul(Fn.mul(u, factor), Fn.inv(privateKey));
      out.push(maker.constructed(`u2 Q is ${name} u1 G, key ${privateKey}`, key, u, u2));
      out.push(maker.constructed(`u1 = 1 and u2 = ${factor}, key ${privateKey}`, key, 1n, factor));
    }
    out.push(maker.constructed(`u1 = 0 and u2 = 1, R is the key ${privateKey}`, key, 0n, 1n));
    out.push(maker.constructed(`u1 = 0 and u2 = -1, R is opposite to the key ${privateKey}`, key, 0n, N - 1n));
    out.push(maker.constructed(`R is twice the key ${privateKey}`, key, privateKey, 1n));
  }
  return out;
}

/** Special x of R: the smallest, those around p - n (above which r alone says which x it is) and those below n. */
function coordinates(maker: SignatureMaker): (SignatureCase | null)[] {
  const s = maker.scalar() >> 1n;
  const z = maker.scalar();
  const nobody = maker.signer().address;
  const starts = [1n, P - N - 8n, P - N, N - 12n, 1n << 128n, 1n << 255n, (1n << 232n) - 4n, (1n << 29n) - 4n];
  const out: (SignatureCase | null)[] = [];
  for (const start of starts) {
    for (let r = start; r < start + 12n && r < N; r++) {
      for (const odd of [false, true]) {
        const label = `r = ${r}, ${odd ? 'odd' : 'even'}`;
        const recovered = maker.recovering(label, r, s, odd, z);
        out.push(recovered ?? { label, digest: wordOf(z), signature: signatureOf(r, s, odd), signer: nobody });
        if (r < P - N) out.push(...hidden(maker, r, s, odd, z));
      }
    }
  }
  return out;
}

/** R with x = r + n has the same r modulo n, and recovery takes x = r: the key that this R means has not signed. */
function hidden(maker: SignatureMaker, r: bigint, s: bigint, odd: boolean, z: bigint): SignatureCase[] {
  const R = pointAt(r + N, odd);
  if (R === null) return [];
  const inverse = Fn.inv(r);
  const key = times(R, Fn.mul(s, inverse)).subtract(times(G, Fn.mul(z, inverse)));
  const label = `x of R is ${r} + n`;
  return [0, 1].flatMap((v) => {
    const signature = Uint8Array.from([...wordOf(r), ...wordOf(s), v]);
    return [{ label, digest: wordOf(z), signature, signer: maker.addressOf(key) }];
  });
}

/** z = s k: the key that is recovered would be the point at infinity. And signers that are no address of a key. */
function infinities(maker: SignatureMaker): SignatureCase[] {
  const nothing = new Uint8Array(ADDRESS_BYTES);
  const out: SignatureCase[] = [];
  for (const nonce of [1n, 2n, LAMBDA, N - 1n, maker.scalar()]) {
    const { x, y } = G.multiply(nonce).toAffine();
    const s = maker.scalar() >> 1n;
    const digest = wordOf(Fn.mul(s, nonce));
    const signature = signatureOf(Fn.create(x), s, (y & 1n) === 1n);
    for (const [name, signer] of [
      ['the zero address', nothing],
      ['infinity as zeros', maker.addressOfInfinity()],
      ['the generator', maker.addressOf(G)],
    ] as const) {
      out.push({ label: `Q is infinity for ${name}, nonce ${nonce}`, digest, signature, signer });
    }
  }
  const good = maker.next(maker.signer());
  return [...out, { ...good, label: 'the zero address', signer: nothing }];
}

function signatureOf(r: bigint, s: bigint, odd: boolean): Uint8Array {
  const signature = new Uint8Array(SIGNATURE_BYTES);
  signature.set(wordOf(r), R_OFFSET);
  signature.set(wordOf(s), S_OFFSET);
  signature[V_OFFSET] = odd ? 28 : 27;
  return signature;
}

export function wordOf(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(2 * HASH_BYTES, '0'), 'hex'));
}

export function numberAt(bytes: Uint8Array, offset: number): bigint {
  return BigInt(toHex(bytes, offset, HASH_BYTES));
}

/** Null when the curve has no point with this x. */
export function pointAt(x: bigint, odd: boolean): CurvePoint | null {
  try {
    const y = Fp.sqrt(Fp.add(Fp.mul(Fp.mul(x, x), x), 7n));
    return Point.fromAffine({ x, y: ((y & 1n) === 1n) === odd ? y : Fp.neg(y) });
  } catch {
    return null;
  }
}

/** Null when the curve has no point with this y. As p = 7 modulo 9, cube roots are powers. */
export function pointWithY(y: bigint): CurvePoint | null {
  const cube = Fp.sub(Fp.mul(y, y), 7n);
  const x = Fp.pow(cube, (P + 2n) / 9n);
  return Fp.mul(Fp.mul(x, x), x) === cube ? Point.fromAffine({ x, y }) : null;
}

function xOf(nonce: bigint): bigint {
  return Fn.create(G.multiply(nonce).x);
}

/** Also for scalars that are 0 modulo n. */
function times(point: CurvePoint, scalar: bigint): CurvePoint {
  const reduced = Fn.create(scalar);
  return reduced === 0n ? Point.ZERO : point.multiplyUnsafe(reduced);
}

function flip(bytes: Uint8Array, bit: number): void {
  bytes[bit >> 3] ^= 1 << (bit & 7);
}
