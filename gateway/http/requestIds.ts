/**
 * The ids of requests, by which an answer and the log name one (RULES.md 10.23). They are random: a count would say how
 * many requests the exchange gets.
 * Owner: the gateway thread.
 */
import { randomFillSync } from 'node:crypto';

const ID_BYTES = 8;
const POOL_BYTES = 512 * ID_BYTES;

/** @returns a function that makes ids of 16 hex digits. */
export function requestIds(): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let at = POOL_BYTES;
  return () => {
    if (at === POOL_BYTES) {
      randomFillSync(pool);
      at = 0;
    }
    at += ID_BYTES;
    return pool.toString('hex', at - ID_BYTES, at);
  };
}
