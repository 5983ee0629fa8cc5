/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), eight bytes a step over eight tables ("slicing by 8"). Nothing
 * is allocated. It catches what SQLite does not look for: bits that changed between a write and its read.
 */
import { assert } from './assert.ts';
import type { RecordMemory } from './record.ts';

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

/** TABLES[256 * k + b]: what byte b adds to the remainder when k more bytes follow it inside the step. */
const TABLES = makeTables();

/**
 * The checksum of the bytes from `start` (a multiple of 4) to `end`, or of those behind the bytes that `previous` is
 * the checksum of. Whole steps read words, which is the order of bytes on a little-endian machine (record.ts).
 */
export function crc32c(memory: RecordMemory, start: number, end: number, previous = 0): number {
  assert(start % 4 === 0, 'crc32c: starts at a word');
  const { words, bytes } = memory;
  let crc = ~previous;
  let word = start >>> 2;
  const stepsEnd = word + (((end - start) >>> 3) << 1);
  for (; word < stepsEnd; word += 2) {
    const low = words[word]! ^ crc;
    const high = words[word + 1]!;
    crc =
      TABLES[0x700 + (low & 0xff)]! ^
      TABLES[0x600 + ((low >>> 8) & 0xff)]! ^
      TABLES[0x500 + ((low >>> 16) & 0xff)]! ^
      TABLES[0x400 + (low >>> 24)]! ^
      TABLES[0x300 + (high & 0xff)]! ^
      TABLES[0x200 + ((high >>> 8) & 0xff)]! ^
      TABLES[0x100 + ((high >>> 16) & 0xff)]! ^
      TABLES[high >>> 24]!;
  }
  for (let at = word << 2; at < end; at++) crc = TABLES[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Signed elements: a value of 2^31 and more would otherwise leave the small integers on every load. */
function makeTables(): Int32Array {
  const tables = new Int32Array(256 * SLICES);
  for (let byte = 0; byte < 256; byte++) {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? POLYNOMIAL : 0);
    tables[byte] = remainder;
  }
  for (let at = 256; at < tables.length; at++) {
    const shorter = tables[at - 256]!;
    tables[at] = tables[shorter & 0xff]! ^ (shorter >>> 8);
  }
  return tables;
}
