/**
 * Layout of the memory through which shards show some of their signature checks to the spot checker
 * (engine/verify/spotCheck.ts), and the counts in it that the gateway reads. RECORDS.md draws the records.
 *
 *   buffer   part of shard 0 | part of shard 1 | …
 *   part     SPOT_QUEUE | SPOT_SLOTS times SPOT_SLOT
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES } from '../base/hex.ts';
import { byteRecord, bytes, line, record, u32 } from './layout.ts';

/** Slots of one shard: new signers come in bursts. */
export const SPOT_SLOTS = 256;
const SIGNATURE_BYTES = 65;

export const SPOT_QUEUE = record(
  'SPOT_QUEUE',
  {
    written: line('questions that the shard has written'),
    missed: line('questions for which there was no room'),
    read: line('questions that were asked again'),
    differences: line('those of them with another answer; above 0 the reference decides in this shard'),
  },
  'The signature checks that a shard shows to the spot checker: the slots follow.',
);
export const SPOT_SLOT = byteRecord(
  'SPOT_SLOT',
  {
    isAccepted: u32('1: the shard accepts the signature'),
    digest: bytes(HASH_BYTES),
    signature: bytes(SIGNATURE_BYTES),
    signer: bytes(ADDRESS_BYTES),
    unused: bytes(7),
  },
  'One question and the answer that the shard gave; offsets in bytes.',
);
const SHARD_WORDS = SPOT_QUEUE.WORDS + SPOT_SLOTS * SPOT_SLOT.WORDS;

assert((SPOT_SLOTS & (SPOT_SLOTS - 1)) === 0, 'spot checks: the number of slots is a power of two');

export function createSpotMemory(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * SHARD_WORDS * 4);
}

/** The word at which the part of a shard begins. */
export function spotQueueWord(shard: number): number {
  return shard * SHARD_WORDS;
}

/** The byte at which the slot of a question begins. @param index its number, counted from the first question ever */
export function spotSlotByte(shard: number, index: number): number {
  return 4 * (shard * SHARD_WORDS + SPOT_QUEUE.WORDS + (index & (SPOT_SLOTS - 1)) * SPOT_SLOT.WORDS);
}

/** The counts of the spot checks, for metrics. */
export class SpotCounts {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  checked(shard: number): number {
    return this.#read(shard, SPOT_QUEUE.read);
  }

  missed(shard: number): number {
    return this.#read(shard, SPOT_QUEUE.missed);
  }

  differences(shard: number): number {
    return this.#read(shard, SPOT_QUEUE.differences);
  }

  #read(shard: number, field: number): number {
    return Atomics.load(this.#words, spotQueueWord(shard) + field) >>> 0;
  }
}
