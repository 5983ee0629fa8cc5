import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { privateKeyToAccount } from 'viem/accounts';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';
import { BEST_VARIANT } from '../../../../engine/verify/kernel/instance.ts';
import { Kernel } from '../../../../engine/verify/kernel/kernel.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { ADDRESS_BYTES, toHex, tryParseHex, uint256ToDecimal } from '../../../../shared/base/hex.ts';
import type { OrderDraft } from '../../../../shared/client/order.ts';
import { OrderSigner } from '../../../../shared/client/orderSigner.ts';
import { addressOf } from '../../../../shared/client/privateKey.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, ORDER_TYPE, ZERO_ADDRESS } from '../../../../shared/crypto/eip712.ts';
import { createKeccak } from '../../../../shared/crypto/fastKeccak.ts';
import { nativeVerifier } from '../../../support/nativeVerifier.ts';
import { timesOf } from '../../../support/seeds.ts';

const keccak = await createKeccak();
const noble = createVerifier('noble', keccak);
const native = tryNative();
/** Keeps the key of every signer that it has accepted, and with the next signature its tables. */
const kernel = new Kernel();
const recovering = new Kernel({ keepsTables: false });
const MUTATIONS = timesOf({ suite: 300, soak: 10_000 });

/** The platforms the package has a prebuilt binary for. */
const hasBinary = ['darwin-arm64', 'linux-x64', 'win32-x64'].includes(`${process.platform}-${process.arch}`);

const { Point } = secp256k1;
const N = Point.Fn.ORDER;
const S_OFFSET = 32;
const V_OFFSET = 64;
const DOMAIN = {
  name: DOMAIN_NAME,
  version: DOMAIN_VERSION,
  chainId: 137,
  verifyingContract: '0xab27b729d9cc4cb1c00960700446924159e9298d' as const,
};
const ORDER_FIELDS = ORDER_TYPE.slice('Order('.length, -1)
  .split(',')
  .map((field) => ({ type: field.split(' ')[0], name: field.split(' ')[1] }));

type Random = (length: number) => Uint8Array;
type Case = { digest: Uint8Array; signature: Uint8Array; signer: Uint8Array };

test('a verifier is what its name says', () => {
  assert.equal(createVerifier('noble', keccak).name, 'noble');
  assert.equal(createVerifier('kernel', keccak).name, BEST_VARIANT === 'fused' ? 'kernel' : 'kernel-plain');
});

test('the native peer loads where its package brings a binary', { skip: !hasBinary && 'no binary here' }, () => {
  assert.equal(native?.name, 'native');
});

test('fifty seeded orders: viem signs what our client signs, and all verifiers accept it', async () => {
  const random = seededBytes('viem');
  for (let round = 0; round < 50; round++) {
    const privateKey = toHex(random(32)) as `0x${string}`;
    const salt = uint256ToDecimal(random(32));
    const draft = randomDraft(random);
    const account = privateKeyToAccount(privateKey);
    const signed = new OrderSigner(privateKey, DOMAIN, keccak).sign(draft, { salt });
    const message = {
      salt: BigInt(salt),
      maker: account.address,
      signer: account.address,
      taker: ZERO_ADDRESS,
      tokenId: BigInt(draft.token_id),
      makerAmount: BigInt(draft.maker_amount),
      takerAmount: BigInt(draft.taker_amount),
      expiration: BigInt(draft.expiration!),
      nonce: BigInt(draft.nonce),
      feeRateBps: BigInt(draft.fee_rate_bps),
      minTakerNet: 0n,
      side: draft.side === 'BUY' ? 0 : 1,
    };
    const types = { Order: ORDER_FIELDS };
    const signature = await account.signTypedData({ domain: DOMAIN, types, primaryType: 'Order', message });
    assert.equal(signed.body.signature, signature, `round ${round}`);
    assert.equal(signed.body.signer, account.address.toLowerCase());
    const signedCase = {
      digest: bytesOf(signed.orderHash),
      signature: bytesOf(signature),
      signer: bytesOf(account.address),
    };
    assert.equal(verdict(signedCase), true, `round ${round}`);
  }
});

test('v may be 0 or 1 as well as 27 or 28, and the other parity or any other value is refused', () => {
  for (const seed of [1, 2, 3, 4]) {
    const signed = signedCase(seed);
    if (seed > 2) warm(signed);
    const v = signed.signature[V_OFFSET];
    for (const value of [0, 1, 2, 3, 26, 27, 28, 29, 30, 31, 255]) {
      const isRight = value === v || value === v - 27;
      assert.equal(verdict(withByte(signed, V_OFFSET, value)), isRight, `v ${value} instead of ${v}`);
    }
  }
});

test('the high-s twin of a good signature is refused with either parity', () => {
  const signed = signedCase(5);
  warm(signed);
  const twin = withScalar(signed, S_OFFSET, N - scalar(signed.signature, S_OFFSET));
  for (const v of [27, 28]) assert.equal(verdict(withByte(twin, V_OFFSET, v)), false);
});

test('the largest low s is accepted when it verifies, and one more is refused', () => {
  // Any r and s recover to some key: signing for that key's address makes the boundary itself a valid signature.
  const { digest, signature } = signedCase(6);
  for (const [s, expected] of [
    [1n, true],
    [N / 2n, true],
    [N / 2n + 1n, false],
    [N - 1n, false],
  ] as const) {
    const edge = withScalar({ digest, signature, signer: new Uint8Array(ADDRESS_BYTES) }, S_OFFSET, s);
    edge.signer = recoveredAddress(edge);
    if (expected) warm(edge);
    assert.equal(verdict(edge), expected, `s = ${s}`);
  }
});

test('r and s outside 1 ... n-1 are refused', () => {
  const signed = signedCase(7);
  warm(signed);
  for (const offset of [0, S_OFFSET]) {
    for (const value of [0n, N, N + 1n, 2n ** 256n - 1n]) {
      assert.equal(verdict(withScalar(signed, offset, value)), false, `offset ${offset}, value ${value}`);
    }
  }
});

test('an r that is not the x of a curve point is refused, not thrown', () => {
  const signed = signedCase(8);
  // x = 5 has no point on secp256k1.
  assert.equal(verdict(withScalar(signed, 0, 5n)), false);
});

test('a signature that ends early is refused', () => {
  const { digest, signature, signer } = signedCase(9);
  for (const length of [0, 1, 64]) {
    assert.equal(verdict({ digest, signature: signature.subarray(0, length), signer }), false, `${length} bytes`);
  }
});

test('the zero address signs nothing', () => {
  const { digest, signature } = signedCase(10);
  assert.equal(verdict({ digest, signature, signer: new Uint8Array(ADDRESS_BYTES) }), false);
});

test('digest, signature and signer are read at their offsets, also from shared memory', () => {
  const { digest, signature, signer } = signedCase(11);
  const record = new Uint8Array(new SharedArrayBuffer(200)).fill(0x5a);
  record.set(digest, 3);
  record.set(signature, 40);
  record.set(signer, 120);
  for (const verifier of [noble, kernel, recovering, native ?? noble]) {
    assert.ok(verifier.verify(record, 3, record, 40, record, 120), verifier.name);
    assert.ok(!verifier.verify(record, 4, record, 40, record, 120), verifier.name);
  }
});

test('digests of zero, of the order of the curve and around it are taken as recovery takes them', () => {
  const { signature } = signedCase(12);
  for (const value of [0n, 1n, N - 1n, N, N + 1n, 2n ** 256n - 1n]) {
    const edge: Case = { digest: wordOf(value), signature, signer: new Uint8Array(ADDRESS_BYTES) };
    edge.signer = recoveredAddress(edge);
    warm(edge);
    assert.equal(verdict(edge), true, `digest ${value}`);
    assert.equal(verdict({ ...edge, digest: wordOf(value ^ 2n) }), false);
  }
});

test('a point R whose x is not below the order of the curve is not the one that r names', () => {
  // Recovery takes r itself for x. R with x = n + r gives the same r modulo n, and another key.
  const { Fp, Fn } = Point;
  let r = 0n;
  let y = 0n;
  do {
    r++;
    const x = Fp.create(N + r);
    try {
      y = Fp.sqrt(Fp.add(Fp.mul(Fp.mul(x, x), x), 7n));
    } catch {
      y = 0n;
    }
  } while (y === 0n);
  const R = Point.fromAffine({ x: N + r, y });
  const [s, z] = [3n, 5n];
  const key = R.multiplyUnsafe(s).subtract(Point.BASE.multiplyUnsafe(z)).multiplyUnsafe(Fn.inv(r));
  // The private key is unknown, but a digest that fits can be computed for any point u G + v Q.
  const known = Point.BASE.multiplyUnsafe(11n).add(key.multiplyUnsafe(13n));
  const { x: knownR, y: knownY } = known.toAffine();
  const knownS = Fn.mul(knownR, Fn.inv(13n));
  const isHigh = knownS > N / 2n;
  const signer = keccak(key.toBytes(false).subarray(1)).slice(-ADDRESS_BYTES);
  const knownBit = Number(knownY & 1n) ^ (isHigh ? 1 : 0);
  const good = signatureOf(knownR, isHigh ? N - knownS : knownS, knownBit);
  warm({ digest: wordOf(Fn.mul(11n, knownS)), signature: good, signer });
  for (const bit of [0, 1]) {
    assert.equal(verdict({ digest: wordOf(z), signature: signatureOf(r, s, bit), signer }), false, `parity ${bit}`);
  }
});

test('a sum that meets the same point twice is the one that recovery finds', () => {
  // Of the key 1, whose table is the generator's: with z / s = r / s = m the sum is m G + m G.
  const signer = keccak(Point.BASE.toBytes(false).subarray(1)).slice(-ADDRESS_BYTES);
  const { Fn } = Point;
  let met = 0;
  for (let m = 1n; m < 16n; m++) {
    const { x, y } = Point.BASE.multiplyUnsafe(2n * m).toAffine();
    const s = Fn.mul(x, Fn.inv(m));
    if (s > N / 2n) continue;
    const twice: Case = { digest: wordOf(x), signature: signatureOf(x, s, Number(y & 1n)), signer };
    warm(twice);
    assert.equal(verdict(twice), true);
    assert.equal(verdict(withByte(twice, V_OFFSET, 27 + Number(~y & 1n))), false);
    met++;
  }
  assert.ok(met > 3, `${met} signatures`);
});

test(`all verifiers agree on ${MUTATIONS} seeded mutations`, () => {
  const random = seededBytes('mutations');
  const signed = Array.from({ length: 8 }, (_, signer) => signedCase(1000 + signer));
  for (const one of signed.slice(0, 6)) warm(one);
  let accepted = 0;
  for (let round = 0; round < MUTATIONS; round++) {
    const mutated = mutate(signed[round % signed.length], random);
    if (verdict(mutated, `round ${round} of the mutations`)) accepted++;
  }
  assert.ok(accepted > MUTATIONS / 8 && accepted < MUTATIONS / 2, `${accepted} accepted`);
});

/** The package is a peer in tests and benches only: without a binary for this platform there is one verifier less. */
function tryNative(): Verifier | undefined {
  try {
    return nativeVerifier(keccak);
  } catch {
    return undefined;
  }
}

/** The common verdict of all verifiers; the test fails if they differ. */
function verdict({ digest, signature, signer }: Case, label = ''): boolean {
  const expected = noble.verify(digest, 0, signature, 0, signer, 0);
  const actual = native?.verify(digest, 0, signature, 0, signer, 0) ?? expected;
  assert.equal(actual, expected, `noble and native disagree ${label}`);
  for (const [name, verifier] of Object.entries({ kernel, recovering })) {
    assert.equal(verifier.verify(digest, 0, signature, 0, signer, 0), expected, `${name}: not recovery's ${label}`);
  }
  return expected;
}

/** From here on `kernel` checks this signer against its tables. */
function warm({ digest, signature, signer }: Case): void {
  for (let i = 0; i < 2; i++) assert.ok(kernel.verify(digest, 0, signature, 0, signer, 0), 'a right signature');
}

function signatureOf(r: bigint, s: bigint, bit: number): Uint8Array {
  return Uint8Array.from([...wordOf(r), ...wordOf(s), 27 + bit]);
}

function wordOf(value: bigint): Uint8Array {
  return bytesOf(`0x${value.toString(16).padStart(64, '0')}`);
}

function signedCase(seed: number): Case {
  const random = seededBytes(`case ${seed}`);
  const privateKey = toHex(random(32));
  const { body, orderHash } = new OrderSigner(privateKey, DOMAIN, keccak).sign(randomDraft(random), { salt: '1' });
  assert.equal(orderHash.length, 66);
  return { digest: bytesOf(orderHash), signature: bytesOf(body.signature), signer: bytesOf(addressOf(privateKey)) };
}

/** One small change to one of the three inputs; now and then none, or one that keeps the signature valid. */
function mutate(signed: Case, random: Random): Case {
  const kind = below(random, 8);
  if (kind === 0) return signed;
  if (kind === 1) return withByte(signed, V_OFFSET, signed.signature[V_OFFSET] - 27);
  if (kind === 2) return withByte(signed, V_OFFSET, below(random, 256));
  if (kind === 3) return withScalar(signed, S_OFFSET, N - scalar(signed.signature, S_OFFSET));
  const copy = {
    digest: signed.digest.slice(),
    signature: signed.signature.slice(),
    signer: signed.signer.slice(),
  };
  const target = [copy.signature, copy.signature, copy.digest, copy.signer][kind - 4];
  target[below(random, target.length)] ^= 1 << below(random, 8);
  return copy;
}

function withByte(signed: Case, offset: number, value: number): Case {
  const signature = signed.signature.slice();
  signature[offset] = value;
  return { ...signed, signature };
}

function withScalar(signed: Case, offset: number, value: bigint): Case {
  const signature = signed.signature.slice();
  signature.set(wordOf(value), offset);
  return { ...signed, signature };
}

function scalar(signature: Uint8Array, offset: number): bigint {
  return BigInt(toHex(signature, offset, 32));
}

/** Straight from the curve library, low s or not. */
function recoveredAddress({ digest, signature }: Case): Uint8Array {
  const recovered = new secp256k1.Signature(
    scalar(signature, 0),
    scalar(signature, S_OFFSET),
    signature[V_OFFSET] - 27,
  );
  return keccak(recovered.recoverPublicKey(digest).toBytes(false).subarray(1)).slice(-ADDRESS_BYTES);
}

function randomDraft(random: Random): OrderDraft {
  return {
    market_id: '',
    token_id: uint256ToDecimal(random(32)),
    side: below(random, 2) === 0 ? 'BUY' : 'SELL',
    maker_amount: String(1 + below(random, 1e15)),
    taker_amount: String(1 + below(random, 1e15)),
    nonce: below(random, Number.MAX_SAFE_INTEGER),
    expiration: below(random, 2 ** 32),
    fee_rate_bps: below(random, 10_000),
    outcome_index: 0,
  };
}

function bytesOf(hex: string): Uint8Array {
  const out = new Uint8Array((hex.length - 2) / 2);
  assert.ok(tryParseHex(hex, out.length, out, 0));
  return out;
}

/** An integer from 0 up to, not including, `limit` (at most 2^53). */
function below(random: Random, limit: number): number {
  return Number(BigInt(toHex(random(16))) % BigInt(limit));
}

/** The same bytes for the same seed, without end: each call returns the next ones. */
function seededBytes(seed: string): Random {
  let calls = 0;
  return (length) => createHash('shake256', { outputLength: length }).update(`${seed}/${calls++}`).digest();
}
