/**
 * Vectors of ECDSA, whose verdicts are known without any library: those of test/support/ecdsaVectors.ts, and the files
 * of Project Wycheproof (github.com/C2SP/wycheproof) where there is a copy:
 *
 *     WYCHEPROOF=wycheproof/testvectors_v1 node shared/run.mjs --test \
 *       test/unit/engine/verify/kernel/ecdsaVectors.test.ts
 *
 * What a verdict of ECDSA means here, where a signature has a recovery bit v and s is in the lower half:
 *
 *   invalid                          refused with every v
 *   valid, s at most n / 2           accepted with one parity of v, which is that of R, and refused with the other
 *   valid, s above n / 2             refused with every v; (r, n - s) is accepted with one
 *   valid, x of R not below n        refused with every v: r is taken for x itself, as recovery takes it
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createKeccak } from '../../../../../shared/crypto/fastKeccak.ts';
import { createBatchVerifier, decided } from '../../../../support/batchVerdicts.ts';
import { type EcdsaVector, ecdsaVectors } from '../../../../support/ecdsaVectors.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr } from '../../../../support/seeds.ts';
import { G, N, Point, type SignatureCase, SignatureMaker, wordOf } from '../../../../support/signatureCases.ts';
import { asks, describeCase } from '../../../../support/signatureOracle.ts';

const SEED = seedOr(1);
const DIRECTORY = process.env['WYCHEPROOF'];
const PATTERN = 'ecdsa_secp256k1_*_test.json';
const V_EVEN = [0, 27];
const V_ODD = [1, 28];
const V_NEVER = [2, 3, 29, 30, 31, 34];
const { Fn } = Point;
const maker = new SignatureMaker(await createKeccak(), new Random(SEED));

type Expected = { readonly question: SignatureCase; readonly isAccepted: boolean };

/** Both parities of v, and the other half of s; for one vector in sixteen every v. */
function questionsOf(vector: EcdsaVector, at: number): Expected[] {
  const { label, digest, r, s, key, isValid, hasNoTwin = false } = vector;
  const signer = maker.addressOf(key);
  const out: Expected[] = [];
  for (const ofS of s > 0n && s < N && !hasNoTwin ? [s, N - s] : [s]) {
    const isOdd = isValid && ofS <= N / 2n ? parityOf(vector, ofS) : null;
    for (const v of at % 16 === 0 ? [...V_EVEN, ...V_ODD, ...V_NEVER] : [V_EVEN[at % 2], V_ODD[(at >> 1) % 2]]) {
      const signature = Uint8Array.from([...wordOf(r), ...wordOf(ofS), v]);
      const name = `${label}, v ${v}${ofS === s ? '' : ', n - s'}`;
      const isAccepted = isOdd !== null && (isOdd ? V_ODD : V_EVEN).includes(v);
      out.push({ question: { label: name, digest: wordOf(digest), signature, signer }, isAccepted });
    }
  }
  return out;
}

/** The parity of R in a valid signature; n - s has the opposite one; null if its x is not r. */
function parityOf({ key, digest, r, s, isOdd }: EcdsaVector, ofS: bigint): boolean | null {
  if (isOdd !== undefined) return isOdd === (ofS === s);
  const inverse = Fn.inv(ofS);
  const u1 = Fn.mul(Fn.create(digest), inverse);
  const u2 = Fn.mul(r, inverse);
  const R = (u1 === 0n ? Point.ZERO : G.multiplyUnsafe(u1)).add(key.multiplyUnsafe(u2));
  const { x, y } = R.toAffine();
  assert.equal(Fn.create(x), r, 'valid');
  return x === r ? (y & 1n) === 1n : null;
}

/** Alone, before and after the signer is known, and in batches. */
function judge(vectors: readonly EcdsaVector[]): { accepted: number; refused: number } {
  const kernel = createBatchVerifier();
  const all = vectors.flatMap(questionsOf);
  const accepted = all.filter(({ isAccepted }) => isAccepted);
  for (const { question, isAccepted } of [...all, ...accepted, ...accepted]) {
    assert.equal(asks(kernel, question), isAccepted, `alone, seed ${SEED}, ${describeCase(question)}`);
  }
  for (let start = 0; start < all.length; start += 12) {
    const some = all.slice(start, start + 12);
    const verdicts = decided(
      kernel,
      some.map(({ question }) => question),
    );
    for (const [index, { question, isAccepted }] of some.entries()) {
      assert.equal(verdicts[index], isAccepted, `in a batch, seed ${SEED}, ${describeCase(question)}`);
    }
  }
  return { accepted: accepted.length, refused: all.length - accepted.length };
}

test(`the kinds of Wycheproof's vectors, made anew, have the verdict of ECDSA, seed ${SEED}`, () => {
  const vectors = ecdsaVectors(maker);
  const { accepted, refused } = judge(vectors);
  assert.ok(vectors.length > 500, `${vectors.length} vectors`);
  assert.ok(accepted > vectors.length / 2 && refused > accepted, `${accepted} accepted, ${refused} refused`);
});

type File = {
  readonly testGroups: readonly {
    readonly publicKey: { readonly uncompressed: string };
    readonly sha: string;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly msg: string;
      readonly sig: string;
      readonly result: string;
    }[];
  }[];
};

const isThere = DIRECTORY !== undefined && existsSync(DIRECTORY);
test("Wycheproof's own files", { skip: !isThere && 'WYCHEPROOF names no folder' }, (context) => {
  for (const path of globSync(PATTERN, { cwd: DIRECTORY })) {
    const file = JSON.parse(readFileSync(join(DIRECTORY!, path), 'utf8')) as File;
    const vectors = file.testGroups.flatMap(({ publicKey, sha, tests }) => {
      const key = Point.fromHex(publicKey.uncompressed);
      return tests.flatMap(({ tcId, comment, msg, sig, result }) => {
        const numbers = numbersOf(Buffer.from(sig, 'hex'), path.includes('p1363'));
        if (numbers === null) {
          assert.equal(result, 'invalid', `${tcId}: what is not 64 bytes is invalid`);
          return [];
        }
        const label = `${path} ${tcId} ${comment}`;
        const isValid = result !== 'invalid';
        // In Bitcoin a high s is invalid as well, so that its twin may be right.
        const hasNoTwin = !isValid && path.includes('bitcoin') && numbers.s > N / 2n;
        return [{ label, ...numbers, digest: digestOf(sha, msg), key, isValid, hasNoTwin }];
      });
    });
    const { accepted, refused } = judge(vectors);
    context.diagnostic(`${path}: ${vectors.length} vectors, ${accepted} questions accepted, ${refused} refused`);
  }
});

/** r and s of a signature of two numbers of 32 bytes, or of DER; null when they do not fit. */
function numbersOf(signature: Buffer, isFlat: boolean): { r: bigint; s: bigint } | null {
  if (isFlat) {
    if (signature.length !== 64) return null;
    return { r: BigInt(`0x${signature.toString('hex', 0, 32)}`), s: BigInt(`0x${signature.toString('hex', 32)}`) };
  }
  const inner = derOf(signature, 0, 0x30);
  if (inner === null || inner.end !== signature.length) return null;
  const r = derOf(signature, inner.start, 0x02);
  const s = r && derOf(signature, r.end, 0x02);
  if (r === null || s === null || s.end !== inner.end) return null;
  const numbers = [r, s].map(({ start, end }) => {
    const bytes = signature.subarray(start, end);
    const isMinimal = bytes.length > 0 && (bytes.length === 1 || bytes[0] !== 0 || bytes[1] >= 0x80);
    return isMinimal && bytes[0] < 0x80 ? BigInt(`0x${bytes.toString('hex')}`) : null;
  });
  if (numbers.some((number) => number === null || number >= 1n << 256n)) return null;
  return { r: numbers[0]!, s: numbers[1]! };
}

function derOf(bytes: Buffer, at: number, tag: number): { start: number; end: number } | null {
  const length = bytes[at + 1];
  if (bytes[at] !== tag || length === undefined || length >= 0x80) return null;
  const start = at + 2;
  return start + length > bytes.length ? null : { start, end: start + length };
}

/** The leftmost 256 bits of the hash. */
function digestOf(sha: string, message: string): bigint {
  const [, name] = /^(SHA(?:3)?-\d+|SHAKE\d+)$/.exec(sha) ?? [];
  assert.ok(name, `a hash that is known: ${sha}`);
  const algorithm = name.toLowerCase().replace(/^sha-/, 'sha');
  const hash = createHash(algorithm, name.startsWith('SHAKE') ? { outputLength: 32 } : {});
  return BigInt(`0x${hash.update(Buffer.from(message, 'hex')).digest('hex').slice(0, 64)}`);
}
