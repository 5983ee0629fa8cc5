/**
 * Layout of a ring's SharedArrayBuffer: RING (RECORDS.md), then the data, `capacity` bytes.
 *
 * A record starts at a multiple of 8 and never wraps: if it does not fit before the end of the data, a padding record
 * (type 0) fills the remainder. Every record starts with its length and its type (RING_RECORD); commands.ts and
 * events.ts declare the other fields.
 */
import { assert } from '../base/assert.ts';
import { line, record, u32 } from './layout.ts';

export const RING = record(
  'RING',
  {
    published: line('bytes ever published, modulo 2^32; written by the producer'),
    released: line('bytes ever released, modulo 2^32; written by the consumer'),
    asleep: line('1 while the consumer may be waiting; written by both, Atomics only'),
    wantsRoom: line('1 while the producer may be waiting; written by both, Atomics only'),
  },
  'The cursors of a ring: its data follow.',
);
export const RING_RECORD = record(
  'RING_RECORD',
  { length: u32('bytes with this header, a multiple of 8'), type: u32('type (16 bits) | version (8 bits) | unused') },
  'The start of every record in a ring.',
);
export const RECORD_ALIGNMENT = 8;
export const PADDING_TYPE = 0;

export function createRingBuffer(capacityBytes: number): SharedArrayBuffer {
  assert(
    capacityBytes >= 4096 && capacityBytes <= 2 ** 30 && (capacityBytes & (capacityBytes - 1)) === 0,
    'ring: capacity is a power of two between 4 KiB and 1 GiB',
  );
  return new SharedArrayBuffer(RING.BYTES + capacityBytes);
}
