/**
 * Sends signed orders so that each is carried out at most once, and finds out the result if an answer was lost.
 *
 * Invariants:
 *   SENDING-1  All attempts for one order have the same body and the same idempotency key, so the exchange carries out
 *              one of them and answers the others alike, even after a restart (RULES.md 6.7).
 */
import { isNotConnected, meaningOf } from '../../../shared/client/answers.ts';
import { ApiError } from '../../../shared/client/http.ts';
import { ask } from './session.ts';

const UUID_BYTES = 16;
const SECOND_MS = 1000;
/** Longer than a restart takes; the idempotency key is valid for a day. */
const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 5000;
/** Refusals after which a repeat of the same request may succeed, once the result of the first attempt is unknown. */
const NOT_YET: readonly string[] = ['ENGINE_BUSY', 'RATE_LIMITED', 'NOT_MATCHING_LEADER', 'PLATFORM_PAUSED'];

/** @param onUnanswered called when an answer was lost and the request is repeated */
export function sendOnce<T>(method: string, path: string, body: unknown, onUnanswered: () => void): Promise<T> {
  const headers = { 'idempotency-key': newKey() };
  return untilAnswered(() => ask<T>(method, path, body, headers), onUnanswered);
}

/** For requests that may be repeated without harm, such as cancels. */
export async function untilAnswered<T>(send: () => Promise<T>, onUnanswered: () => void): Promise<T> {
  const startedMs = performance.now();
  let isUnsettled = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MOST_PAUSE_MS, pauseMs * 2)) {
    try {
      return await send();
    } catch (error) {
      const isLost = meaningOf(error) === 'open' || isNotConnected(error);
      isUnsettled ||= isLost;
      if (!isLost && !(isUnsettled && isOneOf(error, NOT_YET))) throw error;
      onUnanswered();
      const waitMs = Math.max(pauseMs, ((error instanceof ApiError ? error.retryAfter : null) ?? 0) * SECOND_MS);
      if (performance.now() - startedMs + waitMs > PATIENCE_MS)
        throw new Error('No answer: the request may have been carried out. Look at your orders before you go on.');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

function isOneOf(error: unknown, codes: readonly string[]): boolean {
  return error instanceof ApiError && codes.includes(error.code);
}

/** A random UUID; `crypto.randomUUID` exists only on pages loaded over TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(UUID_BYTES));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
