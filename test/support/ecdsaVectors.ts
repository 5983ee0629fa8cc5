/**
 * Signatures that ECDSA accepts or refuses, by construction: the kinds of Project Wycheproof's vectors for secp256k1,
 * made anew with other numbers. Here the digest is the input, so every u1, u2 and key can be had without a search for a
 * message. Kinds about the ASN.1 encoding of a signature have no counterpart in 65 bytes.
 */
import {
  type CurvePoint,
  G,
  LAMBDA,
  N,
  numberAt,
  P,
  Point,
  pointAt,
  pointWithY,
  S_OFFSET,
  type SignatureMaker,
} from './signatureCases.ts';

const { Fn } = Point;

/** `isValid` is the verdict of ECDSA: s of either half, r the x of R modulo n. */
export type EcdsaVector = {
  readonly label: string;
  readonly digest: bigint;
  readonly r: bigint;
  readonly s: bigint;
  readonly key: CurvePoint;
  readonly isValid: boolean;
  /** The parity of y of R, where it is known. */
  readonly isOdd?: boolean;
  /** Nothing is known of (r, n - s). */
  readonly hasNoTwin?: boolean;
};

/** Numbers of 256 bits at which multiplication, inversion and the digits of scalars have their edges. */
const EDGES: readonly bigint[] = [
  1n,
  2n,
  3n,
  ...[8n, 29n, 58n, 64n, 127n, 128n, 192n, 232n, 255n].flatMap((bits) => [
    (1n << bits) - 1n,
    1n << bits,
    N - (1n << bits),
  ]),
  0x7fffffff80000000ffffffff7fffffff80000000ffffffff7fffffff80000000n,
  0xfffffffe00000002fffffffe00000002fffffffe00000002fffffffe00000002n,
  N / 2n,
  N / 2n + 1n,
  N / 3n,
  N - N / 3n,
  LAMBDA,
  N - LAMBDA,
  N - 2n,
  N - 1n,
].filter((edge) => edge < N);

export function ecdsaVectors(maker: SignatureMaker): EcdsaVector[] {
  return [
    ...valid(maker),
    ...scalarEdges(maker),
    ...coordinateEdges(maker),
    ...keys(maker),
    ...meetings(maker),
    ...outOfRange(maker),
    ...wrongPoints(maker),
  ];
}

/** u1 G + u2 Q = R, so the signature is valid by its definition. */
function signed(label: string, key: CurvePoint, u1: bigint, u2: bigint): EcdsaVector[] {
  const R = times(G, u1).add(times(key, u2));
  if (R.is0() || u2 % N === 0n) return [];
  const r = Fn.create(R.x);
  const s = Fn.mul(r, Fn.inv(Fn.create(u2)));
  return [{ label, key, r, s, digest: Fn.mul(Fn.create(u1), s), isValid: true, ...parityOf(R) }];
}

/** The key that (r, s) is a signature of, where r is the x of a point. */
function recovered(label: string, R: CurvePoint, s: bigint, digest: bigint): EcdsaVector[] {
  const r = Fn.create(R.x);
  const inverse = Fn.inv(r);
  const key = times(R, Fn.mul(s, inverse)).subtract(times(G, Fn.mul(Fn.create(digest), inverse)));
  return key.is0() ? [] : [{ label, key, r, s, digest, isValid: true, ...parityOf(R) }];
}

function parityOf(R: CurvePoint): { isOdd?: boolean } {
  return R.x < N ? { isOdd: (R.y & 1n) === 1n } : {};
}

function valid(maker: SignatureMaker): EcdsaVector[] {
  const runs = [0n, 1n, 0xffffffffn].flatMap((word) =>
    Array.from({ length: 8 }, (_, at) => {
      const hole = 0xffffffffn << (32n * BigInt(at));
      const all = (1n << 256n) - 1n;
      return word === 0n
        ? maker.scalar() & (all ^ hole)
        : (maker.scalar() & (all ^ hole)) | (word << (32n * BigInt(at)));
    }),
  );
  const digests = [0n, 1n, N - 1n, N, N + 1n, P, (1n << 256n) - 1n, ...runs];
  return digests.flatMap((digest) => {
    const R = times(G, maker.scalar());
    return recovered(`digest ${digest.toString(16)}`, R, maker.scalar(), digest);
  });
}

/** Edges of u1, u2, s, its inverse, and the nonce. */
function scalarEdges(maker: SignatureMaker): EcdsaVector[] {
  const { key } = maker.signer();
  return EDGES.flatMap((edge) => {
    const name = edge.toString(16);
    const R = times(G, maker.scalar());
    return [
      ...signed(`u1 = ${name}`, key, edge, maker.scalar()),
      ...signed(`u2 = ${name}`, key, maker.scalar(), edge),
      ...recovered(`s = ${name}`, R, edge, maker.scalar()),
      ...recovered(`1/s = ${name}`, R, Fn.inv(edge), maker.scalar()),
      ...recovered(`nonce ${name}`, times(G, edge), maker.scalar(), maker.scalar()),
      ...recovered(`nonce and 1/s = ${name}`, times(G, edge), Fn.inv(edge), maker.scalar()),
    ];
  });
}

/** Edges of r: small values, values just below n, and x above n, of which r is the remainder. */
function coordinateEdges(maker: SignatureMaker): EcdsaVector[] {
  const near = [1n, 1n << 63n, 1n << 99n, 1n << 127n, 1n << 159n, N - 40n, N + 1n, P - 40n, (1n << 255n) - 30n];
  return near.flatMap((start) => {
    const R = firstPoint(start);
    const name = R.x.toString(16);
    return [
      ...[1n, 2n, 5n, 1n << 63n, 1n << 99n, 1n << 127n, N - 1n].flatMap((s) => {
        return recovered(`x of R = ${name}, s = ${s.toString(16)}`, R, s, maker.scalar());
      }),
      ...recovered(`x of R = ${name}, other parity`, R.negate(), maker.scalar(), maker.scalar()),
    ];
  });
}

/** Keys with small, large and patterned coordinates, and keys that share x with the generator. */
function keys(maker: SignatureMaker): EcdsaVector[] {
  const trailing = (1n << 128n) - 1n;
  const chosen = [
    ...[1n, P - 60n, 1n << 200n, trailing + (3n << 200n)].map((x) => firstPoint(x, x === 1n << 200n ? 1n << 130n : 1n)),
    ...[1n, 2n, 3n, 4n, 5n, 6n].flatMap((y) => [pointWithY(y), pointWithY(P - y)].filter((point) => point !== null)),
    G,
    G.negate(),
    ...[2n, 3n, N / 2n, LAMBDA, N - LAMBDA, 1n << 64n].map((d) => times(G, d)),
  ];
  return chosen.flatMap((key) =>
    [0, 1, 2].flatMap(() => {
      const { x, y } = key.toAffine();
      return signed(`key ${x.toString(16)} ${y.toString(16)}`, key, maker.scalar(), maker.scalar());
    }),
  );
}

/** Points that meet in the sum: parts that are equal, parts that cancel on the way, and a sum of infinity. */
function meetings(maker: SignatureMaker): EcdsaVector[] {
  const out: EcdsaVector[] = [];
  for (const d of [1n, 2n, N - 1n, LAMBDA, maker.scalar()]) {
    const key = times(G, d);
    const u = maker.scalar();
    const same = Fn.mul(u, Fn.inv(d));
    out.push(...signed('u1 G = u2 Q', key, u, same));
    out.push(...signed('u1 G = 2 u2 Q', key, Fn.mul(u, 2n), same));
    out.push(...signed('u1 G = λ u2 Q', key, Fn.mul(u, LAMBDA), same));
    for (const bits of [1n, 5n, 6n, 10n, 29n, 64n, 128n]) {
      // Without their lowest bits u1 G and u2 Q are opposite, so an evaluation from the top passes infinity.
      const [high1, low1, low2] = [maker.scalar() >> (bits + 1n), 1n, 3n];
      const high2 = Fn.mul(Fn.neg(high1), Fn.inv(d));
      out.push(...signed(`opposite above ${bits} bits`, key, (high1 << bits) + low1, (high2 << bits) + low2));
    }
    // z = -r d: u1 G + u2 Q is infinity, whatever r and s are.
    const [r, s] = [Fn.create(times(G, maker.scalar()).x), maker.scalar()];
    out.push({ label: 'the sum is infinity', key, r, s, digest: Fn.neg(Fn.mul(r, d)), isValid: false });
    out.push({ label: 'the sum is infinity, r = s', key, r, s: r, digest: Fn.neg(Fn.mul(r, d)), isValid: false });
  }
  return out;
}

/** r and s outside 1 … n-1, and good numbers changed by the order or by the sign. */
function outOfRange(maker: SignatureMaker): EcdsaVector[] {
  const special = [0n, 1n, N - 1n, N, N + 1n, P, P + 1n, (1n << 256n) - 1n];
  const { key } = maker.signer();
  const digest = maker.scalar();
  const out: EcdsaVector[] = special.flatMap((r) =>
    special.map((s) => ({ label: `r = ${r.toString(16)}, s = ${s.toString(16)}`, key, digest, r, s, isValid: false })),
  );
  for (let i = 0; i < 8; i++) {
    // Small ones, so that more than one multiple of n can be added.
    const R = firstPoint(BigInt(2 + 3 * i));
    const [good] = recovered('', R, BigInt(1005 + i), maker.scalar());
    const wrong = { ...good, isValid: false };
    out.push({ ...wrong, label: 'r plus n', r: good.r + N });
    out.push({ ...wrong, label: 's plus n', s: good.s + N });
    out.push({ ...wrong, label: 'r of the opposite sign', r: N - good.r });
    out.push({ ...wrong, label: 'r and s exchanged', r: good.s, s: good.r });
    out.push({ ...wrong, label: 's twice', s: 2n * good.s });
    out.push({ ...wrong, label: 'digest plus one', digest: good.digest + 1n });
    out.push({ ...wrong, label: 'the opposite key', key: good.key.negate() });
    out.push({ ...wrong, label: 'the image of the key under λ', key: times(good.key, LAMBDA) });
  }
  return out;
}

/** R is another point than r says: its x is close to r, or equals it only after a wrong reduction. */
function wrongPoints(maker: SignatureMaker): EcdsaVector[] {
  const out: EcdsaVector[] = [];
  for (const [x, r] of [
    [1n, 2n],
    [1n, N + 1n],
    [1n, P - N + 1n],
    [1n, (1n << 256n) - N + 1n],
    [firstPoint(N - 20n).x, 0n],
    [firstPoint(N).x, 1n],
  ] as const) {
    const R = pointAt(x, true);
    if (R === null) continue;
    const claimed = r > 1n ? r : Fn.create(x + 1n);
    const s = maker.scalar();
    const digest = maker.scalar();
    const inverse = Fn.inv(Fn.create(claimed));
    const key = times(R, Fn.mul(s, inverse)).subtract(times(G, Fn.mul(digest, inverse)));
    out.push({
      label: `r = ${claimed.toString(16)}, x = ${x.toString(16)}`,
      key,
      r: claimed,
      s,
      digest,
      isValid: false,
    });
  }
  const { key } = maker.signer();
  const one = maker.next(maker.signer());
  out.push({
    label: 'a signature of another',
    key,
    digest: numberAt(one.digest, 0),
    r: numberAt(one.signature, 0),
    s: numberAt(one.signature, S_OFFSET),
    isValid: false,
  });
  return out;
}

/** The first point whose x is at least `start`, in steps. */
function firstPoint(start: bigint, step = 1n): CurvePoint {
  for (let x = start; ; x += step) {
    const found = pointAt(x, false);
    if (found !== null) return found;
  }
}

function times(point: CurvePoint, scalar: bigint): CurvePoint {
  const reduced = Fn.create(scalar);
  return reduced === 0n ? Point.ZERO : point.multiplyUnsafe(reduced);
}
