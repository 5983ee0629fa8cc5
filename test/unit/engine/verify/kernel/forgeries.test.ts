/**
 * A batch with a forged signature is never accepted. What makes that so is that the coefficients are random: forgeries
 * whose errors cancel are the attack on a batch whose coefficients can be guessed.
 *
 * The error of a forgery here is e G: its digest is z + e s, so that u1 is larger by e. With the coefficients a_i a
 * batch sums to that of a_i e_i, times G.
 */
import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { test } from 'node:test';
import { VERDICT } from '../../../../../engine/verify/kernel/instance.ts';
import { MOST_BATCH } from '../../../../../engine/verify/kernel/kernel.ts';
import { createKeccak } from '../../../../../shared/crypto/fastKeccak.ts';
import { batchVerdicts, createBatchVerifier } from '../../../../support/batchVerdicts.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr, timesOf } from '../../../../support/seeds.ts';
import {
  LAMBDA,
  mutated,
  N,
  numberAt,
  Point,
  S_OFFSET,
  type SignatureCase,
  SignatureMaker,
  wordOf,
} from '../../../../support/signatureCases.ts';
import { asks, describeCase } from '../../../../support/signatureOracle.ts';

const SEED = seedOr(1);
const { Fn } = Point;
const keccak = await createKeccak();
const BATCHES = timesOf({ suite: 1000, soak: 2 ** 20 });
const CANCELLING = timesOf({ suite: 150, soak: 20_000 });
/** The kernel draws this many bytes before the first coefficient. */
const SECRET_BYTES = 24;
const COEFFICIENT_BYTES = 16;
/** Fewer are checked one by one. */
const LEAST_TOGETHER = 3;
/** Well-formed, so that they enter the sum. */
const FORGERIES = ['a bit of the digest', 'a bit of s', 'the other parity', 'the digest of another'] as const;

function rig(kernel = createBatchVerifier()) {
  const random = new Random(SEED);
  const maker = new SignatureMaker(keccak, random);
  const people = Array.from({ length: 6 }, () => maker.signer());
  const good = Array.from({ length: 48 }, (_, index) => maker.next(people[index % people.length]));
  for (const one of good) assert.ok(asks(kernel, one));
  return { random, maker, kernel, people, good };
}

/** The same signature with the error e G. */
function withError(one: SignatureCase, e: bigint): SignatureCase {
  const s = numberAt(one.signature, S_OFFSET);
  return { ...one, label: `error ${e}`, digest: wordOf(Fn.create(numberAt(one.digest, 0) + Fn.create(e) * s)) };
}

function isAccepted(kernel: ReturnType<typeof createBatchVerifier>, batch: readonly SignatureCase[]): boolean {
  return batchVerdicts(kernel, batch).every((verdict) => verdict === VERDICT.ACCEPTED);
}

test(`${BATCHES} batches with one forged signature: none is accepted, seed ${SEED}`, () => {
  const { random, kernel, people, good } = rig();
  const forged = good.map((one) => mutated(one, good[7 - (one === good[7] ? 1 : 0)], random.pick(FORGERIES), random));
  for (const one of forged) assert.ok(!asks(kernel, one), one.label);
  const bySigner = people.map(({ address }) => good.filter(({ signer }) => signer === address));
  for (let round = 0; round < BATCHES; round++) {
    // Mostly small batches of one signer: a larger sum has no other way to be wrong.
    const isLarge = random.chance(2);
    const size = isLarge ? random.between(4, MOST_BATCH) : LEAST_TOGETHER;
    const members = isLarge ? good : random.pick(bySigner);
    const batch = Array.from({ length: size }, () => random.pick(members));
    const place = random.below(size);
    batch[place] = random.pick(forged);
    const verdicts = batchVerdicts(kernel, batch);
    assert.notEqual(verdicts[place], VERDICT.ACCEPTED, `round ${round}, ${describeCase(batch[place])}`);
  }
});

test(`${CANCELLING} batches of forgeries whose errors cancel, or would with related coefficients, seed ${SEED}`, () => {
  const { random, maker, kernel, good } = rig();
  const [third, two64] = [Fn.inv(3n), 1n << 64n];
  /** Errors whose sum would be zero if coefficients were equal, opposite, multiples or images of each other. */
  const families: readonly (readonly bigint[])[] = [
    [1n, N - 1n, 0n],
    [1n, 1n, N - 2n],
    [1n, 1n, 0n],
    [1n, LAMBDA, N - 1n - LAMBDA],
    [1n, N - LAMBDA, 0n],
    [1n, LAMBDA, 0n],
    [2n, N - 1n, 0n],
    [two64, N - 1n, 0n],
    [third, third, third],
    [1n, N - 2n, 1n],
    [1n, N - 3n, 3n, N - 1n],
  ];
  for (let round = 0; round < CANCELLING; round++) {
    const factor = round % 2 === 0 ? 1n : maker.scalar();
    const errors = families[round % families.length].map((error) => Fn.mul(error, factor));
    const first = random.below(good.length - errors.length);
    const forged = errors.map((error, index) => {
      const one = good[first + index];
      return error === 0n ? one : withError(one, error);
    });
    const batch = [...forged, ...good.slice(0, random.below(8))];
    if (random.chance(50)) batch.reverse();
    assert.ok(!isAccepted(kernel, batch), `round ${round}, errors ${errors}`);
  }
});

test('errors cancel when the coefficients are known beforehand, and any flipped bit of those undoes it', () => {
  const coefficients = [0x8f1e2d3c4b5a6978n, 0x0123456789abcdefn, 0xf00dfacecafe1234n, 0x7edcba9876543211n];
  const chunk = new Uint8Array(3 * COEFFICIENT_BYTES);
  const view = new DataView(chunk.buffer);
  for (const [index, word] of coefficients.entries()) view.setBigUint64(8 * index, word, true);
  view.setBigUint64(2 * COEFFICIENT_BYTES, 99n, true);
  const [a0, a1] = [0, 1].map((index) => {
    const [b, c] = coefficients.slice(2 * index).map((word) => BigInt.asIntN(64, word));
    return Fn.create(b + c * LAMBDA);
  });
  /** Flips a bit of the batch that draws, unless there is none. */
  let flips: (number | null)[] = [];
  let isFirst = true;
  const random = (bytes: Uint8Array): void => {
    bytes.fill(0);
    for (let at = isFirst ? SECRET_BYTES : 0; at + chunk.length <= bytes.length; at += chunk.length) {
      bytes.set(chunk, at);
      const flip = flips.shift() ?? null;
      if (flip !== null) bytes[at + (flip >> 3)] ^= 1 << (flip & 7);
    }
    isFirst = false;
  };
  const bits = Array.from({ length: 16 * COEFFICIENT_BYTES }, (_, bit) => bit);
  flips = [null, ...bits, null];
  const { kernel, good } = rig(createBatchVerifier({ random }));
  const batch = [withError(good[0], a1), withError(good[1], Fn.neg(a0)), good[2]];
  assert.ok(isAccepted(kernel, batch), 'whoever knows the coefficients can forge');
  for (const bit of bits) assert.ok(!isAccepted(kernel, batch), `bit ${bit} counts`);
  assert.ok(isAccepted(kernel, batch), 'and again with the first coefficients');
  assert.ok(!asks(kernel, batch[0]) && !asks(kernel, batch[1]), 'alone they are refused');
});

test('every batch has coefficients of its own, drawn once it is complete, and no signature joins afterwards', () => {
  let drawn = 0;
  const random = (bytes: Uint8Array): void => {
    randomFillSync(bytes);
    drawn += bytes.length;
  };
  const { kernel, good } = rig(createBatchVerifier({ random }));
  const perFill = drawn;
  let used = SECRET_BYTES;
  for (let round = 0; round < 40; round++) {
    kernel.beginBatch();
    for (const one of good.slice(0, MOST_BATCH)) kernel.addToBatch(one.digest, 0, one.signature, 0, one.signer, 0);
    while (!kernel.stepBatch());
    used += MOST_BATCH * COEFFICIENT_BYTES;
    assert.ok(drawn >= used, `${drawn} bytes were drawn and ${used} are needed`);
  }
  assert.ok(drawn < used + 2 * perFill + 40 * COEFFICIENT_BYTES, 'as many as that takes');
  kernel.beginBatch();
  for (const one of good.slice(0, 3)) kernel.addToBatch(one.digest, 0, one.signature, 0, one.signer, 0);
  kernel.stepBatch();
  assert.throws(() => kernel.addToBatch(good[4].digest, 0, good[4].signature, 0, good[4].signer, 0), /KERNEL-2/);
});

test('KERNEL-2: where no coefficients can be drawn the batch has no step, and the next step draws them', () => {
  let fills = 0;
  const random = (bytes: Uint8Array): void => {
    // The first fill has the secrets of the cache.
    if (++fills === 2) throw new Error('no random bytes');
    randomFillSync(bytes);
  };
  const { kernel, good } = rig(createBatchVerifier({ random }));
  // Errors that cancel if all coefficients are equal, as in memory that was never written.
  const batch = [withError(good[0], 1n), withError(good[1], N - 1n), good[2]];
  for (let wasRefused = false; ; ) {
    kernel.beginBatch();
    for (const one of batch) kernel.addToBatch(one.digest, 0, one.signature, 0, one.signer, 0);
    try {
      kernel.stepBatch();
    } catch (error) {
      assert.match(String(error), /no random bytes/);
      wasRefused = true;
    }
    while (!kernel.stepBatch());
    for (const index of [0, 1]) assert.notEqual(kernel.verdictOf(index), VERDICT.ACCEPTED);
    if (wasRefused) break;
  }
  assert.ok(isAccepted(kernel, good.slice(0, 3)));
});

test('coefficients of zero leave no signature out of the sum', () => {
  const { kernel, good } = rig(createBatchVerifier({ random: (bytes) => bytes.fill(0) }));
  for (let index = 0; index < 3; index++) {
    const batch = good.slice(0, 3).with(index, withError(good[index], 1n));
    assert.ok(!isAccepted(kernel, batch), `forged at ${index}`);
  }
  assert.ok(isAccepted(kernel, good.slice(0, 3)));
});
