/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), eight bytes a step over eight tables ("slicing by 8"). Nothing
 * is allocated. It finds what SQLite does not check: bits that changed between a write and its read.
 */

import { assert } from './assert.ts';
import { crcTable } from './crcTable.ts';

/** The same memory as words and as bytes. */
type Memory = { readonly words: Uint32Array; readonly bytes: Uint8Array };

const POLYNOMIAL = 0x82f63b78;
const TABLES = crcTable(POLYNOMIAL, 8);

/**
 * The checksum of the bytes from `start` (a multiple of 4) to `end`. With `previous`, the checksum of the bytes before
 * them, it is the checksum of both together. Whole steps read words, which hold the bytes in order on a
 * little-endian machine (shared/wire/record.ts asserts it).
 */
export function crc32c(memory: Memory, start: number, end: number, previous = 0): number {
  assert(start % 4 === 0, 'crc32c: starts at a word');
  const { words, bytes } = memory;
  let crc = ~previous;
  let word = start >>> 2;
  const stepsEnd = word + (((end - start) >>> 3) << 1);
  for (; word < stepsEnd; word += 2) {
    const low = words[word] ^ crc;
    const high = words[word + 1];
    crc =
      TABLES[0x700 + (low & 0xff)] ^
      TABLES[0x600 + ((low >>> 8) & 0xff)] ^
      TABLES[0x500 + ((low >>> 16) & 0xff)] ^
      TABLES[0x400 + (low >>> 24)] ^
      TABLES[0x300 + (high & 0xff)] ^
      TABLES[0x200 + ((high >>> 8) & 0xff)] ^
      TABLES[0x100 + ((high >>> 16) & 0xff)] ^
      TABLES[high >>> 24];
  }
  for (let at = word << 2; at < end; at++) crc = TABLES[(crc ^ bytes[at]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}
