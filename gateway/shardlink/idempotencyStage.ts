/**
 * The idempotency stage (RULES.md 6.7): a request with an account's key is carried out once. A repeat receives the same
 * answer; it is refused while the first request is in flight, or if its payload or route differs. Owner: the gateway
 * thread. The keys in flight are only in memory, so a crash leaves no key stuck; an answer is in idempotency.db before
 * it is sent.
 *
 *   request ──► stored? ──yes──► replayed
 *                 │ no, or unresolved (a crash took the answer)
 *                 ▼
 *              held ──► handler ──► answer ──stored──► sent, key free
 *
 * Invariants:
 *   HOLD-1  A key is held from `tryHold` to `release` of exactly one call.
 *   HOLD-2  A refused call holds no key, so releasing it does not free the key of the call in flight.
 *   HOLD-3  An answer that is stored with its key is sent when it is durable, not before.
 *   HOLD-4  While it is unknown whether an earlier request with the key was carried out, a refusal made before the
 *           shard was asked is not stored as its answer.
 *   HOLD-5  While the disk is nearly full, nothing is stored for a cancel or for a call that no handler has seen, so
 *           that repeats by clients use no space. A cancel is still answered.
 */
import { hash } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS, type ErrorRow, type Storable } from '../../shared/base/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import { isAccount } from '../base/principal.ts';
import type { Call } from '../http/call.ts';
import type { IdempotencyHold, StoredReply } from '../http/hold.ts';
import { replay } from '../http/respond.ts';
import type { IdempotencyStage as Stage } from '../http/stages.ts';
import type { KeyedAnswer } from './answerBatch.ts';
import { type StoredAnswer, UNRESOLVED } from './answerDb.ts';
import type { Answers } from './answers.ts';
import { KeysInFlight } from './keysInFlight.ts';

export type AnswerStore = Pick<Answers, 'isOpen' | 'isDiskFull' | 'find' | 'keep'>;

type KeyedUse = Omit<KeyedAnswer, 'status' | 'body'>;

export class IdempotencyStage implements Stage {
  readonly #answers: AnswerStore;
  readonly #clock: Clock;
  readonly #inFlight: KeysInFlight;
  readonly #isDiskLow: () => boolean;

  constructor(answers: AnswerStore, clock: Clock, inFlight = new KeysInFlight(), isDiskLow = () => false) {
    this.#answers = answers;
    this.#clock = clock;
    this.#inFlight = inFlight;
    this.#isDiskLow = () => isDiskLow() || answers.isDiskFull;
  }

  get isDiskFull(): boolean {
    return this.#answers.isDiskFull;
  }

  tryHold(call: Call, route: number): 'held' | 'replayed' | ErrorRow {
    const key = new Uint8Array(UUID_BYTES);
    if (!uuidToBytes(call.idempotencyKey, key, 0)) return ERRORS.IDEMPOTENCY_KEY_MALFORMED;
    call.idempotencyKey = call.idempotencyKey.toLowerCase();
    assert(isAccount(call.principal), 'idempotency: only routes of accounts accept keys');
    const account = call.principal.accountIndex;
    const signed = Buffer.concat([Buffer.from(`${call.method} ${call.target}\n`), call.bodyBytes]);
    const digest = hash('sha256', signed, 'buffer');
    const fingerprint = new Uint8Array(digest.subarray(0, UUID_BYTES));
    const slot = `${account} ${call.idempotencyKey}`;

    const holder = this.#inFlight.find(slot);
    if (holder !== undefined) {
      const isSame = Buffer.compare(holder.fingerprint, fingerprint) === 0;
      return isSame ? ERRORS.IDEMPOTENCY_KEY_IN_PROGRESS : ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH;
    }
    const isCancelOnly = route === EXT_ROUTE.BATCH_CANCEL && this.#isDiskLow();
    if (!this.#answers.isOpen && !isCancelOnly) return ERRORS.ENGINE_BUSY;
    const stored = this.#answers.find({ account, key, fingerprint });
    if (stored !== null && Buffer.compare(stored.fingerprint, fingerprint) !== 0) {
      return ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH;
    }
    if (stored !== null && stored.status !== UNRESOLVED) {
      replay(call, stored.status, stored.body);
      return 'replayed';
    }
    const sinceMs = this.#clock.nowMs();
    this.#inFlight.add(slot, { fingerprint, sinceMs });
    const use = { account, route, key, fingerprint, createdMs: sinceMs };
    call.idempotencyHold = new Hold(this.#answers, this.#isDiskLow, slot, use, stored, call);
    return 'held';
  }

  release(call: Call): void {
    if (call.idempotencyHold === null) return;
    const isHeld = this.#inFlight.remove(call.idempotencyHold.slot);
    assert(isHeld, 'HOLD-1: a key is held until its call is over');
    call.idempotencyHold = null;
  }
}

class Hold implements IdempotencyHold {
  readonly slot: string;
  readonly use: KeyedUse;
  readonly words: IdempotencyHold['words'];
  readonly mayHaveRun: boolean;
  readonly #answers: AnswerStore;
  readonly #isDiskLow: () => boolean;
  readonly #call: Call;
  #isUnresolved = false;

  constructor(
    answers: AnswerStore,
    isDiskLow: () => boolean,
    slot: string,
    use: KeyedUse,
    stored: StoredAnswer | null,
    call: Call,
  ) {
    this.#answers = answers;
    this.#isDiskLow = isDiskLow;
    this.#call = call;
    this.slot = slot;
    this.use = use;
    this.words = { key: wordsOf(use.key), fingerprint: wordsOf(use.fingerprint) };
    this.mayHaveRun = stored !== null;
  }

  leaveUnresolved(): void {
    this.#isUnresolved = true;
  }

  toStore(reply: StoredReply, storable: Storable): StoredReply | null {
    if ((this.#isCancel || !this.#call.dispatched) && this.#isDiskLow()) return null;
    // The key must stay bound to this payload while it is unknown whether the request was carried out.
    if (this.#isUnresolved) return { status: UNRESOLVED, body: '' };
    // HOLD-4
    if (this.mayHaveRun && !this.#call.dispatched) return null;
    if (storable === 'never' || (storable === 'batch' && !this.#isBatch)) return null;
    return reply;
  }

  /** HOLD-3, and HOLD-5 where the disk turns out to be full. */
  store(reply: StoredReply, whenStored: (isStored: boolean) => void): void {
    this.#answers.keep({ ...this.use, ...reply }, (isStored) => {
      whenStored(isStored || (this.#isCancel && this.#answers.isDiskFull));
    });
  }

  get #isBatch(): boolean {
    return this.use.route === EXT_ROUTE.BATCH || this.#isCancel;
  }

  get #isCancel(): boolean {
    return this.use.route === EXT_ROUTE.BATCH_CANCEL;
  }
}

/** A copy, because the bytes of a view need not be aligned. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
