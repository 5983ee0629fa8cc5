/**
 * Where everything lies in a ring's SharedArrayBuffer.
 *
 *   byte 0      PUBLISHED  bytes ever published, modulo 2^32       written by the producer
 *   byte 128    RELEASED   bytes ever released, modulo 2^32        written by the consumer
 *   byte 256    ASLEEP     1 while the consumer may be waiting     written by both, Atomics only
 *   byte 384    WANTS_ROOM 1 while the producer may be waiting     written by both, Atomics only
 *   byte 512    data, `capacity` bytes, a power of two
 *
 * Each word that one side writes and the other reads has 128 bytes to itself: two 64-byte lines, because processors
 * fetch lines in pairs. A record starts at a multiple of 8 and never wraps: where it would not fit before the end of
 * the data, a padding record (type 0) fills the rest.
 *
 *   word 0   length of the record in bytes, header included, a multiple of 8
 *   word 1   type (16 bits) | layout version (8 bits) | unused (8 bits)
 *   word 2…  fields of the type (commands.ts, events.ts)
 */
import { assert } from './assert.ts';

export const WORD_PUBLISHED = 0;
export const WORD_RELEASED = 32;
export const WORD_ASLEEP = 64;
export const WORD_WANTS_ROOM = 96;
export const DATA_BYTES_OFFSET = 512;
export const RECORD_ALIGNMENT = 8;
export const PADDING_TYPE = 0;

export function createRingBuffer(capacityBytes: number): SharedArrayBuffer {
  assert(
    capacityBytes >= 4096 && capacityBytes <= 2 ** 30 && (capacityBytes & (capacityBytes - 1)) === 0,
    'ring: capacity is a power of two between 4 KiB and 1 GiB',
  );
  return new SharedArrayBuffer(DATA_BYTES_OFFSET + capacityBytes);
}
