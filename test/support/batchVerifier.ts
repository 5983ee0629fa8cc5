/**
 * Makes a verifier of batches from any verifier: it decides a whole batch or, if one signature is wrong, nothing; it
 * needs several slices, and knows a signer once it has accepted one of the signer's signatures alone. It counts
 * everything.
 */
import assert from 'node:assert/strict';
import { VERDICT } from '../../engine/verify/kernel/instance.ts';
import type { BatchVerifier, Verifier } from '../../engine/verify/verifier.ts';
import { ADDRESS_BYTES, toHex } from '../../shared/base/hex.ts';

type Question = Parameters<Verifier['verify']>;

export class FakeBatches implements BatchVerifier {
  readonly name: Verifier['name'];
  readonly mostInBatch: number;
  /** Signatures checked alone. */
  alone = 0;
  /** The size of each batch that was decided, or not: `wrong` counts the latter. */
  readonly sizes: number[] = [];
  wrong = 0;
  /** Called in the middle of each slice of a batch, and of each check alone. */
  onSlice: () => void = () => undefined;
  readonly #inner: Verifier['verify'];
  readonly #known = new Set<string>();
  readonly #slicesOf: number;
  #questions: Question[] = [];
  #slices = 0;
  #isRight = false;

  /** @param slicesOf signatures that one slice decides. */
  constructor(inner: Verifier, mostInBatch = 16, slicesOf = 2) {
    this.name = inner.name;
    this.#inner = inner.verify.bind(inner);
    this.mostInBatch = mostInBatch;
    this.#slicesOf = slicesOf;
  }

  verify(...question: Question): boolean {
    this.alone++;
    this.onSlice();
    const isRight = this.#inner(...question);
    if (isRight) this.#known.add(signerOf(question));
    return isRight;
  }

  isKnown(signerAddress: Uint8Array, signerOffset: number): boolean {
    return this.#known.has(toHex(signerAddress, signerOffset, ADDRESS_BYTES));
  }

  beginBatch(): void {
    this.#questions = [];
    this.#slices = 0;
  }

  addToBatch(...question: Question): void {
    assert.ok(this.#questions.length < this.mostInBatch, 'the batch has room');
    assert.ok(this.#known.has(signerOf(question)), 'the signer is known');
    const [digest, digestAt, signature, signatureAt, signer, signerAt] = question;
    // Copies, as in the kernel: what becomes of the memory afterwards does not matter.
    this.#questions.push([digest.slice(), digestAt, signature.slice(), signatureAt, signer.slice(), signerAt]);
  }

  stepBatch(): boolean {
    this.onSlice();
    const { length } = this.#questions;
    assert.ok(length > 0, 'there is a batch');
    if (++this.#slices * this.#slicesOf < length) return false;
    this.sizes.push(length);
    this.#isRight = this.#questions.every((question) => this.#inner(...question));
    if (!this.#isRight) this.wrong++;
    return true;
  }

  verdictOf(index: number): number {
    assert.ok(index < this.#questions.length, 'it was added');
    return this.#isRight ? VERDICT.ACCEPTED : VERDICT.UNDECIDED;
  }
}

function signerOf(question: Question): string {
  return toHex(question[4], question[5], ADDRESS_BYTES);
}
