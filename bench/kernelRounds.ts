/**
 * Compares the verification kernel with libsecp256k1: the cost of each way to check a signature in multiples of R, the
 * time of one native recovery. All ways take turns in rounds that are shorter than a time slice of the system, and the
 * quietest tenth of each counts, so that other programs on the machine hardly matter.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { VERDICT } from '../engine/verify/kernel/instance.ts';
import { Kernel } from '../engine/verify/kernel/kernel.ts';
import { assert } from '../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES, toHex, tryParseHex } from '../shared/base/hex.ts';
import { addressOf } from '../shared/client/privateKey.ts';
import { keccak256 } from '../shared/crypto/keccak.ts';
import { SIGNATURE_BYTES } from '../shared/crypto/signature.ts';
import { loadSecp256k1 } from '../test/support/secp256k1.ts';
import { atMost, type Goal, type Row, STOLEN, StealMeter } from './report.ts';

type Signed = { readonly digest: Uint8Array; readonly signature: Uint8Array; readonly signer: Uint8Array };
type Way = {
  readonly what: string;
  readonly check: (signed: readonly Signed[]) => void;
  readonly of: readonly Signed[];
};

const SIGNERS = 64;
const SIGNATURES = 192;
const ROUND = 32;
const WARM_ROUNDS = 60;
const ROUNDS = 300;
const QUIETEST = 0.1;
const BATCHES = [4, 8, 16, 32];
const SPOILT_BATCH = 16;
const SPOILT = `batch of ${SPOILT_BATCH} with a bad signature, then alone`;
const US_PER_MS = 1000;

const NATIVE = 'native recovery (R)';
const RECOVERED = 'first order of a signer';
const KEPT = 'alone, with tables';

export function compareKernel(): { readonly rows: readonly Row[]; readonly goals: readonly Goal[] } {
  const steal = new StealMeter();
  const times = measureRounds(waysToCheck());
  const quiet = new Map([...times].map(([what, us]) => [what, quietest(us)]));
  const inR = (what: string): number => quiet.get(what)! / quiet.get(NATIVE)!;
  const stolen = steal.percent();
  const rows = [...quiet].map(([what, us]) => ({
    what: `kernel: ${what}`,
    'p50 us': us,
    R: inR(what),
    [STOLEN]: stolen,
  }));
  return {
    rows,
    goals: [
      atMost('batch of 16 of one signer, R a signature', inR(batchOf(16, 1)), 0.4),
      atMost('batch of 16 of different signers, R a signature', inR(batchOf(16, SIGNERS)), 0.6),
      atMost('alone with tables, R', inR(KEPT), 0.75),
      atMost('first order of a signer, R', inR(RECOVERED), 1.4),
      atMost('batch with a bad signature, R a signature', inR(SPOILT), 1.3),
    ],
  };
}

function batchOf(size: number, signers: number): string {
  return `batch of ${size}, ${signers === 1 ? 'one signer' : 'different signers'}`;
}

function waysToCheck(): Way[] {
  const one = signAll(1);
  const different = signAll(SIGNERS);
  const kernel = new Kernel();
  const recovering = new Kernel({ keepsTables: false });
  const alone = (by: Kernel) => (all: readonly Signed[]) => {
    for (const { digest, signature, signer } of all) {
      assert(by.verify(digest, 0, signature, 0, signer, 0), 'kernel: a right signature is accepted');
    }
  };
  return [
    { what: NATIVE, check: recoverNatively(), of: different },
    { what: RECOVERED, check: alone(recovering), of: different },
    { what: KEPT, check: alone(kernel), of: different },
    { what: SPOILT, check: (all) => checkSpoilt(kernel, all), of: spoilt(different) },
    ...BATCHES.flatMap((size) => {
      const check = (all: readonly Signed[]): void => checkInBatches(kernel, all, size);
      return [
        { what: batchOf(size, 1), check, of: one },
        { what: batchOf(size, SIGNERS), check, of: different },
      ];
    }),
  ];
}

function checkInBatches(kernel: Kernel, all: readonly Signed[], size: number): void {
  for (let first = 0; first < all.length; first += size) {
    kernel.beginBatch();
    for (let i = 0; i < size; i++) {
      const { digest, signature, signer } = all[first + i];
      kernel.addToBatch(digest, 0, signature, 0, signer, 0);
    }
    while (!kernel.stepBatch());
    for (let i = 0; i < size; i++) {
      const isKnown = kernel.verdictOf(i) === VERDICT.ACCEPTED;
      // In the first round the signers are not known yet.
      const { digest, signature, signer } = all[first + i];
      assert(isKnown || kernel.verify(digest, 0, signature, 0, signer, 0), 'kernel: a right signature is accepted');
    }
  }
}

/** The first signature of each batch is valid, but for another digest. */
function spoilt(all: readonly Signed[]): Signed[] {
  return all.map((signed, index) =>
    index % SPOILT_BATCH === 0 ? { ...signed, digest: keccak256(signed.digest) } : signed,
  );
}

function checkSpoilt(kernel: Kernel, all: readonly Signed[]): void {
  for (let first = 0; first < all.length; first += SPOILT_BATCH) {
    const batch = all.slice(first, first + SPOILT_BATCH);
    kernel.beginBatch();
    for (const { digest, signature, signer } of batch) kernel.addToBatch(digest, 0, signature, 0, signer, 0);
    while (!kernel.stepBatch());
    for (const [index, { digest, signature, signer }] of batch.entries()) {
      assert(
        kernel.verdictOf(index) !== VERDICT.ACCEPTED,
        'kernel: no signature of a spoilt batch is accepted with it',
      );
      assert(kernel.verify(digest, 0, signature, 0, signer, 0) === index > 0, 'kernel: alone each has its verdict');
    }
  }
}

function recoverNatively(): (all: readonly Signed[]) => void {
  const { ecdsaRecover } = loadSecp256k1();
  const publicKey = new Uint8Array(65);
  return (all) => {
    for (const { digest, signature } of all) {
      ecdsaRecover(
        signature.subarray(0, SIGNATURE_BYTES - 1),
        signature[SIGNATURE_BYTES - 1],
        digest,
        false,
        publicKey,
      );
    }
  };
}

/** Microseconds per signature, of every round. */
function measureRounds(ways: readonly Way[]): Map<string, number[]> {
  const times = new Map<string, number[]>(ways.map(({ what }) => [what, []]));
  for (let round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
    const first = (round % (SIGNATURES / ROUND)) * ROUND;
    for (const { what, check, of } of ways) {
      const signed = of.slice(first, first + ROUND);
      const startMs = performance.now();
      check(signed);
      const us = ((performance.now() - startMs) * US_PER_MS) / ROUND;
      if (round >= WARM_ROUNDS) times.get(what)!.push(us);
    }
  }
  return times;
}

function quietest(us: readonly number[]): number {
  return us.toSorted((a, b) => a - b)[Math.floor(us.length * QUIETEST)];
}

function signAll(signers: number): Signed[] {
  return Array.from({ length: SIGNATURES }, (_, index) => {
    const key = keccak256(Uint8Array.of(index % signers));
    const digest = keccak256(Uint8Array.of(1, index));
    assert(digest.length === HASH_BYTES, 'kernel: a digest is a hash');
    const [bit, ...rs] = secp256k1.sign(digest, key, { prehash: false, format: 'recovered' });
    const signer = new Uint8Array(ADDRESS_BYTES);
    assert(tryParseHex(addressOf(toHex(key)), ADDRESS_BYTES, signer, 0), 'kernel: an address');
    return { digest, signature: Uint8Array.from([...rs, bit]), signer };
  });
}
