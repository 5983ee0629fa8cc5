/**
 * Signature checks that busy shards offer to verifier threads, so that a single busy market can use more than one core.
 * A check is a pure function of three byte strings, so any thread may answer it.
 *
 *   shard (owner)   offers the checks of its queued commands, and withdraws them from the front as the commands run
 *   verifier        claims some checks from the back, of any shard; sleeps on the bell when none is offered
 *
 *         owner              verifier               verifier
 *   FREE ───────► OFFERED ─────────────► CLAIMED ─────────────► ACCEPTED or REFUSED
 *    ▲               │ owner                │ owner                │ owner
 *    └───────────────┴── next generation ───┴──────────────────────┘
 *
 * Invariants:
 *   BOARD-1  Only the owner writes a slot's bytes, and only while it is FREE. If a verifier reads some bytes before
 *            such a write and others after it, its verdict belongs to an older generation and is ignored.
 *   BOARD-2  A verdict counts only while the slot has the generation that its verifier claimed: a delayed verdict never
 *            answers a later question, not even one that the owner has claimed. Without a verdict the owner makes the
 *            check itself; it never waits for a verifier, alive or dead. While a verifier makes the check that is
 *            needed next, the owner makes other, unclaimed checks.
 *   BOARD-3  A verifier looks at the board once more after setting ASLEEP, and an owner reads ASLEEP after publishing,
 *            so at least one of the two notices the other.
 */
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../../shared/base/hex.ts';
import { SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import * as layout from '../../shared/wire/checkLayout.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { VERDICT } from './kernel/instance.ts';
import type { BatchVerifier, Verifier } from './verifier.ts';

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
/** The offset of the signer in a question. */
const SIGNER_AT = HASH_BYTES + SIGNATURE_BYTES;

/** The owner's side of the board. The owner keeps its questions itself (shardChecks.ts). */
export class OfferedChecks {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #base: number;
  /** By slot: the ordinal that is offered there, or NO_ORDINAL. */
  readonly #ordinals = new Float64Array(CHECK_SLOTS).fill(NO_ORDINAL);
  /** By slot: 1 when the owner has claimed its check itself. */
  readonly #isOwn = new Uint8Array(CHECK_SLOTS);

  /** Called for a new thread of the shard: verdicts on offers of an earlier thread are ignored. */
  constructor(board: SharedArrayBuffer, shard: number) {
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#base = CHECK_BOARD.WORDS + shard * SHARD_WORDS;
    this.publish(0, 0);
    for (let slot = 0; slot < CHECK_SLOTS; slot++) this.#free(slotWord(this.#base, slot));
  }

  /**
   * Offers the check of an order with its hash. Its ordinal is less than CHECK_SLOTS above the ordinal of the queue's
   * first command.
   * @param word the offset of the order in `bytes`.
   * @param isAlone true if its signature may not be part of a batch
   */
  offer(ordinal: number, bytes: Uint8Array, word: number, isAlone: boolean): void {
    const slot = ordinal & (CHECK_SLOTS - 1);
    assert(this.#ordinals[slot] === NO_ORDINAL, 'BOARD-1: only a free slot is written');
    this.#ordinals[slot] = ordinal;
    this.#isOwn[slot] = 0;
    const stateWord = slotWord(this.#base, ordinal);
    const at = stateWord * 4;
    copy(bytes, (word + COMMAND.PLACE.hash) * 4, this.#bytes, at + CHECK_SLOT.digest, HASH_BYTES);
    copy(bytes, (word + COMMAND.PLACE.signature) * 4, this.#bytes, at + CHECK_SLOT.signature, SIGNATURE_BYTES);
    copy(bytes, (word + COMMAND.PLACE.signerAddress) * 4, this.#bytes, at + CHECK_SLOT.signer, ADDRESS_BYTES);
    this.#bytes[at + CHECK_SLOT.isAlone] = isAlone ? 1 : 0;
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

  /** True while a verifier is busy with this check. */
  isClaimed(ordinal: number): boolean {
    return this.#isOffered(ordinal) && !this.#isOwnClaim(ordinal) && this.#stateOf(ordinal) === STATE.CLAIMED;
  }

  /** @returns true if the owner may make this check itself: no verifier has it or can still get it */
  claim(ordinal: number): boolean {
    if (!this.#isOffered(ordinal) || this.#isOwnClaim(ordinal)) return true;
    if (!tryClaimSlot(this.#words, slotWord(this.#base, ordinal))) return false;
    this.#isOwn[ordinal & (CHECK_SLOTS - 1)] = 1;
    return true;
  }

  /** Returns the VERDICT of a verifier, UNDECIDED while there is none. */
  verdictOf(ordinal: number): number {
    const state = this.#isOffered(ordinal) ? this.#stateOf(ordinal) : STATE.FREE;
    if (state === STATE.ACCEPTED) return VERDICT.ACCEPTED;
    return state === STATE.REFUSED ? VERDICT.REFUSED : VERDICT.UNDECIDED;
  }

  /** Withdraws the check of a command that runs: no later verdict counts. */
  withdraw(ordinal: number): void {
    if (!this.#isOffered(ordinal)) return;
    this.#ordinals[ordinal & (CHECK_SLOTS - 1)] = NO_ORDINAL;
    const ended = this.#free(slotWord(this.#base, ordinal));
    assert(ended !== STATE.FREE, 'BOARD-1: only the owner frees a slot');
  }

  #isOffered(ordinal: number): boolean {
    return this.#ordinals[ordinal & (CHECK_SLOTS - 1)] === ordinal;
  }

  #isOwnClaim(ordinal: number): boolean {
    return this.#isOwn[ordinal & (CHECK_SLOTS - 1)] === 1;
  }

  #stateOf(ordinal: number): number {
    return Atomics.load(this.#words, slotWord(this.#base, ordinal)) & STATE_MASK;
  }

  /** Starts the next generation of a slot. @returns the state in which the previous generation ended. */
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
  readonly #batches: BatchVerifier | undefined;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #shards: number;
  /** By the word of a slot's state: the state that this helper has claimed. */
  readonly #states: Int32Array;
  /** The claimed checks: the word of each slot's state, and a copy of its question. */
  readonly #claimed: Int32Array;
  /** Copies, because the owner may write the next question into a slot during the check. */
  readonly #questions: Uint8Array;
  /** By index in the batch: the index of the claimed check. */
  readonly #together: Uint16Array;
  #shard = 0;

  constructor(board: SharedArrayBuffer, verifier: Verifier | BatchVerifier) {
    this.#verifier = verifier;
    this.#batches = 'beginBatch' in verifier ? verifier : undefined;
    const most = this.#batches?.mostInBatch ?? 1;
    this.#claimed = new Int32Array(most);
    this.#questions = new Uint8Array(most * QUESTION_BYTES);
    this.#together = new Uint16Array(most);
    this.#words = new Int32Array(board);
    this.#bytes = new Uint8Array(board);
    this.#states = new Int32Array(this.#words.length);
    this.#shards = (board.byteLength / 4 - CHECK_BOARD.WORDS) / SHARD_WORDS;
    assert(Number.isSafeInteger(this.#shards) && this.#shards > 0, 'board: its size is that of whole shards');
  }

  /** Makes some checks of one shard, if any are offered. @returns true if there were any */
  help(): boolean {
    const count = this.#claimSome();
    if (count > 0) this.#answerAll(count);
    return count > 0;
  }

  /** Claims an offered check. @returns the word with the state of its slot, or NO_SLOT. */
  tryClaim(): number {
    for (let tried = 0; tried < this.#shards; tried++) {
      const stateWord = this.#tryClaimFrom(this.#base);
      if (stateWord !== NO_SLOT) return stateWord;
      this.#shard = (this.#shard + 1) % this.#shards;
    }
    return NO_SLOT;
  }

  /** Answers a claimed check; the verdict is dropped if the owner has withdrawn the check meanwhile. */
  answer(stateWord: number): void {
    this.#claimed[0] = stateWord;
    this.#answerAll(1);
  }

  /** Sleeps until a check is offered or `timeoutMs` has passed. */
  sleep(timeoutMs: number): void {
    const words = this.#words;
    const bell = Atomics.load(words, CHECK_BOARD.bell);
    Atomics.store(words, CHECK_BOARD.asleep, 1);
    if (!this.help()) Atomics.wait(words, CHECK_BOARD.bell, bell, timeoutMs);
  }

  get #base(): number {
    return CHECK_BOARD.WORDS + this.#shard * SHARD_WORDS;
  }

  /** Claims at most half of the checks that a shard offers: the owner and other verifiers make the rest meanwhile. */
  #claimSome(): number {
    const claimed = this.#claimed;
    claimed[0] = this.tryClaim();
    if (claimed[0] === NO_SLOT) return 0;
    const most = Math.min(claimed.length, (this.#offeredCount(this.#base) + 1) >>> 1);
    let count = 1;
    while (count < most) {
      const stateWord = this.#tryClaimFrom(this.#base);
      if (stateWord === NO_SLOT) break;
      claimed[count++] = stateWord;
    }
    return count;
  }

  /** Answers all claimed checks: as many as possible in a batch, the others alone. */
  #answerAll(count: number): void {
    let together = 0;
    for (let index = 0; index < count; index++) {
      const stateWord = this.#claimed[index];
      const question = index * QUESTION_BYTES;
      copy(this.#bytes, stateWord * 4 + CHECK_SLOT.digest, this.#questions, question, QUESTION_BYTES);
      const isAlone = this.#bytes[stateWord * 4 + CHECK_SLOT.isAlone] === 1;
      if (isAlone || count === 1 || this.#batches?.isKnown(this.#questions, question + SIGNER_AT) !== true) {
        this.#answerAlone(index);
      } else {
        this.#together[together++] = index;
      }
    }
    if (together > 0 && this.#batches !== undefined) this.#answerTogether(this.#batches, together);
  }

  #answerTogether(batches: BatchVerifier, count: number): void {
    const questions = this.#questions;
    batches.beginBatch();
    for (let index = 0; index < count; index++) {
      const question = this.#together[index] * QUESTION_BYTES;
      batches.addToBatch(questions, question, questions, question + HASH_BYTES, questions, question + SIGNER_AT);
    }
    while (!batches.stepBatch());
    for (let index = 0; index < count; index++) {
      const verdict = batches.verdictOf(index);
      if (verdict === VERDICT.UNDECIDED) this.#answerAlone(this.#together[index]);
      else this.#write(this.#together[index], verdict === VERDICT.ACCEPTED);
    }
  }

  #answerAlone(index: number): void {
    const stateWord = this.#claimed[index];
    if (Atomics.load(this.#words, stateWord) !== this.#states[stateWord]) return;
    const question = index * QUESTION_BYTES;
    const questions = this.#questions;
    const isValid = this.#verifier.verify(
      questions,
      question,
      questions,
      question + HASH_BYTES,
      questions,
      question + SIGNER_AT,
    );
    this.#write(index, isValid);
  }

  /** BOARD-2. Changes nothing if the owner has withdrawn the check since it was claimed. */
  #write(index: number, isValid: boolean): void {
    const stateWord = this.#claimed[index];
    const claimed = this.#states[stateWord];
    this.count++;
    const answered = (claimed & ~STATE_MASK) | (isValid ? STATE.ACCEPTED : STATE.REFUSED);
    Atomics.compareExchange(this.#words, stateWord, claimed, answered);
  }

  #offeredCount(base: number): number {
    const start = Atomics.load(this.#words, base + CHECK_QUEUE.start);
    const end = Atomics.load(this.#words, base + CHECK_QUEUE.end);
    return Math.min((end - start) | 0, CHECK_SLOTS);
  }

  /** Starts at the back, because the owner comes from the front. */
  #tryClaimFrom(base: number): number {
    const count = this.#offeredCount(base);
    const end = Atomics.load(this.#words, base + CHECK_QUEUE.end);
    for (let back = 1; back <= count; back++) {
      const stateWord = slotWord(base, end - back);
      if (tryClaimSlot(this.#words, stateWord, this.#states)) return stateWord;
    }
    return NO_SLOT;
  }
}

/** Claims the check in a slot, if one is offered there. @param states then has the claimed state, at the same word. */
function tryClaimSlot(words: Int32Array, stateWord: number, states?: Int32Array): boolean {
  const offered = Atomics.load(words, stateWord);
  if ((offered & STATE_MASK) !== STATE.OFFERED) return false;
  const claimed = offered - STATE.OFFERED + STATE.CLAIMED;
  if (Atomics.compareExchange(words, stateWord, offered, claimed) !== offered) return false;
  if (states !== undefined) states[stateWord] = claimed;
  return true;
}

function slotWord(base: number, ordinal: number): number {
  return base + CHECK_QUEUE.WORDS + (ordinal & (CHECK_SLOTS - 1)) * CHECK_SLOT.WORDS;
}

/** Copies in a loop, because for a few bytes a subarray costs more. */
function copy(from: Uint8Array, fromOffset: number, to: Uint8Array, toOffset: number, length: number): void {
  for (let i = 0; i < length; i++) to[toOffset + i] = from[fromOffset + i];
}
