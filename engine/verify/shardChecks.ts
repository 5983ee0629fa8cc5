/**
 * The signature checks of a shard (RULES.md 5.11). While commands wait in the queue, it works ahead: it checks the
 * signatures of the waiting commands in one batch, and keeps each verdict until the engine asks for it. It never waits
 * for a batch to fill: a batch has the commands that wait at that moment, and a single order is checked alone. Owner:
 * the shard's thread. The loop calls `work` before each command, for a slice at a time, and `take` when a command runs;
 * then the engine asks.
 *
 *   work ──► gather ──► step … step ──► verdicts ──► take ──► writeHash ──► isSigned
 *      looks for cancels between any two of these
 *
 * One bad signature leaves its whole batch undecided. Then each signature of the batch is checked alone, once: since
 * the keys of all signers are known, this costs about as much as searching for the bad one with smaller batches, and
 * several bad ones cost no more. The account that sent the bad signature stays out of batches for a minute
 * (keptOut.ts).
 *
 * Invariants:
 *   CHECKS-1  A verdict or digest belongs to the bytes of its question, which are kept beside it. If the command has
 *             other bytes, the engine's questions are answered anew.
 *   CHECKS-2  A signature is accepted only if a batch, a check alone or a verifier thread has ACCEPTED it. A signature
 *             of a batch that decided nothing is checked alone, and takes part in no other batch.
 *   CHECKS-3  A batch has only orders whose accounts are entitled to use the signer (RULES.md 5.3) and are not kept
 *             out, and whose signers the verifier knows. So an account can spoil only the batches that have one of its
 *             orders when the first wrong signature is found, and then none for a minute.
 *   CHECKS-4  All questions of a batch are for one signing domain: a batch ends before a command that changes it.
 *   CHECKS-5  A slice adds at most ADDS_PER_SLICE questions to a batch, or makes one step of it, or makes one check
 *             alone.
 *   CHECKS-6  An order of a batch runs only after the batch is decided, so that no later question can be in its slot by
 *             then.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Histogram } from '../../shared/base/histogram.ts';
import { CHECK_SLOTS } from '../../shared/wire/checkLayout.ts';
import * as commands from '../../shared/wire/commands.ts';
import { type RecordMemory, readSafe } from '../../shared/wire/record.ts';
import type { OfferedChecks } from './checkBoard.ts';
import { CheckCounts } from './checkCounts.ts';
import { KeptOut } from './keptOut.ts';
import { VERDICT } from './kernel/instance.ts';
import { type OrderChecks, type OrderDigests, verifyOrder } from './orderChecks.ts';
import type { BatchVerifier, Verifier } from './verifier.ts';

const { ANY_COMMAND, COMMAND, PLACE_BIT_AUTHORIZED, kindBits } = commands;
const { PLACE } = COMMAND;

/** With a shorter queue, the shard has made the checks before a verifier thread wakes up. */
const OFFERED_FROM_LENGTH = 4;
/** More checks than verifiers make during one turn, but few enough that offering them does not delay a cancel. */
const OFFERS_PER_TURN = 16;
/** This many digests take less time than one check. */
const ADDS_PER_SLICE = 8;
/** The number of waiting commands that are searched for signatures of a batch. */
const MOST_SCANNED = 64;

const NO_ORDINAL = -1;
const NO_SLOT = -1;
const { UNDECIDED, ACCEPTED, REFUSED } = VERDICT;
/** A batch left the signature undecided, so it is checked alone. */
const ALONE = 3;
const SLOT_WORDS = PLACE.BYTES >>> 2;
/** The offsets of a question, which is stored beside the header of its command. */
const { hash: HASH, salt: SIGNED } = PLACE;
assert(SIGNED === HASH + 8, 'checks: all that is signed, and the signature, follows the hash');
assert(Math.max(OFFERS_PER_TURN, MOST_SCANNED) <= CHECK_SLOTS, 'checks: every question has a slot of its own');

/** The waiting commands, in the order in which they run: ordinals `first` ≤ ordinal < `end`. */
type WaitingCommands = {
  readonly first: number;
  readonly end: number;
  /** The memory in which `wordOf` points to the command. */
  memoryOf(ordinal: number): RecordMemory;
  wordOf(ordinal: number): number;
  /** True for a PLACE or REPLACE. */
  isSigned(ordinal: number): boolean;
  /** True for a command that may change the signing domain. */
  changesDomain(ordinal: number): boolean;
};

/** The orders that were ever accepted: such a hash is refused before its signature is examined. */
type AcceptedHashes = { has(words: Uint32Array, word: number): boolean };

type ShardChecksParts = {
  readonly digests: OrderDigests;
  readonly verifier: Verifier | BatchVerifier;
  /** Present only if verifier threads run. */
  readonly board?: OfferedChecks | undefined;
  /** The numbers of signatures in batches. */
  readonly batchSizes?: Histogram | undefined;
};

export class ShardChecks implements OrderChecks {
  readonly counts = new CheckCounts();
  readonly #digests: OrderDigests;
  readonly #verifier: Verifier;
  readonly #batches: BatchVerifier | undefined;
  readonly #board: OfferedChecks | undefined;
  readonly #batchSizes: Histogram | undefined;
  readonly #keptOut = new KeptOut();
  /** By slot: a copy of the start of a command, with its digest in the hash field. */
  readonly #words = new Uint32Array(CHECK_SLOTS * SLOT_WORDS);
  readonly #bytes = new Uint8Array(this.#words.buffer);
  readonly #ordinals = new Float64Array(CHECK_SLOTS).fill(NO_ORDINAL);
  /** By slot: a VERDICT, or ALONE. */
  readonly #states = new Uint8Array(CHECK_SLOTS);
  /** Checks of commands below this ordinal have been offered to verifier threads or skipped. */
  #offeredEnd = 0;
  /** The ordinals in the unfinished batch, and the ordinal with which it continues, or NO_ORDINAL if it is complete. */
  readonly #members = new Float64Array(CHECK_SLOTS);
  #memberCount = 0;
  #gatherAt = NO_ORDINAL;
  /** The slot of the running command, if there is one. */
  #taken = NO_SLOT;

  constructor({ digests, verifier, board, batchSizes }: ShardChecksParts) {
    this.#digests = digests;
    this.#verifier = verifier;
    this.#batches = 'beginBatch' in verifier ? verifier : undefined;
    this.#board = board;
    this.#batchSizes = batchSizes;
    assert((this.#batches?.mostInBatch ?? 0) <= CHECK_SLOTS, 'checks: every question of a batch has a slot');
  }

  /** Spends a slice on signatures. @returns false, without spending one, if the first command should run now. */
  work(queue: WaitingCommands, accepted: AcceptedHashes): boolean {
    if (this.#board !== undefined) this.#offer(queue, this.#board);
    const { first } = queue;
    if (!queue.isSigned(first)) return false;
    const state = this.#stateOf(first);
    if (state === ACCEPTED || state === REFUSED) return false;
    if (this.#memberCount > 0) return this.#goOn(queue, accepted);
    if (state === ALONE) {
      this.#checkAlone(this.#slotOf(first));
      return true;
    }
    return this.#begin(queue, accepted);
  }

  /** Call when the command runs: the results for it now answer the engine's questions. */
  take(ordinal: number): void {
    this.#taken = this.#slotOf(ordinal);
    if (this.#taken === NO_SLOT) return;
    this.#board?.withdraw(ordinal);
    this.#ordinals[this.#taken] = NO_ORDINAL;
  }

  writeHash(words: Uint32Array, bytes: Uint8Array, word: number): void {
    if (!this.#isTaken(words, word, SIGNED)) {
      this.#digests.placeDigest(words, bytes, word, bytes, (word + HASH) * 4);
      return;
    }
    const from = this.#taken * SLOT_WORDS;
    for (let i = HASH; i < SIGNED; i++) words[word + i] = this.#words[from + i];
  }

  isSigned(words: Uint32Array, bytes: Uint8Array, word: number): boolean {
    const state = this.#isTaken(words, word, HASH) ? this.#states[this.#taken] : UNDECIDED;
    if (state === ACCEPTED || state === REFUSED) return state === ACCEPTED;
    this.counts.alone++;
    const isSigned = verifyOrder(this.#verifier, bytes, word);
    if (!isSigned) this.#keepOut(words, word);
    return isSigned;
  }

  setDomain(chainId: number, exchange: Uint8Array): void {
    const hasQuestions = this.#ordinals.some((ordinal) => ordinal !== NO_ORDINAL);
    assert(!hasQuestions && this.#memberCount === 0, 'CHECKS-4: no question of the former domain is kept');
    this.#taken = NO_SLOT;
    this.#digests.setDomain(chainId, exchange);
  }

  isFor(chainId: number, exchange: Uint8Array): boolean {
    return this.#digests.isFor(chainId, exchange);
  }

  /** Starts a batch with the first command, or with others while a verifier thread checks that one. */
  #begin(queue: WaitingCommands, accepted: AcceptedHashes): boolean {
    const { first } = queue;
    const isElsewhere = this.#board?.isClaimed(first) === true;
    if (this.#batches === undefined) return isElsewhere && this.#checkAnother(queue);
    this.#batches.beginBatch();
    // The first order may be refused before its signature matters: outside of a batch it is checked when the engine
    // asks.
    if (!isElsewhere && !this.#join(first, queue, accepted, this.#batches)) return false;
    this.#gatherAt = first + 1;
    return this.#gather(queue, accepted, this.#batches, ADDS_PER_SLICE - this.#memberCount);
  }

  /** Adds waiting orders to the batch, up to the limit. @returns true if there is a batch or one check was made. */
  #gather(queue: WaitingCommands, accepted: AcceptedHashes, batches: BatchVerifier, most: number): boolean {
    const end = Math.min(queue.end, queue.first + MOST_SCANNED);
    let adds = 0;
    let at = this.#gatherAt;
    for (; at < end && adds < most && this.#memberCount < batches.mostInBatch; at++) {
      if (queue.changesDomain(at)) break;
      if (this.#join(at, queue, accepted, batches)) adds++;
    }
    this.#gatherAt = adds === most ? at : NO_ORDINAL;
    if (this.#memberCount > 1) return true;
    const isOnlyFirst = this.#memberCount === 0 || this.#members[0] === queue.first;
    this.#memberCount = 0;
    if (isOnlyFirst) return false;
    this.#checkAlone(this.#slotOf(this.#members[0]));
    return true;
  }

  /** Continues the unfinished batch by a slice. */
  #goOn(queue: WaitingCommands, accepted: AcceptedHashes): boolean {
    const batches = this.#batches;
    assert(batches !== undefined, 'checks: a batch under way has a verifier');
    if (this.#gatherAt !== NO_ORDINAL) return this.#gather(queue, accepted, batches, ADDS_PER_SLICE);
    if (!batches.stepBatch()) return true;
    let isUndecided = false;
    for (let index = 0; index < this.#memberCount; index++) {
      const slot = this.#slotOf(this.#members[index]);
      assert(slot !== NO_SLOT, 'CHECKS-6: the orders of a batch wait until it is decided');
      const verdict = batches.verdictOf(index);
      if (verdict === UNDECIDED) {
        isUndecided = true;
        this.#states[slot] = ALONE;
      } else {
        this.counts.together++;
        this.#decide(slot, verdict === ACCEPTED);
      }
    }
    this.#batchSizes?.observe(this.#memberCount);
    if (isUndecided) this.counts.undecided++;
    this.#memberCount = 0;
    return true;
  }

  /** CHECKS-3. Adds a waiting order to the batch, if this is allowed and no verifier thread has its check. */
  #join(ordinal: number, queue: WaitingCommands, accepted: AcceptedHashes, batches: BatchVerifier): boolean {
    if (!queue.isSigned(ordinal) || this.#stateOf(ordinal) !== UNDECIDED) return false;
    const { words, bytes } = queue.memoryOf(ordinal);
    const word = queue.wordOf(ordinal);
    if (!this.#isWelcome(words, word) || !batches.isKnown(bytes, (word + PLACE.signerAddress) * 4)) return false;
    const slot = this.#prepare(ordinal, queue);
    const at = slot * SLOT_WORDS;
    if (accepted.has(this.#words, at + HASH)) return false;
    if (this.#board !== undefined && !this.#board.claim(ordinal)) return false;
    this.#members[this.#memberCount++] = ordinal;
    batches.addToBatch(
      this.#bytes,
      (at + HASH) * 4,
      this.#bytes,
      (at + PLACE.signature) * 4,
      this.#bytes,
      (at + PLACE.signerAddress) * 4,
    );
    return true;
  }

  /** Returns true if the order's account may use the signer and has recently sent no wrong signature. */
  #isWelcome(words: Uint32Array, word: number): boolean {
    if ((kindBits(words[word + PLACE.kind]) & PLACE_BIT_AUTHORIZED) === 0) return false;
    return !this.#keptOut.has(words[word + ANY_COMMAND.account], readSafe(words, word + ANY_COMMAND.timeMs));
  }

  /** Without batches: while a verifier thread makes the first check, makes another of the offered checks. */
  #checkAnother(queue: WaitingCommands): boolean {
    for (let ordinal = queue.first + 1; ordinal < this.#offeredEnd; ordinal++) {
      const slot = this.#slotOf(ordinal);
      if (slot === NO_SLOT || this.#states[slot] !== UNDECIDED || !this.#board?.claim(ordinal)) continue;
      this.#checkAlone(slot);
      return true;
    }
    return false;
  }

  #checkAlone(slot: number): void {
    this.counts.alone++;
    this.#decide(slot, verifyOrder(this.#verifier, this.#bytes, slot * SLOT_WORDS));
  }

  #decide(slot: number, isAccepted: boolean): void {
    this.#states[slot] = isAccepted ? ACCEPTED : REFUSED;
    if (!isAccepted) this.#keepOut(this.#words, slot * SLOT_WORDS);
  }

  /** Orders that fail this condition are in no batch anyway. */
  #keepOut(words: Uint32Array, word: number): void {
    if (!this.#isWelcome(words, word)) return;
    this.counts.keptOut++;
    this.#keptOut.add(words[word + ANY_COMMAND.account], readSafe(words, word + ANY_COMMAND.timeMs));
  }

  #slotOf(ordinal: number): number {
    const slot = ordinal & (CHECK_SLOTS - 1);
    return this.#ordinals[slot] === ordinal ? slot : NO_SLOT;
  }

  /** Returns the state of a waiting order. Takes over the verdict of a verifier thread. */
  #stateOf(ordinal: number): number {
    const slot = this.#slotOf(ordinal);
    if (slot === NO_SLOT) return UNDECIDED;
    if (this.#states[slot] !== UNDECIDED || this.#board === undefined) return this.#states[slot];
    const verdict = this.#board.verdictOf(ordinal);
    if (verdict === UNDECIDED) return UNDECIDED;
    this.counts.byVerifiers++;
    this.#decide(slot, verdict === ACCEPTED);
    return verdict;
  }

  /** CHECKS-1. Returns true if the words of the order from `start` on equal the words of the slot that was taken. */
  #isTaken(words: Uint32Array, word: number, start: number): boolean {
    if (this.#taken === NO_SLOT) return false;
    const from = this.#taken * SLOT_WORDS;
    for (let i = start; i < SLOT_WORDS; i++) if (this.#words[from + i] !== words[word + i]) return false;
    return true;
  }

  /** Copies the question of a waiting order into its slot, once, and computes its digest. */
  #prepare(ordinal: number, queue: WaitingCommands): number {
    const slot = ordinal & (CHECK_SLOTS - 1);
    if (this.#ordinals[slot] === ordinal) return slot;
    assert(this.#ordinals[slot] === NO_ORDINAL, 'checks: the order that had the slot has run');
    this.#ordinals[slot] = ordinal;
    this.#states[slot] = UNDECIDED;
    const at = slot * SLOT_WORDS;
    const { words } = queue.memoryOf(ordinal);
    const word = queue.wordOf(ordinal);
    for (let i = 0; i < SLOT_WORDS; i++) this.#words[at + i] = words[word + i];
    this.#digests.placeDigest(this.#words, this.#bytes, at, this.#bytes, (at + HASH) * 4);
    return slot;
  }

  /**
   * Offers checks to verifier threads. Skips the first command of the queue, because this shard checks it next anyway.
   */
  #offer(queue: WaitingCommands, board: OfferedChecks): void {
    const { first, end } = queue;
    if (end - first < OFFERED_FROM_LENGTH || queue.changesDomain(first)) return;
    const start = Math.max(this.#offeredEnd, first + 1);
    const most = Math.min(end, first + CHECK_SLOTS, start + OFFERS_PER_TURN);
    let at = start;
    for (; at < most && !queue.changesDomain(at); at++) {
      if (!queue.isSigned(at) || this.#slotOf(at) !== NO_SLOT) continue;
      const slot = this.#prepare(at, queue);
      board.offer(at, this.#bytes, slot * SLOT_WORDS, !this.#isWelcome(this.#words, slot * SLOT_WORDS));
    }
    if (at === start) return;
    this.#offeredEnd = at;
    board.publish(first + 1, at);
  }
}
