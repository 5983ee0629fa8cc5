/**
 * Signature checks that busy shards offer to verifier threads, so that one market with all the flow is not bound to one
 * core. A check is a pure question, three byte strings and a verdict, so it does not matter which thread answers it.
 *
 *   shard (owner)   offers the checks of its queued commands, and withdraws them from the front as the commands run
 *   verifier        claims checks from the back, of any shard; sleeps on the bell when none is offered
 *
 *         owner              verifier               verifier
 *   FREE ───────► OFFERED ─────────────► CLAIMED ─────────────► ACCEPTED or REFUSED
 *    ▲               │ owner                │ owner                │ owner
 *    └───────────────┴── next generation ───┴──────────────────────┘
 *
 * Invariants:
 *   BOARD-1  Only the owner writes a slot's bytes, and only while it is FREE. Bytes a verifier read in part before and
 *            in part after such a write belong to an older generation, and its verdict is ignored.
 *   BOARD-2  A verdict counts only while the slot has the generation it was offered with, and the bytes in question are
 *            the bytes in the slot. Otherwise the owner makes the check itself and never waits for a verifier, alive or
 *            dead. While a verifier makes the very next check, the owner makes another, unclaimed one.
 *   BOARD-3  A verifier that sets ASLEEP looks once more before it sleeps, and an owner reads ASLEEP after it has
 *            published: one of the two sees the other.
 */
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../../shared/base/hex.ts';
import type { OrderHasher } from '../../shared/crypto/eip712.ts';
import { SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import * as layout from '../../shared/wire/checkLayout.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import type { RecordMemory } from '../../shared/wire/record.ts';
import { placeDigest } from './placeDigest.ts';
import type { Verifier } from './verifier.ts';

const { CHECK_BOARD, CHECK_QUEUE, CHECK_SLOT, CHECK_SLOTS, GENERATION } = layout;
const { QUESTION_BYTES, SHARD_WORDS, STATE, STATE_MASK } = layout;

assert(
  CHECK_SLOT.signer + ADDRESS_BYTES - CHECK_SLOT.digest === QUESTION_BYTES,
  'board: digest, signature and signer are adjacent',
);
assert(STATE.FREE === 0 && STATE_MASK < GENERATION, 'board: a generation does not touch the state');

const NO_ORDINAL = -1;
/** The result of `tryClaim` when no check is offered. */
const NO_SLOT = -1;

/** The owner's side. It is the verifier of its shard, and uses a verdict that a verifier thread has given already. */
export class OfferedChecks implements Verifier {
  readonly name: Verifier['name'];
  readonly #verifier: Verifier;
  readonly #hasher: OrderHasher;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #base: number;
  /** By slot: the ordinal that is offered there, or NO_ORDINAL. */
  readonly #ordinals = new Float64Array(CHECK_SLOTS).fill(NO_ORDINAL);
  /** ACCEPTED or REFUSED when a verifier has answered the check of the command that runs. */
  #verdict: number = STATE.FREE;
  /** Verdicts of verifier threads that were used. */
  answeredByOthers = 0;
  /** By slot: 1 when this thread has made its check itself. */
  readonly #isOwn = new Uint8Array(CHECK_SLOTS);
  #isOwnVerdict = false;
  /** Byte offset of the question that was answered. */
  #questionAt = 0;

  /** For a new thread of the shard: verdicts on offers of an earlier thread are ignored. */
  constructor(board: SharedArrayBuffer, shard: number, verifier: Verifier, hasher: OrderHasher) {
    this.name = verifier.name;
    this.#verifier = verifier;
    this.#hasher = hasher;
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#base = CHECK_BOARD.WORDS + shard * SHARD_WORDS;
    this.publish(0, 0);
    for (let slot = 0; slot < CHECK_SLOTS; slot++) this.#free(slotWord(this.#base, slot));
  }

  /**
   * Offers the check of a PLACE or REPLACE. Its ordinal is less than CHECK_SLOTS after that of the first in the queue.
   */
  offer(ordinal: number, { words, bytes }: RecordMemory, word: number): void {
    const slot = ordinal & (CHECK_SLOTS - 1);
    assert(this.#ordinals[slot] === NO_ORDINAL, 'BOARD-1: only a free slot is written');
    this.#ordinals[slot] = ordinal;
    const stateWord = slotWord(this.#base, ordinal);
    const at = stateWord * 4;
    placeDigest(this.#hasher, words, bytes, word, this.#bytes, at + CHECK_SLOT.digest);
    copy(bytes, (word + COMMAND.PLACE.signature) * 4, this.#bytes, at + CHECK_SLOT.signature, SIGNATURE_BYTES);
    copy(bytes, (word + COMMAND.PLACE.signerAddress) * 4, this.#bytes, at + CHECK_SLOT.signer, ADDRESS_BYTES);
    assert((Atomics.load(this.#words, stateWord) & STATE_MASK) === STATE.FREE, 'BOARD-1: only the owner ends FREE');
    Atomics.add(this.#words, stateWord, STATE.OFFERED - STATE.FREE);
  }

  /** Makes the offers from `start` to `end` visible to verifiers, and wakes one that sleeps. */
  publish(start: number, end: number): void {
    assert(start <= end && end - start <= CHECK_SLOTS, 'board: every offer has a slot of its own');
    const words = this.#words;
    Atomics.store(words, this.#base + CHECK_QUEUE.start, start | 0);
    Atomics.store(words, this.#base + CHECK_QUEUE.end, end | 0);
    if (Atomics.load(words, CHECK_BOARD.asleep) === 0) return;
    Atomics.store(words, CHECK_BOARD.asleep, 0);
    Atomics.add(words, CHECK_BOARD.bell, 1);
    Atomics.notify(words, CHECK_BOARD.bell);
  }

  /**
   * While a verifier is busy with the check of `first`: makes one of the unclaimed checks after it, up to `end`.
   * @returns true if it made one. The check of `first` may be answered by then.
   */
  checkAnother(first: number, end: number): boolean {
    const words = this.#words;
    if (!this.#isOffered(first) || (Atomics.load(words, slotWord(this.#base, first)) & STATE_MASK) !== STATE.CLAIMED) {
      return false;
    }
    for (let ordinal = first + 1; ordinal < end; ordinal++) {
      const stateWord = slotWord(this.#base, ordinal);
      if (!this.#isOffered(ordinal) || !tryClaimSlot(words, stateWord)) continue;
      const at = stateWord * 4;
      const bytes = this.#bytes;
      const isValid = this.#verifier.verify(
        bytes,
        at + CHECK_SLOT.digest,
        bytes,
        at + CHECK_SLOT.signature,
        bytes,
        at + CHECK_SLOT.signer,
      );
      const before = Atomics.add(words, stateWord, (isValid ? STATE.ACCEPTED : STATE.REFUSED) - STATE.CLAIMED);
      assert((before & STATE_MASK) === STATE.CLAIMED, 'BOARD-2: no other thread answers a claimed check');
      this.#isOwn[ordinal & (CHECK_SLOTS - 1)] = 1;
      return true;
    }
    return false;
  }

  #isOffered(ordinal: number): boolean {
    return this.#ordinals[ordinal & (CHECK_SLOTS - 1)] === ordinal;
  }

  /** Withdraws the check of the command that is about to run, and keeps its verdict if there is one (BOARD-2). */
  withdraw(ordinal: number): void {
    const slot = ordinal & (CHECK_SLOTS - 1);
    this.#verdict = STATE.FREE;
    if (!this.#isOffered(ordinal)) return;
    this.#ordinals[slot] = NO_ORDINAL;
    this.#isOwnVerdict = this.#isOwn[slot] === 1;
    this.#isOwn[slot] = 0;
    const stateWord = slotWord(this.#base, ordinal);
    this.#verdict = this.#free(stateWord);
    assert(this.#verdict !== STATE.FREE, 'BOARD-1: only the owner frees a slot');
    this.#questionAt = stateWord * 4 + CHECK_SLOT.digest;
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
      isSame(digest, digestOffset, this.#bytes, this.#questionAt, HASH_BYTES) &&
      isSame(
        signature,
        signatureOffset,
        this.#bytes,
        this.#questionAt - CHECK_SLOT.digest + CHECK_SLOT.signature,
        SIGNATURE_BYTES,
      ) &&
      isSame(
        signerAddress,
        signerOffset,
        this.#bytes,
        this.#questionAt - CHECK_SLOT.digest + CHECK_SLOT.signer,
        ADDRESS_BYTES,
      );
    if (isAnswered && !this.#isOwnVerdict) this.answeredByOthers++;
    if (isAnswered) return this.#verdict === STATE.ACCEPTED;
    return this.#verifier.verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset);
  }

  /** Starts the next generation of a slot. @returns the state in which the last one ended. */
  #free(stateWord: number): number {
    const words = this.#words;
    // A verifier may change the state between load and exchange, but only the owner changes the generation.
    const next = ((Atomics.load(words, stateWord) & ~STATE_MASK) + GENERATION) | STATE.FREE;
    return Atomics.exchange(words, stateWord, next) & STATE_MASK;
  }
}

/** The side of a verifier thread. */
export class CheckHelper {
  /** Checks made so far. */
  count = 0;
  readonly #verifier: Verifier;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #shards: number;
  /** A copy, because the owner may write the next question into the slot during the check. */
  readonly #question = new Uint8Array(QUESTION_BYTES);
  #shard = 0;

  constructor(board: SharedArrayBuffer, verifier: Verifier) {
    this.#verifier = verifier;
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#shards = (board.byteLength / 4 - CHECK_BOARD.WORDS) / SHARD_WORDS;
    assert(Number.isSafeInteger(this.#shards) && this.#shards > 0, 'board: its size is that of whole shards');
  }

  /** Makes one check, if one is offered. @returns whether one was. */
  help(): boolean {
    const stateWord = this.tryClaim();
    if (stateWord === NO_SLOT) return false;
    this.answer(stateWord);
    return true;
  }

  /** Claims an offered check. @returns the word with the state of its slot, or NO_SLOT. */
  tryClaim(): number {
    for (let tried = 0; tried < this.#shards; tried++) {
      const stateWord = this.#tryClaimFrom(CHECK_BOARD.WORDS + this.#shard * SHARD_WORDS);
      if (stateWord !== NO_SLOT) return stateWord;
      this.#shard = (this.#shard + 1) % this.#shards;
    }
    return NO_SLOT;
  }

  /** Answers a claimed check; the verdict is dropped when the owner has withdrawn the check meanwhile. */
  answer(stateWord: number): void {
    const words = this.#words;
    const claimed = Atomics.load(words, stateWord);
    if ((claimed & STATE_MASK) !== STATE.CLAIMED) return;
    const question = this.#question;
    copy(this.#bytes, stateWord * 4 + CHECK_SLOT.digest, question, 0, QUESTION_BYTES);
    const isValid = this.#verifier.verify(question, 0, question, HASH_BYTES, question, HASH_BYTES + SIGNATURE_BYTES);
    this.count++;
    const answered = (claimed & ~STATE_MASK) | (isValid ? STATE.ACCEPTED : STATE.REFUSED);
    Atomics.compareExchange(words, stateWord, claimed, answered);
  }

  /** Sleeps until a check is offered or `timeoutMs` has passed. */
  sleep(timeoutMs: number): void {
    const words = this.#words;
    const bell = Atomics.load(words, CHECK_BOARD.bell);
    Atomics.store(words, CHECK_BOARD.asleep, 1);
    if (!this.help()) Atomics.wait(words, CHECK_BOARD.bell, bell, timeoutMs);
  }

  /** Starts at the back, because the owner comes from the front. */
  #tryClaimFrom(base: number): number {
    const words = this.#words;
    const start = Atomics.load(words, base + CHECK_QUEUE.start);
    const end = Atomics.load(words, base + CHECK_QUEUE.end);
    const count = Math.min((end - start) | 0, CHECK_SLOTS);
    for (let back = 1; back <= count; back++) {
      const stateWord = slotWord(base, end - back);
      if (tryClaimSlot(words, stateWord)) return stateWord;
    }
    return NO_SLOT;
  }
}

/** Claims the check in a slot, if one is offered there. */
function tryClaimSlot(words: Int32Array, stateWord: number): boolean {
  const offered = Atomics.load(words, stateWord);
  if ((offered & STATE_MASK) !== STATE.OFFERED) return false;
  return Atomics.compareExchange(words, stateWord, offered, offered - STATE.OFFERED + STATE.CLAIMED) === offered;
}

function slotWord(base: number, ordinal: number): number {
  return base + CHECK_QUEUE.WORDS + (ordinal & (CHECK_SLOTS - 1)) * CHECK_SLOT.WORDS;
}

/** A loop: for a few bytes a subarray costs more. */
function copy(from: Uint8Array, fromOffset: number, to: Uint8Array, toOffset: number, length: number): void {
  for (let i = 0; i < length; i++) to[toOffset + i] = from[fromOffset + i];
}

function isSame(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aOffset + i] !== b[bOffset + i]) return false;
  return true;
}
