/**
 * Signature checks of busy shards, offered to other threads: so one market with all the flow is not bound to one core.
 * A check is a pure question, three byte strings and a verdict, so it does not matter who answers it.
 *
 *   shard (owner)   offers the checks of what waits in its queue; takes them from the front, as its commands run
 *   verifier        steals from the back, of any shard's slots; sleeps on the bell when nothing is offered
 *
 *         owner                 verifier                verifier
 *   FREE ───────► OFFERED ─────────────► TAKEN ───────────────────► ACCEPTED or REFUSED
 *    ▲                │ owner                │ owner                    │ owner
 *    └────────────────┴── next generation ───┴──────────────────────────┘
 *
 * Invariants:
 *   K1  Only the owner writes a slot's bytes, and only while it is FREE. What a verifier read in part before and in
 *       part after that belongs to an older generation, and its verdict is not taken.
 *   K2  A verdict counts when the slot has the generation it was offered with, and the bytes asked about are the bytes
 *       offered. Anything else the owner checks itself: it never waits for a verifier, alive or dead. While one is at
 *       the very next check, the owner makes others that nobody has; when there are none, it makes this one too.
 *   K3  A verifier that says it is asleep looks once more before it sleeps, and an owner looks whether one is after it
 *       has offered: one of them sees the other, as in ring.ts.
 */
import { assert } from '../../shared/assert.ts';
import * as layout from '../../shared/checkLayout.ts';
import { PLACE_SIGNATURE, PLACE_SIGNER } from '../../shared/commands.ts';
import type { OrderHasher } from '../../shared/eip712.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../../shared/hex.ts';
import type { RecordMemory } from '../../shared/record.ts';
import { placeDigest } from './placeDigest.ts';
import { SIGNATURE_BYTES } from './signature.ts';
import type { Verifier } from './verifier.ts';

// Own constants for speed: see emit.ts.
const { ASLEEP, BELL, CHECK_SLOTS, DIGEST, END, GENERATION, HEADER_WORDS, QUESTION_BYTES } = layout;
const { SHARD_WORDS, SIGNATURE, SIGNER, SLOT_WORDS, SLOTS, START, STATE, STATE_MASK } = layout;

/** The owner's side. It is also its shard's verifier: a question that was answered already is not asked again. */
export class OfferedChecks implements Verifier {
  readonly name: Verifier['name'];
  readonly #verifier: Verifier;
  readonly #hasher: OrderHasher;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #base: number;
  /** By slot: the ordinal that is offered there, or -1. */
  readonly #ordinals = new Float64Array(CHECK_SLOTS).fill(-1);
  /** Of the command that runs: ACCEPTED or REFUSED, about the question at `#at`. */
  #verdict: number = STATE.FREE;
  #at = 0;

  /** For a new thread of the shard: what verifiers still do for the one before it counts no more. */
  constructor(board: SharedArrayBuffer, shard: number, verifier: Verifier, hasher: OrderHasher) {
    this.name = verifier.name;
    this.#verifier = verifier;
    this.#hasher = hasher;
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#base = HEADER_WORDS + shard * SHARD_WORDS;
    this.publish(0, 0);
    for (let slot = 0; slot < CHECK_SLOTS; slot++) this.#free(slotWord(this.#base, slot));
  }

  /** Offers the check of a PLACE or REPLACE; its ordinal is within CHECK_SLOTS of the first that waits. */
  offer(ordinal: number, { words, bytes }: RecordMemory, word: number): void {
    const slot = ordinal & (CHECK_SLOTS - 1);
    assert(this.#ordinals[slot] === -1, 'K1: only a free slot is written');
    this.#ordinals[slot] = ordinal;
    const state = slotWord(this.#base, ordinal);
    const at = state * 4;
    placeDigest(this.#hasher, words, bytes, word, this.#bytes, at + DIGEST);
    copy(bytes, (word + PLACE_SIGNATURE) * 4, this.#bytes, at + SIGNATURE, SIGNATURE_BYTES);
    copy(bytes, (word + PLACE_SIGNER) * 4, this.#bytes, at + SIGNER, ADDRESS_BYTES);
    // Only the owner moves a slot out of FREE.
    Atomics.add(this.#words, state, STATE.OFFERED - STATE.FREE);
  }

  /** Which ordinals verifiers look at, and that there are new ones. */
  publish(start: number, end: number): void {
    const words = this.#words;
    Atomics.store(words, this.#base + START, start | 0);
    Atomics.store(words, this.#base + END, end | 0);
    if (Atomics.load(words, ASLEEP) === 0) return;
    Atomics.store(words, ASLEEP, 0);
    Atomics.add(words, BELL, 1);
    Atomics.notify(words, BELL);
  }

  /**
   * Of the checks behind that of `first`, up to `end`: makes one that nobody has, if a verifier is at that of `first`.
   * @returns whether it made one; that of `first` may be answered by now.
   */
  makeAnother(first: number, end: number): boolean {
    const words = this.#words;
    if (!this.#isOffered(first) || (Atomics.load(words, slotWord(this.#base, first)) & STATE_MASK) !== STATE.TAKEN) {
      return false;
    }
    for (let ordinal = first + 1; ordinal < end; ordinal++) {
      const state = slotWord(this.#base, ordinal);
      if (!this.#isOffered(ordinal) || !tryTakeAt(words, state)) continue;
      const at = state * 4;
      const bytes = this.#bytes;
      const isRight = this.#verifier.verify(bytes, at + DIGEST, bytes, at + SIGNATURE, bytes, at + SIGNER);
      Atomics.add(words, state, (isRight ? STATE.ACCEPTED : STATE.REFUSED) - STATE.TAKEN);
      return true;
    }
    return false;
  }

  #isOffered(ordinal: number): boolean {
    return this.#ordinals[ordinal & (CHECK_SLOTS - 1)] === ordinal;
  }

  /** The command with this ordinal is about to run: takes its check back, with the verdict if there is one (K2). */
  take(ordinal: number): void {
    const slot = ordinal & (CHECK_SLOTS - 1);
    this.#verdict = STATE.FREE;
    if (!this.#isOffered(ordinal)) return;
    this.#ordinals[slot] = -1;
    const state = slotWord(this.#base, ordinal);
    this.#verdict = this.#free(state);
    this.#at = state * 4 + DIGEST;
  }

  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean {
    const isAnswered =
      (this.#verdict === STATE.ACCEPTED || this.#verdict === STATE.REFUSED) &&
      isSame(digest, digestOffset, this.#bytes, this.#at, HASH_BYTES) &&
      isSame(signature, signatureOffset, this.#bytes, this.#at - DIGEST + SIGNATURE, SIGNATURE_BYTES) &&
      isSame(signerAddress, signerOffset, this.#bytes, this.#at - DIGEST + SIGNER, ADDRESS_BYTES);
    if (isAnswered) return this.#verdict === STATE.ACCEPTED;
    return this.#verifier.verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset);
  }

  /** The next generation begins. @returns the state the last one ended in. */
  #free(state: number): number {
    const words = this.#words;
    // Whatever a verifier makes of the slot meanwhile, the generation is the owner's alone.
    const next = ((Atomics.load(words, state) & ~STATE_MASK) + GENERATION) | STATE.FREE;
    return Atomics.exchange(words, state, next) & STATE_MASK;
  }
}

/** A verifier thread's side. */
export class CheckHelper {
  /** Checks made so far. */
  count = 0;
  readonly #verifier: Verifier;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #shards: number;
  /** Copied out: what a verifier reads must not change under it. */
  readonly #question = new Uint8Array(QUESTION_BYTES);
  #shard = 0;

  constructor(board: SharedArrayBuffer, verifier: Verifier) {
    this.#verifier = verifier;
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#shards = (board.byteLength / 4 - HEADER_WORDS) / SHARD_WORDS;
  }

  /** Makes one check, if one is offered. @returns whether one was. */
  help(): boolean {
    const state = this.tryTake();
    if (state < 0) return false;
    this.answer(state);
    return true;
  }

  /** @returns the slot of a check that is this helper's now, or -1. */
  tryTake(): number {
    for (let tried = 0; tried < this.#shards; tried++) {
      const state = this.#stealFrom(HEADER_WORDS + this.#shard * SHARD_WORDS);
      if (state >= 0) return state;
      this.#shard = (this.#shard + 1) % this.#shards;
    }
    return -1;
  }

  /** What was taken is still taken, or the answer goes nowhere. */
  answer(state: number): void {
    const words = this.#words;
    const taken = Atomics.load(words, state);
    if ((taken & STATE_MASK) !== STATE.TAKEN) return;
    const question = this.#question;
    copy(this.#bytes, state * 4 + DIGEST, question, 0, QUESTION_BYTES);
    const isRight = this.#verifier.verify(question, 0, question, HASH_BYTES, question, HASH_BYTES + SIGNATURE_BYTES);
    this.count++;
    const answered = (taken & ~STATE_MASK) | (isRight ? STATE.ACCEPTED : STATE.REFUSED);
    Atomics.compareExchange(words, state, taken, answered);
  }

  /** Sleeps until something is offered or `timeoutMs` has passed. */
  rest(timeoutMs: number): void {
    const words = this.#words;
    const bell = Atomics.load(words, BELL);
    Atomics.store(words, ASLEEP, 1);
    if (!this.help()) Atomics.wait(words, BELL, bell, timeoutMs);
  }

  /** From the back: the owner comes from the front. */
  #stealFrom(base: number): number {
    const words = this.#words;
    const start = Atomics.load(words, base + START);
    const end = Atomics.load(words, base + END);
    const count = Math.min((end - start) | 0, CHECK_SLOTS);
    for (let back = 1; back <= count; back++) {
      const state = slotWord(base, end - back);
      if (tryTakeAt(words, state)) return state;
    }
    return -1;
  }
}

/** Makes an offered check the caller's. */
function tryTakeAt(words: Int32Array, state: number): boolean {
  const offered = Atomics.load(words, state);
  if ((offered & STATE_MASK) !== STATE.OFFERED) return false;
  return Atomics.compareExchange(words, state, offered, offered - STATE.OFFERED + STATE.TAKEN) === offered;
}

function slotWord(base: number, ordinal: number): number {
  return base + SLOTS + (ordinal & (CHECK_SLOTS - 1)) * SLOT_WORDS;
}

/** With a loop: a subarray for a few bytes costs more. */
function copy(from: Uint8Array, fromOffset: number, to: Uint8Array, toOffset: number, length: number): void {
  for (let i = 0; i < length; i++) to[toOffset + i] = from[fromOffset + i]!;
}

function isSame(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aOffset + i] !== b[bOffset + i]) return false;
  return true;
}
