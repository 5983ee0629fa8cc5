/**
 * The idempotency stage (RULES.md 6.7): a key of an account on a route is answered once. Whoever comes with it again is
 * given the same answer; while the first request is in flight, or with another payload, a refusal.
 * Owner: the gateway thread. Who is in flight is only in memory, so a crash leaves no key stuck; what was answered is
 * in idempotency.db before anybody reads it.
 *
 *   request ──► stored? ──yes──► replayed
 *                 │ no, or not resolved (a crash took the answer)
 *                 ▼
 *              held ──► handler ──► answer ──kept──► sent, key free
 *
 * Invariants:
 *   D1  A key is held from `begin` to `end` of exactly one call.
 *   D2  A refused call holds nothing, so its end frees nothing of the call it was refused for.
 *   D3  An answer that a key keeps is sent when it is durable, not before.
 *   D4  While it is not known whether a request was carried out, no refusal that came before the shard was asked
 *       becomes its answer.
 */
import { hash } from 'node:crypto';
import { assert } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { EXT_ROUTE } from '../shared/commands.ts';
import { ERRORS, type ErrorRow, type Storable } from '../shared/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../shared/hex.ts';
import type { Call, IdempotencyHold, KeptAnswer } from './call.ts';
import { type KeyedAnswer, type StoredAnswer, UNRESOLVED } from './idempotency/answerDb.ts';
import type { Answers } from './idempotency/answers.ts';
import { replay } from './respond.ts';
import type { Route } from './route.ts';

export type AnswerStore = Pick<Answers, 'isOpen' | 'find' | 'keep'> & {
  oldestInFlightMs: Answers['oldestInFlightMs'];
};

const ROUTES: ReadonlyMap<string, number> = new Map([
  ['POST /v1/orders', EXT_ROUTE.PLACE],
  ['POST /v1/orders/batch', EXT_ROUTE.BATCH],
  ['POST /v1/orders/cancel-replace', EXT_ROUTE.CANCEL_REPLACE],
  ['PUT /v1/orders/:hash/amend', EXT_ROUTE.AMEND],
  ['DELETE /v1/orders/batch', EXT_ROUTE.BATCH_CANCEL],
]);

/** What `begin` has done: let the call on, answered it with what is stored, or found why it cannot go on. */
export type Begun = 'held' | 'replayed' | ErrorRow;

type InFlight = { readonly fingerprint: Uint8Array; readonly sinceMs: number };

export class IdempotencyStage {
  readonly #answers: AnswerStore;
  readonly #clock: Clock;
  readonly #inFlight = new Map<string, InFlight>();

  constructor(answers: AnswerStore, clock: Clock) {
    this.#answers = answers;
    this.#clock = clock;
    answers.oldestInFlightMs = (nowMs) => {
      let oldestMs = nowMs;
      for (const { sinceMs } of this.#inFlight.values()) oldestMs = Math.min(oldestMs, sinceMs);
      return oldestMs;
    };
  }

  /** For a call that has a key. */
  begin(call: Call, route: Route): Begun {
    const key = new Uint8Array(UUID_BYTES);
    if (!uuidToBytes(call.idempotencyKey, key, 0)) return ERRORS.IDEMPOTENCY_KEY_MALFORMED;
    call.idempotencyKey = call.idempotencyKey.toLowerCase();
    assert(call.key !== null, 'idempotency: the route is not for keys');
    const number = ROUTES.get(`${route.method} ${route.path}`);
    assert(number !== undefined, 'idempotency: the route has no number');
    const place = { account: call.key.accountIndex, route: number, key };
    const digest = hash('sha256', Buffer.concat([Buffer.from(`${call.method} ${call.target}\n`), call.body]), 'buffer');
    const fingerprint = new Uint8Array(digest.subarray(0, UUID_BYTES));
    const slot = `${place.account} ${number} ${call.idempotencyKey}`;

    const holder = this.#inFlight.get(slot);
    if (holder !== undefined) {
      const isSame = Buffer.compare(holder.fingerprint, fingerprint) === 0;
      return isSame ? ERRORS.IDEMPOTENCY_KEY_IN_PROGRESS : ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH;
    }
    if (!this.#answers.isOpen) return ERRORS.ENGINE_BUSY;
    const stored = this.#answers.find(place);
    if (stored !== null && Buffer.compare(stored.fingerprint, fingerprint) !== 0) {
      return ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH;
    }
    if (stored !== null && stored.status !== UNRESOLVED) {
      replay(call, stored.status, stored.body);
      return 'replayed';
    }
    const sinceMs = this.#clock.nowMs();
    this.#inFlight.set(slot, { fingerprint, sinceMs });
    call.idempotencyHold = new Hold(this.#answers, slot, { ...place, fingerprint, createdMs: sinceMs }, stored, call);
    return 'held';
  }

  end(call: Call): void {
    if (call.idempotencyHold === null) return;
    this.#inFlight.delete(call.idempotencyHold.slot);
    call.idempotencyHold = null;
  }
}

/** A key in the hands of the call that will answer for it. */
class Hold implements IdempotencyHold {
  readonly slot: string;
  readonly place: Omit<KeyedAnswer, 'status' | 'body'>;
  readonly words: IdempotencyHold['words'];
  /** It may have been carried out before, by a request whose answer was lost. */
  readonly isUnresolved: boolean;
  readonly #answers: AnswerStore;
  readonly #call: Call;

  constructor(
    answers: AnswerStore,
    slot: string,
    place: Omit<KeyedAnswer, 'status' | 'body'>,
    stored: StoredAnswer | null,
    call: Call,
  ) {
    this.#answers = answers;
    this.#call = call;
    this.slot = slot;
    this.place = place;
    this.words = { words: wordsOf(place.key), fingerprint: wordsOf(place.fingerprint) };
    this.isUnresolved = stored !== null;
  }

  /** What of an answer is to be kept before it is sent; null when it may go at once. */
  toKeep(answer: KeptAnswer, storable: Storable): KeptAnswer | null {
    // Another payload must not have the key while nobody knows what became of this one.
    if (this.#call.isUnresolved) return { status: UNRESOLVED, body: '' };
    // D4.
    if (this.isUnresolved && !this.#call.dispatched) return null;
    if (storable === 'never' || (storable === 'batch' && !this.#isBatch)) return null;
    return answer;
  }

  /** D3. */
  keep(answer: KeptAnswer, whenKept: (isKept: boolean) => void): void {
    this.#answers.keep({ ...this.place, ...answer }, whenKept);
  }

  get #isBatch(): boolean {
    return this.place.route === EXT_ROUTE.BATCH || this.place.route === EXT_ROUTE.BATCH_CANCEL;
  }
}

/** A copy, whose start is aligned. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
