/**
 * Decides what a verdict on a signature has to be. The reference (noble) decides. Because it takes a millisecond, the
 * native library answers first if it loads, and the reference is asked for one in `nobleEvery`, and whenever two
 * answers differ.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { nobleVerifier } from '../../engine/verify/noble.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { isAddressOf, NOT_CANONICAL, PUBLIC_KEY_BYTES, recoveryBit } from '../../shared/crypto/signature.ts';
import type { SignatureCase } from './signatureCases.ts';

type Recover = (rs: Uint8Array, bit: number, digest: Uint8Array, compressed: boolean, key: Uint8Array) => unknown;

export class SignatureOracle {
  /** The number of verdicts requested, and of those from the reference. */
  asked = 0;
  byNoble = 0;
  readonly #keccak: Keccak256;
  readonly #noble: Verifier;
  readonly #recover = nativeRecover();
  readonly #nobleEvery: number;
  readonly #key = new Uint8Array(PUBLIC_KEY_BYTES);

  constructor(keccak: Keccak256, nobleEvery: number) {
    this.#keccak = keccak;
    this.#noble = nobleVerifier(keccak);
    this.#nobleEvery = nobleEvery;
  }

  /** @param actual another verifier's answer: when it is not the fast one, the reference decides */
  expected(one: SignatureCase, actual?: boolean): boolean {
    const fast = this.#recover === undefined ? undefined : this.#fast(one);
    const isSample = this.asked++ % this.#nobleEvery === 0;
    if (fast !== undefined && !isSample && (actual === undefined || actual === fast)) return fast;
    this.byNoble++;
    const expected = asks(this.#noble, one);
    if (fast !== undefined) assert.equal(fast, expected, `noble and libsecp256k1 disagree: ${describeCase(one)}`);
    return expected;
  }

  #fast({ digest, signature, signer }: SignatureCase): boolean {
    const bit = recoveryBit(signature, 0);
    if (bit === NOT_CANONICAL) return false;
    try {
      this.#recover!(signature.subarray(0, -1), bit, digest, false, this.#key);
    } catch {
      return false;
    }
    return isAddressOf(this.#key.subarray(1), this.#keccak, signer, 0);
  }
}

export function asks(verifier: Pick<Verifier, 'verify'>, { digest, signature, signer }: SignatureCase): boolean {
  return verifier.verify(digest, 0, signature, 0, signer, 0);
}

/** All that is needed to ask again. */
export function describeCase({ label, digest, signature, signer }: SignatureCase): string {
  const [z, rsv, address] = [digest, signature, signer].map((bytes) => Buffer.from(bytes).toString('hex'));
  return `${label}: digest ${z} signature ${rsv} signer ${address}`;
}

/** Undefined where the package has no binary for this platform. */
function nativeRecover(): Recover | undefined {
  try {
    const binding = createRequire(import.meta.url)('secp256k1/bindings.js') as { readonly ecdsaRecover: Recover };
    return binding.ecdsaRecover.bind(binding);
  } catch {
    return undefined;
  }
}
