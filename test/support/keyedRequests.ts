/**
 * Requests with an `Idempotency-Key` that a client repeats: a request whose answer was lost is repeated and carried out
 * once, and an answered one gets the same answer again, from any leader (RULES.md 6.7, 18.3).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ApiError } from '../../shared/client/http.ts';
import { eventually } from './eventually.ts';

type Asked<T> = {
  readonly what: string;
  readonly send: (key: string) => Promise<T>;
  /** False where the exchange may not keep its answer: sent again it may run again, and every answer counts. */
  readonly isKept?: boolean;
  readonly onDone: (answer: T) => void;
  readonly onRefused: (error: ApiError) => void;
};

type Kept = { readonly what: string; readonly again: () => Promise<void>; answer: string | null };

/** Nothing was done, and the key is free or not known yet: the same request is sent again. */
const NOT_FINAL = new Set([
  'ENGINE_BUSY',
  'RATE_LIMITED',
  'NOT_MATCHING_LEADER',
  'PLATFORM_PAUSED',
  'SETTLEMENT_UNHEALTHY',
  'OUTCOME_UNKNOWN',
  'IDEMPOTENCY_KEY_IN_PROGRESS',
]);
/** Requests of a round that are sent again although they were answered. */
const REPEATED = 8;

export class KeyedRequests {
  #kept: Kept[] = [];

  /** Sends it for the first time. It rejects as `send` does; a refusal that is not final is no answer. */
  async first<T>({ what, send, isKept = true, onDone, onRefused }: Asked<T>): Promise<T> {
    const key = randomUUID();
    const kept: Kept = {
      what,
      answer: null,
      again: async () => {
        const [answer, settle] = await eventually(`the answer to ${what}`, async () => {
          try {
            const found = await send(key);
            return isFinal(found) && ([textOf(found), () => onDone(found)] as const);
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            return !NOT_FINAL.has(error.code) && ([textOf(error), () => onRefused(error)] as const);
          }
        });
        if (kept.answer === null || !isKept) settle();
        else assert.equal(answer, kept.answer, `${what} with its key again has the same answer`);
        kept.answer = answer;
      },
    };
    this.#kept.push(kept);
    try {
      const found = await send(key);
      if (isFinal(found)) kept.answer = textOf(found);
      return found;
    } catch (error) {
      if (error instanceof ApiError && !NOT_FINAL.has(error.code)) kept.answer = textOf(error);
      throw error;
    }
  }

  /** After a restart or a takeover. @returns how many there were. */
  async repeat(): Promise<number> {
    const kept = this.#kept;
    this.#kept = [];
    const answered = kept.filter(({ answer }) => answer !== null).slice(-REPEATED);
    const again = [...kept.filter(({ answer }) => answer === null), ...answered];
    for (const each of again) await each.again();
    return again.length;
  }
}

/** A batch with a row whose outcome is not known is not kept: its retry finds the outcome (RULES.md 6.7). */
function isFinal(answer: unknown): boolean {
  const { results = [] } = answer as { readonly results?: readonly { readonly code?: string }[] };
  return results.every(({ code }) => code !== 'OUTCOME_UNKNOWN');
}

/** Of a refusal that no shard has made only status and code are kept. */
function textOf(answer: unknown): string {
  return answer instanceof ApiError ? `${answer.status} ${answer.code}` : JSON.stringify(answer);
}
