/**
 * Rendered answers to public questions, kept for as long as the contract lets them be old (RULES.md 13.1). Requests
 * that ask while an answer is being computed wait for that computation: a cold cache under a thousand requests computes
 * once. The age of an answer counts from the start of its computation, so that no client sees an older state than that.
 * Answers are kept as the bytes that are sent, so that one that is asked for often is written as UTF-8 once.
 * Owner: the gateway thread.
 *
 * What an answer shows may have a state, such as the revision of the catalogue: an answer of an earlier state is given
 * only where there is none of the present one.
 *
 * Invariants:
 *   SHAREDANSWERS-1  One computation of a key in a state runs at a time.
 *   SHAREDANSWERS-2  Only an answer is kept: a computation that failed, or had no answer, is made again by the next
 *                    request.
 *   SHAREDANSWERS-3  At most `maxAnswers` answers and `maxBytes` of them are kept; those computed first make room.
 *   SHAREDANSWERS-4  Of an answer of a standby is known how new read.db was when its computation started (RULES.md
 *                    18.4), and a leader gives none.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { type Asker, Askers } from '../base/askers.ts';
import type { Role } from '../base/role.ts';
import type { Call } from './call.ts';

/** The bytes of an answer, or null when there is none now. They are never written to. */
type Answer = Buffer | null;
/** A text, or one that is bytes already. */
type Computed = string | Buffer | null;
/**
 * @param askers all who wait for the answer
 * @param uses notes that the answer rests on one that is kept
 */
type Compute = (askers: Askers, uses: (part: Buffer) => void) => Computed | Promise<Computed>;
type Underway = { readonly askers: Askers; readonly answer: Promise<Answer> };
type Kept = {
  readonly body: Buffer;
  readonly state: string;
  /** Number of its computation, and when that started. */
  readonly started: number;
  readonly computedMs: number;
  readonly bytes: number;
};

type Bounds = { readonly maxAnswers: number; readonly maxBytes: number };
const BOUNDS: Bounds = { maxAnswers: 4096, maxBytes: 64 * 1024 * 1024 };
/** A character of a key takes up to so many bytes. */
const BYTES_PER_CHARACTER = 2;

export class SharedAnswers {
  readonly #clock: Clock;
  readonly #bounds: Bounds;
  /** Null without a cluster. */
  readonly #role: Pick<Role, 'pastAsOfMs'> | null;
  /** Of the answers of a standby: how new what they show is. */
  readonly #asOf = new WeakMap<Buffer, number>();
  /** By key, the latest of its states, in the order in which they were computed. */
  readonly #kept = new Map<string, Kept>();
  /** By key and state. */
  readonly #underway = new Map<string, Underway>();
  #bytes = 0;
  #started = 0;

  constructor(clock: Clock, bounds = BOUNDS, role: Pick<Role, 'pastAsOfMs'> | null = null) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#role = role;
  }

  /** Answers of their own, with bounds of their own. */
  apart(bounds: Bounds): SharedAnswers {
    return new SharedAnswers(this.#clock, bounds, this.#role);
  }

  /** Bytes of the answers that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The answer to the question `key`, at most `ttlMs` old, at once if it is kept. Null, or an exception, is what
   * `compute` returned or threw. Where it returned null, an answer of an earlier state that is not too old is given.
   */
  get(asker: Asker, key: string, ttlMs: number, compute: Compute, state = ''): Answer | Promise<Answer> {
    const kept = this.#fresh(key, ttlMs);
    if (kept?.state === state) return kept.body;
    const underway = this.#underway.get(inState(key, state));
    if (underway === undefined) return this.#start(new Askers(asker), key, ttlMs, compute, state);
    underway.askers.join(asker);
    return underway.answer;
  }

  /** SHAREDANSWERS-4: before it answers a call. */
  date(call: Pick<Call, 'limitAsOf'>, body: Buffer): void {
    if (this.#role !== null) call.limitAsOf(this.#asOf.get(body) ?? null);
  }

  #fresh(key: string, ttlMs: number): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const ageMs = this.#clock.nowMs() - kept.computedMs;
    // The clock was set back: how old the answer is cannot be said.
    if (ageMs < 0 || ageMs >= ttlMs) return undefined;
    const isOfStandby = this.#asOf.has(kept.body);
    return isOfStandby && this.#role!.pastAsOfMs === null ? undefined : kept;
  }

  #start(askers: Askers, key: string, ttlMs: number, compute: Compute, state: string): Promise<Answer> {
    const name = inState(key, state);
    const answer = this.#compute(askers, key, ttlMs, compute, state).finally(() => this.#underway.delete(name));
    assert(!this.#underway.has(name), 'SHAREDANSWERS-1: one computation of a key in a state runs at a time');
    this.#underway.set(name, { askers, answer });
    return answer;
  }

  /** SHAREDANSWERS-2. */
  async #compute(askers: Askers, key: string, ttlMs: number, compute: Compute, state: string): Promise<Answer> {
    const computedMs = this.#clock.nowMs();
    const started = ++this.#started;
    let asOfMs = this.#role?.pastAsOfMs ?? null;
    const text = await compute(askers, (part) => {
      const ofPart = this.#asOf.get(part);
      asOfMs = asOfMs === null || ofPart === undefined ? null : Math.min(asOfMs, ofPart);
    });
    if (text === null) return this.#fresh(key, ttlMs)?.body ?? null;
    const body = typeof text === 'string' ? Buffer.from(text) : text;
    if (asOfMs !== null) this.#asOf.set(body, asOfMs);
    // A computation that started later, in a later state, may have ended before this one.
    const isLatest = started > (this.#kept.get(key)?.started ?? 0);
    const bytes = BYTES_PER_CHARACTER * (key.length + state.length) + body.length;
    if (isLatest) this.#keep(key, { body, state, started, computedMs, bytes });
    return body;
  }

  #keep(key: string, answer: Kept): void {
    this.#remove(key);
    const { maxAnswers, maxBytes } = this.#bounds;
    if (answer.bytes > maxBytes) return;
    while (this.#kept.size >= maxAnswers || this.#bytes + answer.bytes > maxBytes) {
      this.#remove(this.#kept.keys().next().value!);
    }
    this.#kept.set(key, answer);
    this.#bytes += answer.bytes;
    assert(this.#bytes <= maxBytes && this.#kept.size <= maxAnswers, 'SHAREDANSWERS-3: what is kept is bounded');
  }

  #remove(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

function inState(key: string, state: string): string {
  return `${state}\n${key}`;
}
