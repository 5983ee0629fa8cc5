/** Some signature checks are made again by the reference, and one difference takes the fast verifier out of service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';
import type { Kernel } from '../../../../engine/verify/kernel/kernel.ts';
import { KernelDigests } from '../../../../engine/verify/kernelDigests.ts';
import { nobleVerifier } from '../../../../engine/verify/noble.ts';
import { digestsBy, LoneChecks, type OrderChecks, type OrderDigests } from '../../../../engine/verify/orderChecks.ts';
import { placeDigest } from '../../../../engine/verify/placeDigest.ts';
import { ShardChecks } from '../../../../engine/verify/shardChecks.ts';
import { SPOT_EVERY, SpotChecked, SpotChecker } from '../../../../engine/verify/spotCheck.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../../../shared/base/hex.ts';
import { hasherFor } from '../../../../shared/crypto/eip712.ts';
import { createKeccak } from '../../../../shared/crypto/fastKeccak.ts';
import { SIGNATURE_BYTES } from '../../../../shared/crypto/signature.ts';
import { COMMAND, packKind } from '../../../../shared/wire/commands.ts';
import { createSpotMemory, SPOT_SLOTS, SpotCounts } from '../../../../shared/wire/spotLayout.ts';
import type { SpotMessage, SpotOptions } from '../../../../shared/wire/threads.ts';
import { DOMAIN } from '../../../support/engine.ts';
import { Random } from '../../../support/random.ts';
import { mutated, type SignatureCase, SignatureMaker } from '../../../support/signatureCases.ts';

const { PLACE } = COMMAND;
const SHARD = 1;
const SHARDS = 3;
/**
 * In these tests the salt of an order is its digest, and an order whose salt begins with an even byte counts as signed.
 */
const DIGESTS: OrderDigests = {
  setDomain: () => {},
  isFor: () => true,
  placeDigest: (_words, bytes, word, out, outOffset) => {
    out.set(bytes.subarray((word + PLACE.salt) * 4, (word + PLACE.salt) * 4 + HASH_BYTES), outOffset);
  },
};

/** Counts the questions. */
class Judge implements Verifier {
  asked = 0;
  lies = false;
  readonly name = 'noble';

  verify(digest: Uint8Array, digestOffset: number): boolean {
    this.asked++;
    return (digest[digestOffset] % 2 === 0) !== this.lies;
  }
}

type Order = { readonly words: Uint32Array; readonly bytes: Uint8Array };

/** Asks as the engine does about an order. */
function asks(checks: OrderChecks, { words, bytes }: Order): boolean {
  checks.writeHash(words, bytes, 0);
  return checks.isSigned(words, bytes, 0);
}

function order({ digest, signature, signer }: Omit<SignatureCase, 'label'>): Order {
  const words = new Uint32Array(PLACE.WORDS);
  const bytes = new Uint8Array(words.buffer);
  bytes.set(digest, PLACE.salt * 4);
  bytes.set(signature, PLACE.signature * 4);
  bytes.set(signer, PLACE.signerAddress * 4);
  return { words, bytes };
}

function question(number: number, isRight = true): Order {
  const signer = new Uint8Array(ADDRESS_BYTES);
  new DataView(signer.buffer).setUint32(0, number * 0x10001);
  const digest = new Uint8Array(HASH_BYTES).fill(isRight ? 2 : 1);
  return order({ digest, signature: new Uint8Array(SIGNATURE_BYTES).fill(number), signer });
}

function rig(every = SPOT_EVERY) {
  const memory = createSpotMemory(SHARDS);
  const [fast, reference, judge] = [new Judge(), new Judge(), new Judge()];
  const checks = new LoneChecks(DIGESTS, fast);
  const make = (shard: number): SpotChecked =>
    new SpotChecked({ memory, shard, checks, digests: DIGESTS, reference, every });
  const checker = new SpotChecker(memory, SHARDS, judge);
  const drain = (): number => {
    let count = 0;
    while (checker.next() !== undefined) count++;
    return count;
  };
  return { memory, fast, reference, judge, make, shard: make(SHARD), checker, drain, counts: new SpotCounts(memory) };
}

test('the first accepted order of every signer is asked again, and then one check in so many', () => {
  const { shard, drain, counts } = rig(10);
  for (const signer of [1, 2, 3, 1, 2, 3, 1]) assert.ok(asks(shard, question(signer)));
  assert.equal(drain(), 3);
  for (let i = 0; i < 40; i++) asks(shard, question(1));
  assert.equal(drain(), 4);
  assert.equal(counts.checked(SHARD), 7);
  assert.equal(counts.checked(0), 0);
  assert.equal(counts.differences(SHARD), 0);
});

test('a refused order makes no signer known, and refused ones are asked again now and then', () => {
  const { shard, judge, drain } = rig(10);
  for (let i = 0; i < 9; i++) assert.equal(asks(shard, question(1, false)), false);
  assert.equal(drain(), 0);
  assert.equal(asks(shard, question(1, false)), false);
  assert.equal(drain(), 1);
  assert.ok(asks(shard, question(1)));
  assert.equal(drain(), 1, 'his first accepted one');
  assert.equal(judge.asked, 2);
});

test('places in a batch are all asked: the distance of two checks has no factor in common with any size', () => {
  for (let size = 2; size <= 64; size++) assert.notEqual(SPOT_EVERY % size, 0, `batches of ${size}`);
});

test('a full queue costs no wait: it is counted, and the signers without room are asked with a later order', () => {
  const { shard, drain, counts } = rig();
  const late = 20;
  for (let signer = 1; signer <= SPOT_SLOTS + late; signer++) assert.ok(asks(shard, question(signer)));
  assert.equal(counts.missed(SHARD), late);
  assert.equal(drain(), SPOT_SLOTS);
  for (let signer = 1; signer <= SPOT_SLOTS + late; signer++) assert.ok(asks(shard, question(signer)));
  assert.equal(drain(), late);
});

for (const [what, isRight] of [
  ['accepts what the reference refuses', false],
  ['refuses what the reference accepts', true],
] as const) {
  test(`a fast verifier that ${what} is out of service from the next order on, also after a restart`, () => {
    const { make, shard, fast, reference, checker, counts } = rig(1);
    fast.lies = true;
    const one = question(6, isRight);
    assert.equal(asks(shard, one), !isRight);
    assert.equal(asks(shard, one), !isRight, 'nothing is known yet');
    assert.deepEqual(checker.next(), {
      shard: SHARD,
      accepted: !isRight,
      digest: toHex(one.bytes, PLACE.salt * 4, HASH_BYTES),
      signature: toHex(one.bytes, PLACE.signature * 4, SIGNATURE_BYTES),
      signer: toHex(one.bytes, PLACE.signerAddress * 4, ADDRESS_BYTES),
    });
    assert.equal(counts.differences(SHARD), 1);
    const { asked } = fast;
    assert.equal(asks(shard, one), isRight);
    assert.equal(asks(make(SHARD), one), isRight);
    assert.equal(fast.asked, asked);
    assert.equal(reference.asked, 2);
    asks(make(0), one);
    assert.equal(fast.asked, asked + 1, 'other shards go on');
  });
}

test('a wrong digest is noticed as well, and then the digest is the right one', () => {
  const { memory, fast, reference, checker } = rig();
  const wrong: OrderDigests = { ...DIGESTS, placeDigest: (_words, _bytes, _word, out, at) => out.fill(4, at, at + 32) };
  const parts = { memory, shard: SHARD, digests: DIGESTS, reference };
  const shard = new SpotChecked({ ...parts, checks: new LoneChecks(wrong, fast) });
  const one = question(6, false);
  assert.ok(asks(shard, one));
  assert.equal(one.bytes[PLACE.hash * 4], 4);
  assert.equal(checker.next()?.accepted, true);
  assert.equal(asks(shard, one), false);
  assert.equal(one.bytes[PLACE.hash * 4], 1);
});

test('a change of the signing domain reaches both', () => {
  const { memory, fast, reference } = rig();
  const domains: string[] = [];
  const digests = (name: string): OrderDigests => ({
    ...DIGESTS,
    setDomain: (chainId, exchange) => domains.push(`${name} ${chainId} ${exchange[0]}`),
    isFor: (chainId) => chainId === 5,
  });
  const checks = new LoneChecks(digests('fast'), fast);
  const shard = new SpotChecked({ memory, shard: SHARD, checks, digests: digests('right'), reference });
  shard.setDomain(5, new Uint8Array(ADDRESS_BYTES).fill(9));
  assert.deepEqual(domains, ['fast 5 9', 'right 5 9']);
  assert.ok(shard.isFor(5, new Uint8Array(ADDRESS_BYTES)) && !shard.isFor(6, new Uint8Array(ADDRESS_BYTES)));
});

test('checks of real orders are never different, before and after a change of the contracts', async () => {
  const keccak = await createKeccak();
  const random = new Random(2);
  const maker = new SignatureMaker(keccak, random);
  const people = Array.from({ length: 4 }, () => maker.signer());
  const kernel = createVerifier('kernel', keccak) as Kernel;
  const checks = new ShardChecks({ digests: new KernelDigests(kernel, hasherFor(DOMAIN, keccak)), verifier: kernel });
  const digests = digestsBy(hasherFor(DOMAIN, keccak));
  const reference = nobleVerifier(keccak);
  const memory = createSpotMemory(1);
  const shard = new SpotChecked({ memory, shard: 0, checks, digests, reference, every: 1 });
  const checker = new SpotChecker(memory, 1, reference);
  const hasher = hasherFor(DOMAIN, keccak);
  for (let round = 0; round < 60; round++) {
    if (round === 30) {
      const contract = maker.bytes(ADDRESS_BYTES);
      for (const each of [shard, hasher]) each.setDomain(8453, contract);
    }
    const signer = random.pick(people);
    const { words, bytes } = randomOrder(random, signer.address);
    const digest = new Uint8Array(HASH_BYTES);
    placeDigest(hasher, words, bytes, 0, digest, 0);
    const isGood = random.chance(70);
    const signed = maker.sign(signer, maker.scalar(), isGood ? BigInt(toHex(digest)) : maker.scalar());
    bytes.set(signed.signature, PLACE.signature * 4);
    assert.equal(asks(shard, { words, bytes }), isGood, `round ${round}`);
    assert.equal(toHex(bytes, PLACE.hash * 4, HASH_BYTES), toHex(digest));
    assert.equal(checker.next(), null, `round ${round}: asked again, and not different`);
  }
});

/** An order whose every field is random. */
function randomOrder(random: Random, signer: Uint8Array): Order {
  const words = Uint32Array.from({ length: PLACE.WORDS }, () => random.next());
  const bytes = new Uint8Array(words.buffer);
  for (const field of ['makerAmount', 'takerAmount', 'expirationSec', 'nonce', 'minTakerNet'] as const) {
    words[PLACE[field] + 1] &= 0x1f_ffff;
  }
  words[PLACE.kind] = packKind(random.below(2), random.below(2), 0, 0);
  bytes.set(signer, PLACE.signerAddress * 4);
  return { words, bytes };
}

test('questions go round in their queue for ever, in order and whole', () => {
  const { memory, make, counts } = rig(1);
  const seen: number[] = [];
  const recorder: Verifier = {
    name: 'noble',
    verify: (digest, digestOffset, signature, signatureOffset, signer, signerOffset) => {
      assert.equal(digest[digestOffset + 31], 2);
      assert.equal(signature[signatureOffset + 64], signer[signerOffset + 1]);
      seen.push(signature[signatureOffset]);
      return true;
    },
  };
  const checker = new SpotChecker(memory, SHARDS, recorder);
  const shard = make(SHARD);
  const random = new Random(1);
  let sent = 0;
  while (sent < 3 * SPOT_SLOTS) {
    for (let burst = random.below(SPOT_SLOTS / 2); burst >= 0; burst--) asks(shard, question(sent++ % 200));
    while (checker.next() !== undefined);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: sent }, (_, index) => index % 200),
  );
  assert.equal(counts.missed(SHARD), 0);
});

test('the thread asks the reference, says what differed, and takes the verifier of that shard alone away', async () => {
  const random = new Random(1);
  const maker = new SignatureMaker(await createKeccak(), random);
  const ann = maker.signer();
  const good = maker.next(ann);
  const forged = mutated(maker.next(ann), good, 'the digest of another', random);
  const memory = createSpotMemory(2);
  const gullible: Verifier = { name: 'native', verify: () => true };
  const checks = new LoneChecks(DIGESTS, gullible);
  const [right, wrong] = [0, 1].map((shard) => {
    return new SpotChecked({ memory, shard, checks, digests: DIGESTS, reference: gullible, every: 1 });
  });
  for (let i = 0; i < 3; i++) assert.ok(asks(right, order(good)));
  assert.ok(asks(wrong, order(good)));
  assert.ok(asks(wrong, order(forged)));
  const workerData: SpotOptions = { spotMemory: memory, shards: 2 };
  const worker = new Worker(new URL('../../../../engine/verify/spotMain.ts', import.meta.url), { workerData });
  try {
    const [{ difference }] = (await once(worker, 'message')) as [SpotMessage];
    assert.deepEqual(difference, {
      shard: 1,
      accepted: true,
      digest: toHex(forged.digest),
      signature: toHex(forged.signature),
      signer: toHex(ann.address),
    });
    const counts = new SpotCounts(memory);
    assert.deepEqual([counts.differences(0), counts.differences(1)], [0, 1]);
  } finally {
    await worker.terminate();
  }
});
