/**
 * Caches rendered answers to public questions for as long as the contract lets them be old (RULES.md 13.1). Requests
 * for an answer that is being computed wait for that computation: a thousand requests on a cold cache compute it once.
 * The age of an answer counts from the start of its computation, so that no client sees an older state than allowed.
 * Answers are kept as the bytes that are sent, so that a popular answer is encoded as UTF-8 once.
 * Owner: the gateway thread.
 *
 * The content of an answer may depend on a state, such as the revision of the catalogue: an answer of an earlier state
 * is given only if there is none of the present state.
 *
 * Invariants:
 *   SHAREDANSWERS-1  One computation runs at a time for each key and state.
 *   SHAREDANSWERS-2  Only an answer is kept: if a computation failed, or had no answer, the next request computes
 *                    again.
 *   SHAREDANSWERS-3  At most `maxAnswers` answers and `maxBytes` bytes are kept; the answers computed first are
 *                    removed.
 *   SHAREDANSWERS-4  For each answer of a standby it is recorded how recent read.db was when the computation started
 *                    (RULES.md 18.4); a leader gives no such answer.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { type Asker, Askers } from '../base/askers.ts';
import type { Role } from '../base/role.ts';
import type { Call } from './call.ts';
import { okBytes, refuse } from './respond.ts';

/** The bytes of an answer, or null if there is none now. The bytes are never changed. */
type Answer = Buffer | null;
/** A text, or the bytes of one. */
type Computed = string | Buffer | null;
/** @param askers all who wait for the answer @param uses notes that the answer uses another kept answer */
type Compute = (askers: Askers, uses: (part: Buffer) => void) => Computed | Promise<Computed>;
type Underway = { readonly askers: Askers; readonly answer: Promise<Answer> };
type Kept = {
  readonly body: Buffer;
  readonly state: string;
  /** The number of its computation, and when that started. */
  readonly started: number;
  readonly computedMs: number;
  readonly bytes: number;
};

type Bounds = { readonly maxAnswers: number; readonly maxBytes: number };
const BOUNDS: Bounds = { maxAnswers: 4096, maxBytes: 64 * 1024 * 1024 };
/** A character of a key takes up to this many bytes. */
const BYTES_PER_CHARACTER = 2;

export class SharedAnswers {
  readonly #clock: Clock;
  readonly #bounds: Bounds;
  /** Null without a cluster. */
  readonly #role: Pick<Role, 'pastAsOfMs'> | null;
  /** For answers of a standby: the time up to which their content is complete. */
  readonly #asOf = new WeakMap<Buffer, number>();
  /** By key: the answer of the latest state, in the order of computation. */
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

  /** Returns a cache of its own with its own bounds. */
  apart(bounds: Bounds): SharedAnswers {
    return new SharedAnswers(this.#clock, bounds, this.#role);
  }

  /** The bytes of all kept answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the answer to the question `key`, at most `ttlMs` old; at once if it is kept. Null, or an exception, is
   * what `compute` returned or threw. If it returned null, an answer of an earlier state is given if it is not too old.
   */
  get(asker: Asker, key: string, ttlMs: number, compute: Compute, state = ''): Answer | Promise<Answer> {
    const kept = this.#fresh(key, ttlMs);
    if (kept?.state === state) return kept.body;
    const underway = this.#underway.get(inState(key, state));
    if (underway === undefined) return this.#start(new Askers(asker), key, ttlMs, compute, state);
    underway.askers.join(asker);
    return underway.answer;
  }

  /** SHAREDANSWERS-4. Sends an answer that `get` has given, or refuses the call if there is none. */
  send<C extends Call>(call: C, body: Answer, write: (call: C, body: Buffer) => void = okBytes): void {
    if (body === null) return refuse(call, { row: ERRORS.ENGINE_BUSY });
    if (this.#role !== null) call.limitAsOf(this.#asOf.get(body) ?? null);
    write(call, body);
  }

  #fresh(key: string, ttlMs: number): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const ageMs = this.#clock.nowMs() - kept.computedMs;
    // The clock was set back: the age of the answer is unknown.
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
    // A computation that started later, for a later state, may have ended before this one.
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
