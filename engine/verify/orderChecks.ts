/**
 * The engine asks two questions about the order in a PLACE or REPLACE: what its digest is, which is its hash, and
 * whether its signer has signed that hash. `LoneChecks` computes each answer when it is asked.
 */
import type { OrderHasher } from '../../shared/crypto/eip712.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { isDomainOf, placeDigest } from './placeDigest.ts';
import type { Verifier } from './verifier.ts';

const { PLACE } = COMMAND;

/** The signing domain of orders. */
type Domain = {
  /** Sets the domain of all later digests. */
  setDomain(chainId: number, exchange: Uint8Array): void;
  /** Returns true if digests are already computed for this chain and contract. */
  isFor(chainId: number, exchange: Uint8Array): boolean;
};

export type OrderDigests = Domain & {
  /** Writes the 32-byte digest of a PLACE or REPLACE; `words` and `bytes` are two views of the same memory. */
  placeDigest(words: Uint32Array, bytes: Uint8Array, word: number, out: Uint8Array, outOffset: number): void;
};

export type OrderChecks = Domain & {
  /** Writes the digest of the order at `word` into its hash field. */
  writeHash(words: Uint32Array, bytes: Uint8Array, word: number): void;
  /** Returns true if the signer has signed the hash; call after `writeHash`. */
  isSigned(words: Uint32Array, bytes: Uint8Array, word: number): boolean;
};

export class LoneChecks implements OrderChecks {
  readonly #digests: OrderDigests;
  readonly #verifier: Verifier;

  constructor(digests: OrderDigests, verifier: Verifier) {
    this.#digests = digests;
    this.#verifier = verifier;
  }

  setDomain(chainId: number, exchange: Uint8Array): void {
    this.#digests.setDomain(chainId, exchange);
  }

  isFor(chainId: number, exchange: Uint8Array): boolean {
    return this.#digests.isFor(chainId, exchange);
  }

  writeHash(words: Uint32Array, bytes: Uint8Array, word: number): void {
    this.#digests.placeDigest(words, bytes, word, bytes, (word + PLACE.hash) * 4);
  }

  isSigned(_words: Uint32Array, bytes: Uint8Array, word: number): boolean {
    return verifyOrder(this.#verifier, bytes, word);
  }
}

/** Returns true if the signer of the order at `word` has signed the digest in its hash field. */
export function verifyOrder(verifier: Verifier, bytes: Uint8Array, word: number): boolean {
  return verifier.verify(
    bytes,
    (word + PLACE.hash) * 4,
    bytes,
    (word + PLACE.signature) * 4,
    bytes,
    (word + PLACE.signerAddress) * 4,
  );
}

/** Digests computed by the hasher that gateway and clients use too. */
export function digestsBy(hasher: OrderHasher): OrderDigests {
  return {
    setDomain: (chainId, exchange) => hasher.setDomain(chainId, exchange),
    isFor: (chainId, exchange) => isDomainOf(hasher, chainId, exchange),
    placeDigest: (words, bytes, word, out, outOffset) => placeDigest(hasher, words, bytes, word, out, outOffset),
  };
}
