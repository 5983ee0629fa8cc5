/**
 * Where everything lies in the memory through which shards offer signature checks to verifier threads
 * (engine/verify/checkBoard.ts says how).
 *
 *   buffer          header | slots of shard 0 | slots of shard 1 | …
 *   header          BELL, ASLEEP: 128 bytes each
 *   of a shard      START, END: 128 bytes each, the queue's ordinals that may be offered | SLOTS slots of 128 bytes
 *   slot            state (4) | digest (32) | signature (65) | signer (20) | unused (7)
 *   state           generation (29 bits) | FREE, OFFERED, TAKEN, ACCEPTED or REFUSED (3 bits)
 */
import { assert } from './assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from './hex.ts';

/** Of one shard: 12 ms of native checks. */
export const CHECK_SLOTS = 256;

export const LINE_WORDS = 32;
export const SLOT_WORDS = 32;
export const BELL = 0;
export const ASLEEP = LINE_WORDS;
export const HEADER_WORDS = 2 * LINE_WORDS;
/** Words from the beginning of a shard's part. */
export const START = 0;
export const END = LINE_WORDS;
export const SLOTS = 2 * LINE_WORDS;
export const SHARD_WORDS = SLOTS + CHECK_SLOTS * SLOT_WORDS;

export const STATE = { FREE: 0, OFFERED: 1, TAKEN: 2, ACCEPTED: 3, REFUSED: 4 } as const;
export const STATE_MASK = 7;
export const GENERATION = 8;

const SIGNATURE_BYTES = 65;
/** Bytes into a slot. */
export const DIGEST = 4;
export const SIGNATURE = DIGEST + HASH_BYTES;
export const SIGNER = SIGNATURE + SIGNATURE_BYTES;
export const QUESTION_BYTES = HASH_BYTES + SIGNATURE_BYTES + ADDRESS_BYTES;

assert(DIGEST + QUESTION_BYTES <= SLOT_WORDS * 4, 'checks: a question fits into its slot');
assert((CHECK_SLOTS & (CHECK_SLOTS - 1)) === 0, 'checks: the number of slots is a power of two');

export function createCheckBoard(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer((HEADER_WORDS + shards * SHARD_WORDS) * 4);
}
