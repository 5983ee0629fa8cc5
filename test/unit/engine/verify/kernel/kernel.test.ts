/** The kernel's verdicts and digests equal those of the reference, in a few cases; verify.test.ts has the many. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { VERDICT } from '../../../../../engine/verify/kernel/instance.ts';
import { Kernel, MOST_BATCH } from '../../../../../engine/verify/kernel/kernel.ts';
import { nobleVerifier } from '../../../../../engine/verify/noble.ts';
import { placeDigest } from '../../../../../engine/verify/placeDigest.ts';
import { SIDE } from '../../../../../shared/base/codes.ts';
import { toHex, tryParseHex } from '../../../../../shared/base/hex.ts';
import { addressOf } from '../../../../../shared/client/privateKey.ts';
import { domainSeparator, OrderHasher } from '../../../../../shared/crypto/eip712.ts';
import { keccak256 } from '../../../../../shared/crypto/keccak.ts';
import { COMMAND, packKind } from '../../../../../shared/wire/commands.ts';

const noble = nobleVerifier(keccak256);
const { PLACE } = COMMAND;

type Signed = { digest: Uint8Array; signature: Uint8Array; signer: Uint8Array };

function seeded(label: string): Uint8Array {
  return createHash('sha256').update(label).digest();
}

function sign(key: Uint8Array, digest: Uint8Array): Signed {
  const [bit, ...rs] = secp256k1.sign(digest, key, { prehash: false, format: 'recovered' });
  const signer = new Uint8Array(20);
  tryParseHex(addressOf(toHex(key)), 20, signer, 0);
  return { digest, signature: Uint8Array.from([...rs, 27 + bit]), signer };
}

function verdicts(kernel: Kernel, { digest, signature, signer }: Signed): boolean {
  const expected = noble.verify(digest, 0, signature, 0, signer, 0);
  assert.equal(kernel.verify(digest, 0, signature, 0, signer, 0), expected, toHex(signature));
  return expected;
}

test('a signature is accepted by recovery and against the signer kept, and no change of it', () => {
  const kernel = new Kernel();
  const other = seeded('other');
  for (let i = 0; i < 12; i++) {
    const signed = sign(seeded(`key ${i % 3}`), seeded(`digest ${i}`));
    assert.equal(verdicts(kernel, signed), true);
    for (const byte of [0, 31, 32, 63, 64]) {
      const signature = signed.signature.slice();
      signature[byte] ^= 1;
      assert.equal(verdicts(kernel, { ...signed, signature }), false);
    }
    assert.equal(verdicts(kernel, { ...signed, digest: other }), false);
    assert.equal(verdicts(kernel, { ...signed, signer: new Uint8Array(20) }), false);
  }
});

test('a signer is known from its first accepted signature on', () => {
  const kernel = new Kernel();
  const { digest, signature, signer } = sign(seeded('key'), seeded('digest'));
  const forged = signature.with(40, signature[40] ^ 1);
  assert.equal(kernel.isKnown(signer, 0), false);
  assert.equal(kernel.verify(digest, 0, forged, 0, signer, 0), false);
  assert.equal(kernel.isKnown(signer, 0), false);
  assert.equal(kernel.verify(digest, 0, signature, 0, signer, 0), true);
  assert.equal(kernel.isKnown(signer, 0), true);
  assert.equal(kernel.isKnown(digest, 0), false);
});

test('the digest of a record is that of the reference', () => {
  const kernel = new Kernel({ mostSigners: 8 });
  const hasher = new OrderHasher();
  const contract = seeded('contract').subarray(0, 20);
  hasher.setDomain(137, contract);
  kernel.setDomain(domainSeparator(137, contract));
  const word = 5;
  const words = new Uint32Array(word + PLACE.WORDS);
  const bytes = new Uint8Array(words.buffer);
  for (let i = 0; i < PLACE.BYTES; i++) bytes[word * 4 + i] = seeded(`byte ${i}`)[0];
  for (const field of ['makerAmount', 'takerAmount', 'expirationSec', 'nonce', 'minTakerNet'] as const) {
    words[word + PLACE[field] + 1] &= 0x1f_ffff;
  }
  for (const side of [SIDE.BUY, SIDE.SELL]) {
    words[word + PLACE.kind] = packKind(side, 1, 2, 3);
    const [expected, got] = [new Uint8Array(40), new Uint8Array(40)];
    placeDigest(hasher, words, bytes, word, expected, 8);
    kernel.placeDigest(words, word, got, 8);
    assert.equal(toHex(got), toHex(expected));
  }
});

/** The verdicts of a batch, undecided ones by a check alone. */
function batchVerdicts(kernel: Kernel, batch: readonly Signed[]): boolean[] {
  assert.ok(batch.length <= MOST_BATCH);
  kernel.beginBatch();
  for (const { digest, signature, signer } of batch) kernel.addToBatch(digest, 0, signature, 0, signer, 0);
  while (!kernel.stepBatch());
  return batch.map(({ digest, signature, signer }, index) => {
    const verdict = kernel.verdictOf(index);
    if (verdict === VERDICT.UNDECIDED) return kernel.verify(digest, 0, signature, 0, signer, 0);
    return verdict === VERDICT.ACCEPTED;
  });
}

/** Signs with the nonce `nonce`, so that signatures can share it. */
function signWith(nonce: bigint, key: Uint8Array, digest: Uint8Array): Signed {
  const { Fn, BASE } = secp256k1.Point;
  const { x, y } = BASE.multiply(nonce).toAffine();
  const s = Fn.div(Fn.add(Fn.fromBytes(digest), Fn.mul(x, Fn.fromBytes(key))), nonce);
  const isHigh = s > Fn.ORDER / 2n;
  const signer = new Uint8Array(20);
  tryParseHex(addressOf(toHex(key)), 20, signer, 0);
  const bit = Number(y & 1n) ^ Number(isHigh);
  return {
    digest,
    signature: Uint8Array.from([...Fn.toBytes(x), ...Fn.toBytes(isHigh ? -s + Fn.ORDER : s), bit]),
    signer,
  };
}

test('a batch of right signatures is accepted: of new and known signers, of one and of many', () => {
  const kernel = new Kernel();
  for (const signers of [1, 5, MOST_BATCH]) {
    for (let round = 0; round < 4; round++) {
      const size = round === 0 ? MOST_BATCH : 3 * round;
      const batch = Array.from({ length: size }, (_, i) => sign(seeded(`key ${i % signers}`), seeded(`${round} ${i}`)));
      assert.deepEqual(
        batchVerdicts(kernel, batch),
        batch.map(() => true),
      );
      for (const [index] of batch.entries()) assert.notEqual(kernel.verdictOf(index), VERDICT.REFUSED);
      if (round > 1) for (const [index] of batch.entries()) assert.equal(kernel.verdictOf(index), VERDICT.ACCEPTED);
    }
  }
});

test('equal signatures, equal nonces and opposite points do not disturb the sum of a batch', () => {
  const kernel = new Kernel();
  const keys = [seeded('a'), seeded('b')];
  const nonce = 0x1234567n;
  const { ORDER } = secp256k1.Point.Fn;
  const batch = [
    ...[nonce, nonce, ORDER - nonce, 1n, ORDER - 1n, 2n].flatMap((k, i) =>
      keys.map((key) => signWith(k, key, seeded(`digest ${i >> 1}`))),
    ),
    signWith(secp256k1.Point.Fn.fromBytes(keys[0]), keys[0], seeded('the nonce is the key')),
  ];
  for (const signed of batch) assert.equal(verdicts(kernel, signed), true);
  const all = [...batch, ...batch];
  assert.deepEqual(
    batchVerdicts(kernel, all),
    all.map(() => true),
  );
  for (const [index] of all.entries()) assert.equal(kernel.verdictOf(index), VERDICT.ACCEPTED);
});

test('one signature that is wrong is refused at every place of a batch, and no other', () => {
  const kernel = new Kernel();
  const right = Array.from({ length: 6 }, (_, i) => sign(seeded(`key ${i % 3}`), seeded(`digest ${i}`)));
  for (const signed of right) assert.ok(verdicts(kernel, signed));
  for (const place of right.keys()) {
    for (const byte of [0, 31, 33, 64]) {
      const signature = right[place].signature.slice();
      signature[byte] ^= 1;
      const batch = right.with(place, { ...right[place], signature });
      assert.deepEqual(
        batchVerdicts(kernel, batch),
        batch.map((_, index) => index !== place),
      );
    }
  }
});
