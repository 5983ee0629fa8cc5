/**
 * The ids of requests, by which an answer and the log name one (RULES.md 10.23). They are random: a counter would
 * reveal how many requests the exchange receives. Owner: the gateway thread.
 */
import { randomFillSync } from 'node:crypto';

const ID_BYTES = 8;
/** Characters of an id. */
export const ID_LENGTH = 2 * ID_BYTES;
const POOL_IDS = 512;

/** @returns a function that makes ids of 16 hex digits. */
export function requestIds(): () => string {
  const random = Buffer.alloc(POOL_IDS * ID_BYTES);
  // An id is a substring of this text, which V8 does not copy: formatting each id separately would be a call out of V8.
  let pool = '';
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = randomFillSync(random).toString('hex');
      at = 0;
    }
    at += ID_LENGTH;
    return pool.slice(at - ID_LENGTH, at);
  };
}
