/** The kernel's verdict on one signature equals the reference's, whatever was signed and whatever was changed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeccak } from '../../../../../shared/crypto/fastKeccak.ts';
import { createBatchVerifier } from '../../../../support/batchVerdicts.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr, timesOf } from '../../../../support/seeds.ts';
import {
  edgeCases,
  MUTATIONS,
  mutated,
  type SignatureCase,
  SignatureMaker,
} from '../../../../support/signatureCases.ts';
import { asks, describeCase, SignatureOracle } from '../../../../support/signatureOracle.ts';

const keccak = await createKeccak();
const SEED = seedOr(1);
const MUTATED = timesOf({ suite: 300, soak: 100_000 });
const NOBLE_EVERY = timesOf({ suite: 16, soak: Number(process.env['NOBLE_EVERY'] ?? 8) });
const SIGNERS = timesOf({ suite: 12, soak: 200 });

function rig(seed = SEED) {
  const random = new Random(seed);
  const maker = new SignatureMaker(keccak, random);
  const kernel = createBatchVerifier();
  const oracle = new SignatureOracle(keccak, NOBLE_EVERY);
  /** The verdict that both give. */
  const verdict = (one: SignatureCase, how = ''): boolean => {
    const actual = asks(kernel, one);
    const expected = oracle.expected(one, actual);
    assert.equal(actual, expected, `${how} seed ${seed}, ${describeCase(one)}`);
    return expected;
  };
  return { random, maker, kernel, oracle, verdict };
}

test(`edges of the arithmetic are decided as the reference decides them, seed ${SEED}`, () => {
  const { maker, kernel, verdict } = rig();
  const cases = edgeCases(maker);
  let accepted = 0;
  for (const one of cases) {
    const expected = verdict(one);
    if (expected) accepted++;
    // The second order makes the tables of its signer, and the third one is checked against them.
    for (const how of ['second', 'third']) assert.equal(asks(kernel, one), expected, `${how}, ${describeCase(one)}`);
  }
  assert.ok(accepted > cases.length / 3 && accepted < cases.length, `${accepted} of ${cases.length} accepted`);
});

test(`${MUTATED} random and mutated signatures of known and new signers, seed ${SEED}`, () => {
  const { random, maker, verdict, oracle } = rig();
  const signers = Array.from({ length: SIGNERS }, () => maker.signer());
  let accepted = 0;
  let other = maker.next(signers[0]);
  for (let asked = 0; asked < MUTATED; ) {
    // One in sixteen is of a signer that was never seen.
    const one = maker.next(random.chance(6) ? maker.signer() : random.pick(signers));
    const kinds = [random.pick(MUTATIONS), random.pick(MUTATIONS), random.pick(MUTATIONS)];
    for (const asks of [one, ...kinds.map((kind) => mutated(one, other, kind, random))]) {
      if (verdict(asks)) accepted++;
      asked++;
    }
    other = one;
  }
  assert.ok(accepted > MUTATED / 4 && accepted < MUTATED / 2, `${accepted} accepted`);
  assert.ok(oracle.byNoble >= MUTATED / NOBLE_EVERY, `${oracle.byNoble} asked of the reference`);
});

test(`every bit of digest, signature and signer counts, seed ${SEED}`, () => {
  const { maker, verdict } = rig();
  const one = maker.next(maker.signer());
  assert.ok(verdict(one) && verdict(one) && verdict(one));
  for (const part of ['digest', 'signature', 'signer'] as const) {
    const bytes = one[part];
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      bytes[bit >> 3] ^= 1 << (bit & 7);
      assert.equal(verdict({ ...one, label: `bit ${bit} of the ${part}` }), false);
      bytes[bit >> 3] ^= 1 << (bit & 7);
    }
  }
  assert.ok(verdict(one), 'and unchanged it is good again');
});

test(`each kind of change is decided alike for a known signer and for a new one, seed ${SEED}`, () => {
  const { random, maker, verdict } = rig();
  for (const kind of MUTATIONS) {
    const [known, fresh] = [maker.signer(), maker.signer()];
    const other = maker.next(known);
    for (let i = 0; i < 3; i++) assert.ok(verdict(other));
    for (const signer of [fresh, known]) verdict(mutated(maker.next(signer), other, kind, random), kind);
  }
});
