/**
 * Layout of the memory through which shards offer signature checks to verifier threads (engine/verify/checkBoard.ts
 * explains how). RECORDS.md draws the records.
 *
 *   buffer   CHECK_BOARD | part of shard 0 | part of shard 1 | …
 *   part     CHECK_QUEUE | CHECK_SLOTS times CHECK_SLOT
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../base/hex.ts';
import { byteRecord, bytes, line, record, u32 } from './layout.ts';

/** Slots of one shard: 12 ms of native checks. */
export const CHECK_SLOTS = 256;
const SIGNATURE_BYTES = 65;

export const CHECK_BOARD = record(
  'CHECK_BOARD',
  { bell: line('changes when checks are offered'), asleep: line('1 while a verifier may be waiting') },
  'The bell that all shards and verifiers share.',
);
export const CHECK_QUEUE = record(
  'CHECK_QUEUE',
  { start: line('first ordinal that may be offered'), end: line('the ordinal after the last one') },
  'The commands of a shard that may have checks on the board: the slots of the shard follow.',
);
export const CHECK_SLOT = byteRecord(
  'CHECK_SLOT',
  {
    state: u32('generation (29 bits) | STATE (3 bits)'),
    digest: bytes(HASH_BYTES),
    signature: bytes(SIGNATURE_BYTES),
    signer: bytes(ADDRESS_BYTES),
    isAlone: bytes(1, '1 when it takes part in no batch'),
    unused: bytes(6),
  },
  'One question and its answer; offsets in bytes.',
);
/** Length of one shard's part, in words. */
export const SHARD_WORDS = CHECK_QUEUE.WORDS + CHECK_SLOTS * CHECK_SLOT.WORDS;
/** Digest, signature and signer, which are adjacent. */
export const QUESTION_BYTES = CHECK_SLOT.isAlone - CHECK_SLOT.digest;

export const STATE = { FREE: 0, OFFERED: 1, CLAIMED: 2, ACCEPTED: 3, REFUSED: 4 } as const;
export const STATE_MASK = 7;
export const GENERATION = 8;

assert(QUESTION_BYTES === HASH_BYTES + SIGNATURE_BYTES + ADDRESS_BYTES, 'checks: a question has no gaps');
assert((CHECK_SLOTS & (CHECK_SLOTS - 1)) === 0, 'checks: the number of slots is a power of two');

export function createCheckBoard(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer((CHECK_BOARD.WORDS + shards * SHARD_WORDS) * 4);
}
