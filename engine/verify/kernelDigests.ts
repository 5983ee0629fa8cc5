/**
 * Computes digests by the kernel, some three times as fast as the hasher of gateway and clients. This is a class
 * because a method is one function for all instances: compiled code that calls it also serves the next instance.
 */
import type { OrderHasher } from '../../shared/crypto/eip712.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { OrderDigests } from './orderChecks.ts';
import { isDomainOf } from './placeDigest.ts';

export class KernelDigests implements OrderDigests {
  readonly #kernel: Kernel;
  readonly #hasher: OrderHasher;

  /** @param hasher keeps the signing domain */
  constructor(kernel: Kernel, hasher: OrderHasher) {
    this.#kernel = kernel;
    this.#hasher = hasher;
    kernel.setDomain(hasher.separator);
  }

  setDomain(chainId: number, exchange: Uint8Array): void {
    this.#hasher.setDomain(chainId, exchange);
    this.#kernel.setDomain(this.#hasher.separator);
  }

  isFor(chainId: number, exchange: Uint8Array): boolean {
    return isDomainOf(this.#hasher, chainId, exchange);
  }

  placeDigest(words: Uint32Array, _bytes: Uint8Array, word: number, out: Uint8Array, outOffset: number): void {
    this.#kernel.placeDigest(words, word, out, outOffset);
  }
}
