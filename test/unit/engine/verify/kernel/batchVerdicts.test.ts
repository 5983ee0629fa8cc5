/**
 * A batch accepts exactly what the reference accepts, for all sizes, all positions of a bad signature, and all
 * coincidences of points inside the sum.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERDICT } from '../../../../../engine/verify/kernel/instance.ts';
import { MOST_BATCH } from '../../../../../engine/verify/kernel/kernel.ts';
import { createKeccak } from '../../../../../shared/crypto/fastKeccak.ts';
import * as batches from '../../../../support/batchVerdicts.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr, timesOf } from '../../../../support/seeds.ts';
import * as signatures from '../../../../support/signatureCases.ts';
import { asks, describeCase, SignatureOracle } from '../../../../support/signatureOracle.ts';

const { batchVerdicts, createBatchVerifier, decided } = batches;
const { edgeCases, G, LAMBDA, MUTATIONS, mutated, N, pointWithY, SignatureMaker } = signatures;
type SignatureCase = signatures.SignatureCase;

const keccak = await createKeccak();
const SEED = seedOr(1);
const NOBLE_EVERY = 16;
const RANDOM_BATCHES = timesOf({ suite: 20, soak: 5_000 });

function rig() {
  const random = new Random(SEED);
  const maker = new SignatureMaker(keccak, random);
  const kernel = createBatchVerifier();
  const oracle = new SignatureOracle(keccak, NOBLE_EVERY);
  const verdicts = new WeakMap<SignatureCase, boolean>();
  /** Asked once for each case: batches share their members. */
  const expected = (one: SignatureCase): boolean => {
    const verdict = verdicts.get(one) ?? oracle.expected(one);
    verdicts.set(one, verdict);
    return verdict;
  };
  /** After this the kernel knows the signers' keys and has their tables. */
  const know = (cases: readonly SignatureCase[]): void => {
    for (const one of cases) for (let i = 0; i < 3; i++) assert.equal(asks(kernel, one), expected(one));
  };
  const agrees = (cases: readonly SignatureCase[], what: string): void => {
    const actual = decided(kernel, cases);
    for (const [index, one] of cases.entries()) {
      const place = `${what}, ${index} of ${cases.length}, seed ${SEED}, ${describeCase(one)}`;
      assert.equal(actual[index], expected(one), place);
    }
  };
  /** Like `agrees`; in addition the batch itself has to accept everything, so that good orders do not fall back. */
  const accepts = (cases: readonly SignatureCase[], what: string): void => {
    for (const one of cases) assert.ok(expected(one), describeCase(one));
    const actual = batchVerdicts(kernel, cases);
    assert.deepEqual(actual, new Array(cases.length).fill(VERDICT.ACCEPTED), `${what}, seed ${SEED}`);
  };
  /** A batch with one bad signature accepts no bad and refuses no good one. */
  const notices = (cases: readonly SignatureCase[], what: string): void => {
    for (const [index, verdict] of batchVerdicts(kernel, cases).entries()) {
      const wrong = expected(cases[index]) ? VERDICT.REFUSED : VERDICT.ACCEPTED;
      assert.notEqual(verdict, wrong, `${what}, ${index}, seed ${SEED}, ${describeCase(cases[index])}`);
    }
  };
  return { random, maker, kernel, expected, know, agrees, accepts, notices };
}

test(`batches of every size with a bad signature at every position, one signer and many, seed ${SEED}`, () => {
  const { random, maker, know, accepts, notices, agrees } = rig();
  for (const signers of timesOf({ suite: [1, MOST_BATCH], soak: [1, 2, 5, 16, MOST_BATCH] })) {
    const people = Array.from({ length: signers }, () => maker.signer());
    const good = Array.from({ length: MOST_BATCH }, (_, index) => maker.next(people[index % signers]));
    know(good);
    // Only well-formed signatures: ill-formed ones are refused before they enter a sum.
    const kinds = ['a bit of the digest', 'a bit of s', 'the other parity', 'the signer of another'] as const;
    const bad = good.map((one, index) => mutated(one, maker.next(maker.signer()), kinds[index % kinds.length], random));
    for (let size = 1; size <= MOST_BATCH; size++) {
      const members = good.slice(0, size);
      accepts(members, `${size} good ones of ${signers}`);
      for (let position = 0; position < size; position++) {
        const spoilt = members.with(position, bad[position]);
        notices(spoilt, `bad at ${position} of ${size} of ${signers} signers`);
      }
      agrees(members.with(random.below(size), random.pick(bad)), `one bad of ${size} of ${signers} signers`);
    }
  }
});

test(`equal nonces, opposite nonces, the same signature twice and keys that are nonces, seed ${SEED}`, () => {
  const { random, maker, know, accepts, agrees, notices } = rig();
  const [ann, bob] = [maker.signer(), maker.signer()];
  const k = maker.scalar();
  const same = [maker.sign(ann, k), maker.sign(bob, k), maker.sign(ann, k), maker.sign(bob, k)];
  const opposite = [maker.sign(ann, N - k), maker.sign(bob, N - k)];
  const good = maker.next(ann);
  const images = [1n, LAMBDA, N - 1n - LAMBDA].flatMap((factor) => [
    maker.sign(ann, (k * factor) % N),
    maker.sign(bob, N - ((k * factor) % N)),
  ]);
  const ofKeys = [maker.sign(ann, bob.privateKey), maker.sign(bob, ann.privateKey), maker.sign(ann, ann.privateKey)];
  const againstKeys = [maker.sign(bob, N - bob.privateKey), maker.sign(ann, N - bob.privateKey)];
  const groups: [string, SignatureCase[]][] = [
    ['equal nonces', same],
    ['opposite nonces', [...same, ...opposite]],
    ['the same signature', [good, good]],
    ['the same signature often', new Array(MOST_BATCH).fill(good)],
    ['images under λ', images],
    ['nonces that are keys', [...ofKeys, ...againstKeys]],
    ['all of it', [...same, ...opposite, good, good, ...images, ...ofKeys, ...againstKeys]],
  ];
  for (const [name, members] of groups) {
    know(members);
    for (let round = 0; round < 4; round++) accepts(members, name);
    for (const position of members.keys()) {
      const turned = mutated(members[position], good, 'the other parity', random);
      notices(members.with(position, turned), `${name}, parity`);
      agrees([...members.slice(1), turned], `${name}, equal x and the wrong parity`);
    }
  }
});

test(`signers whose keys are small multiples of G, opposite to each other or images, seed ${SEED}`, () => {
  const { maker, know, accepts, notices } = rig();
  const d = maker.scalar();
  const keys = [1n, 2n, 3n, N - 1n, N - 2n, LAMBDA, N - LAMBDA, N - 1n - LAMBDA, 1n << 64n, d, N - d, (d * LAMBDA) % N];
  const people = keys.map((key) => maker.signer(key));
  const nonces = [1n, 2n, N - 1n, LAMBDA, N - LAMBDA, 1n << 64n, (1n << 64n) - 1n, 1n << 127n, 1n << 128n];
  const all = people.flatMap((person) => nonces.map((nonce) => maker.sign(person, nonce)));
  know(people.map((person) => maker.next(person)));
  for (let start = 0; start < all.length; start += MOST_BATCH) accepts(all.slice(start, start + MOST_BATCH), 'keys');
  // The key and its opposite have the same x, and the digests are exchanged.
  const [one, two] = [maker.sign(people[9], 5n), maker.sign(people[10], 5n)];
  notices([one, { ...two, digest: one.digest }], 'opposite keys');
  // Sums that are zero already, before the last point is subtracted.
  const zeros = people.flatMap((person) => [
    maker.constructed('u1 G = u2 Q', person.key, person.privateKey, 1n),
    maker.constructed('u1 = 0', person.key, 0n, 1n),
    maker.constructed('u1 = 0, opposite', person.key, 0n, N - 1n),
    maker.constructed('R = G', G, 0n, 1n),
  ]);
  const members = zeros.filter((one) => one !== null);
  know(members);
  for (let start = 0; start < members.length; start += 8) accepts(members.slice(start, start + 8), 'constructed');
});

test(`the same point many times, with coordinates near p: no sum of products is too large, seed ${SEED}`, () => {
  const { maker } = rig();
  // With equal coefficients all terms of R are equal, so every addition of a batch is a doubling.
  const random = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = 0x11 + 0x4a * (at % 16);
  };
  const kernel = createBatchVerifier({ random });
  for (let y = 1n; y < 40n; y++) {
    const point = pointWithY(y);
    if (point === null) continue;
    for (const odd of [true, false]) {
      const one = maker.recovering(`y = ${y} or p - ${y}`, point.x, maker.scalar() >> 1n, odd, maker.scalar());
      if (one === null) continue;
      assert.ok(asks(kernel, one) && asks(kernel, one), one.label);
      const verdicts = batchVerdicts(kernel, new Array(MOST_BATCH).fill(one));
      assert.deepEqual(verdicts, new Array(MOST_BATCH).fill(VERDICT.ACCEPTED), one.label);
    }
  }
});

test(`edges of the arithmetic are decided in batches as they are alone, seed ${SEED}`, () => {
  const { maker, expected, know, accepts, agrees } = rig();
  const cases = edgeCases(maker);
  agrees(cases.slice(0, MOST_BATCH), 'signers that nothing is known about');
  know(cases);
  const good = cases.filter(expected);
  for (let start = 0; start < good.length; start += MOST_BATCH) {
    accepts(good.slice(start, start + MOST_BATCH), `edges from ${start}`);
  }
  for (let start = 0; start < cases.length; start += 7) agrees(cases.slice(start, start + 7), `mixed from ${start}`);
});

test(`${RANDOM_BATCHES} random batches of good, mutated and unknown ones, seed ${SEED}`, () => {
  const { random, maker, agrees } = rig();
  const people = Array.from({ length: 8 }, () => maker.signer());
  const pool = Array.from({ length: 200 }, () => {
    const one = maker.next(random.chance(5) ? maker.signer() : random.pick(people));
    return random.chance(70) ? one : mutated(one, maker.next(random.pick(people)), random.pick(MUTATIONS), random);
  });
  for (let round = 0; round < RANDOM_BATCHES; round++) {
    const members = Array.from({ length: random.between(1, MOST_BATCH) }, () => random.pick(pool));
    agrees(members, `batch ${round}`);
  }
});

test('a batch that is begun forgets the one before, decided or not', () => {
  const { maker, kernel, know, random } = rig();
  const ann = maker.signer();
  const [good, other] = [maker.next(ann), maker.next(ann)];
  know([good, other]);
  const bad = mutated(good, other, 'the digest of another', random);
  kernel.beginBatch();
  kernel.addToBatch(bad.digest, 0, bad.signature, 0, bad.signer, 0);
  kernel.stepBatch();
  assert.deepEqual(batchVerdicts(kernel, [good, other]), [VERDICT.ACCEPTED, VERDICT.ACCEPTED]);
  assert.deepEqual(decided(kernel, [bad, other]), [false, true]);
  assert.ok(asks(kernel, good), 'and alone');
});

test('members of a batch are read when they are added: later changes of their bytes change nothing', () => {
  const { maker, kernel, know } = rig();
  const ann = maker.signer();
  const [good, other] = [maker.next(ann), maker.next(ann)];
  know([good, other]);
  const [digest, signature, signer] = [good.digest.slice(), good.signature.slice(), good.signer.slice()];
  kernel.beginBatch();
  kernel.addToBatch(digest, 0, signature, 0, signer, 0);
  for (const bytes of [digest, signature, signer]) bytes.fill(0x55);
  kernel.addToBatch(other.digest, 0, other.signature, 0, other.signer, 0);
  while (!kernel.stepBatch());
  assert.deepEqual([kernel.verdictOf(0), kernel.verdictOf(1)], [VERDICT.ACCEPTED, VERDICT.ACCEPTED]);
});

test(`checks alone between any two steps disturb no batch, and no batch disturbs them, seed ${SEED}`, () => {
  const { random, maker } = rig();
  // One set of eight: every new signer needs the slot of one that the batch needs.
  const kernel = createBatchVerifier({ mostSigners: 8 });
  const people = Array.from({ length: 5 }, () => maker.signer());
  const others = Array.from({ length: 12 }, () => maker.next(maker.signer()));
  for (let round = 0; round < 12; round++) {
    const members = Array.from({ length: 24 }, (_, index) => maker.next(people[index % people.length]));
    const bad = mutated(members[3], members[4], 'the digest of another', random);
    for (const spoilt of [members, members.with(random.below(members.length), bad)]) {
      // Once each, so that the batch, or a check in between, makes the tables of a displaced signer.
      for (const one of members.slice(0, people.length)) assert.ok(asks(kernel, one));
      kernel.beginBatch();
      for (const { digest, signature, signer } of spoilt) kernel.addToBatch(digest, 0, signature, 0, signer, 0);
      do {
        for (const one of [random.pick(others), random.pick(others), random.pick(members)])
          assert.ok(asks(kernel, one));
        assert.ok(!asks(kernel, bad));
      } while (!kernel.stepBatch());
      const verdicts = new Set(spoilt.map((_, index) => kernel.verdictOf(index)));
      const expected = spoilt === members ? VERDICT.ACCEPTED : VERDICT.UNDECIDED;
      assert.deepEqual([...verdicts], [expected], `round ${round}`);
    }
  }
});

test(`a cache of few signers changes no verdict, and neither does none, seed ${SEED}`, () => {
  const { random, maker, expected } = rig();
  const people = Array.from({ length: 30 }, () => maker.signer());
  const pool = Array.from({ length: 90 }, (_, index) => {
    const one = maker.next(people[index % people.length]);
    return index % 3 === 0 ? mutated(one, maker.next(people[0]), random.pick(MUTATIONS), random) : one;
  });
  for (const options of [{ mostSigners: 8 }, { mostSigners: 16 }, { keepsTables: false }]) {
    const kernel = createBatchVerifier(options);
    for (let round = 0; round < 12; round++) {
      const members = Array.from({ length: random.between(1, MOST_BATCH) }, () => random.pick(pool));
      for (const [index, verdict] of decided(kernel, members).entries()) {
        assert.equal(verdict, expected(members[index]), describeCase(members[index]));
      }
    }
  }
});
