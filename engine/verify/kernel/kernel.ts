/**
 * The verification kernel computes digests of orders and checks signatures in WebAssembly, alone or in batches.
 * README.md has the mathematics, wasm/ the sources of kernel.wasm.
 *
 * Owner: one thread. Nothing is allocated after the constructor: arguments are copied into the kernel's memory, which
 * never grows.
 *
 * Invariants:
 *   KERNEL-1  The kernel accepts the signatures that the reference accepts (noble.ts), and refuses all others. It may
 *             leave signatures of a batch undecided; they are then checked alone.
 *   KERNEL-2  The coefficients of a batch are random bytes that were never used before, and no signature can join the
 *             batch once they are drawn.
 */
import { randomFillSync } from 'node:crypto';
import { assert } from '../../../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../../../shared/base/hex.ts';
import { ORDER_TYPE_HASH } from '../../../shared/crypto/eip712.ts';
import { SIGNATURE_BYTES } from '../../../shared/crypto/signature.ts';
import { COMMAND } from '../../../shared/wire/commands.ts';
import { SIGNED_PLACES } from '../../../shared/wire/signedPlaces.ts';
import {
  BEST_VARIANT,
  instantiate,
  type KernelExports,
  OWN_PAGES,
  PAGE_BYTES,
  type Variant,
  type Verdict,
} from './instance.ts';

/** The largest number of signatures in a batch. */
export const MOST_BATCH = 32;

type KernelOptions = {
  /** Fills bytes from the system's generator. Tests that need the same coefficients again replace it. */
  readonly random?: (bytes: Uint8Array) => void;
  /** The number of signers whose keys and tables are kept: a multiple of 8, 9.5 KB each. */
  readonly mostSigners?: number;
  /** False: every signature is checked by recovery. */
  readonly keepsTables?: boolean;
  /** The best variant that runs here, unless tests compare the variants. */
  readonly variant?: Variant;
};

const MOST_SIGNERS = 4096;
const SIGNERS_OF_A_SET = 8;
const MOST_SIGNER_BYTES = 9_728;
const SECRET_BYTES = 24;
/** Bytes of one coefficient, and bytes of random data that are made at once. */
const COEFFICIENT_BYTES = 16;
const RANDOM_BYTES = 4096;

const { PLACE } = COMMAND;
/**
 * The words of a record that the kernel reads: from the salt to the last signed field. Younger fields may follow. Its
 * offsets are constants of wasm/order.as, which test/unit/shared/crypto/orderLayout.test.ts compares with the record.
 */
const FIRST_WORD = PLACE.salt;
const RECORD_WORDS = Math.max(...SIGNED_PLACES.map(({ at, size }) => at + Math.ceil(size / 4))) - FIRST_WORD;

/** Implements BatchVerifier (verifier.ts). */
export class Kernel {
  readonly name: string;
  readonly mostInBatch = MOST_BATCH;
  readonly #random: (bytes: Uint8Array) => void;
  readonly #kernel: KernelExports;
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #randomBytes: Uint8Array;
  /** The offset of the first unused random byte; at the end of the buffer there are none. */
  #randomAt = RANDOM_BYTES;
  readonly #digestAt: number;
  readonly #signatureAt: number;
  readonly #signerAt: number;
  readonly #recordWord: number;
  #count = 0;
  #isClosed = false;

  constructor(options: KernelOptions = {}) {
    const { random = randomFillSync, mostSigners = MOST_SIGNERS, keepsTables = true, variant = BEST_VARIANT } = options;
    assert(mostSigners > 0 && mostSigners % SIGNERS_OF_A_SET === 0, 'kernel: whole sets of signers');
    const pages = OWN_PAGES + Math.ceil((mostSigners * MOST_SIGNER_BYTES) / PAGE_BYTES);
    const { buffer, exports: kernel } = instantiate(pages, variant);
    const signersAt = OWN_PAGES * PAGE_BYTES;
    assert(kernel.freeMemory() <= signersAt, 'kernel: what it has fits into its pages');
    assert(kernel.bytesOfSigners(mostSigners) <= buffer.byteLength - signersAt, 'kernel: the signers fit');
    this.name = variant === 'fused' ? 'kernel' : 'kernel-plain';
    this.#random = random;
    this.#kernel = kernel;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#randomBytes = new Uint8Array(buffer, kernel.RANDOM.value, RANDOM_BYTES);
    this.#digestAt = kernel.DIGEST.value;
    this.#signatureAt = kernel.SIGNATURE.value;
    this.#signerAt = kernel.SIGNER.value;
    this.#recordWord = kernel.RECORD.value / 4;
    this.#bytes.set(ORDER_TYPE_HASH, kernel.TYPE_HASH.value);
    kernel.begin(signersAt, mostSigners, this.#takeRandom(SECRET_BYTES), keepsTables);
  }

  /** Checks one signature alone; an unfinished batch is not affected. */
  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean {
    if (signature.length < signatureOffset + SIGNATURE_BYTES) return false;
    this.#put(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset);
    return this.#kernel.verify() !== 0;
  }

  /** Returns true if the signer's key is kept: then its signatures take part in the equation of a batch. */
  isKnown(signerAddress: Uint8Array, signerOffset: number): boolean {
    for (let i = 0; i < ADDRESS_BYTES; i++) this.#bytes[this.#signerAt + i] = signerAddress[signerOffset + i];
    return this.#kernel.isKnown() !== 0;
  }

  /** `separator`: the 32 bytes of the EIP-712 domain for all later orders. */
  setDomain(separator: Uint8Array): void {
    assert(separator.length === HASH_BYTES, 'kernel: a separator is a hash');
    this.#bytes.set(separator, this.#kernel.SEPARATOR.value);
  }

  /** Writes the digest of the PLACE or REPLACE record at `word` to `out`, 32 bytes. */
  placeDigest(words: Uint32Array, word: number, out: Uint8Array, outOffset: number): void {
    this.#putRecord(words, word);
    this.#kernel.placeDigest();
    this.#takeDigest(out, outOffset);
  }

  /** Begins an empty batch, replacing the previous one. */
  beginBatch(): void {
    this.#count = 0;
    this.#isClosed = false;
    this.#kernel.beginBatch();
  }

  /** Adds a signature to the batch; allowed only before its first step. */
  addToBatch(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): void {
    assert(signature.length >= signatureOffset + SIGNATURE_BYTES, 'kernel: the whole of a signature');
    assert(!this.#isClosed && this.#count < MOST_BATCH, 'KERNEL-2: the batch is open and has room');
    this.#count++;
    this.#put(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset);
    this.#kernel.add();
  }

  /** Works on the batch for about half the time of a recovery. @returns true if it is finished. */
  stepBatch(): boolean {
    if (this.#isClosed) return this.#kernel.stepBatch(0) !== 0;
    // The batch is closed only here: if the system's generator fails, the next step draws the coefficients.
    const random = this.#takeRandom(this.#count * COEFFICIENT_BYTES);
    this.#isClosed = true;
    return this.#kernel.stepBatch(random) !== 0;
  }

  /** `index` counts in the order of adding. If the result is undecided, the caller checks the signature alone. */
  verdictOf(index: number): Verdict {
    assert(index >= 0 && index < this.#count, 'kernel: a signature of the batch');
    return this.#kernel.verdictOf(index);
  }

  /** @returns the address of so many random bytes that were never used before. */
  #takeRandom(length: number): number {
    if (this.#randomAt + length > RANDOM_BYTES) {
      this.#random(this.#randomBytes);
      this.#randomAt = 0;
    }
    const at = this.#randomAt;
    this.#randomAt += length;
    return this.#kernel.RANDOM.value + at;
  }

  /** Copied with loops: a subarray for each argument would allocate. */
  #put(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): void {
    const bytes = this.#bytes;
    for (let i = 0; i < HASH_BYTES; i++) bytes[this.#digestAt + i] = digest[digestOffset + i];
    for (let i = 0; i < SIGNATURE_BYTES; i++) bytes[this.#signatureAt + i] = signature[signatureOffset + i];
    for (let i = 0; i < ADDRESS_BYTES; i++) bytes[this.#signerAt + i] = signerAddress[signerOffset + i];
  }

  #putRecord(words: Uint32Array, word: number): void {
    const from = word + FIRST_WORD;
    for (let i = 0; i < RECORD_WORDS; i++) this.#words[this.#recordWord + i] = words[from + i];
  }

  #takeDigest(out: Uint8Array, outOffset: number): void {
    for (let i = 0; i < HASH_BYTES; i++) out[outOffset + i] = this.#bytes[this.#digestAt + i];
  }
}
