/**
 * Layout of the memory in which verifier threads share tables of curve points with each other and with shards
 * (engine/verify/sharedTables.ts explains how). RECORDS.md draws the records.
 *
 *   buffer    TABLES | TABLE_ENTRY of the generator | of each signer | their points, in the same order
 *   point     x | y, 32 bytes each, least significant first; a table has as many as its window needs (pointsOf)
 *
 * The buffer has 14 MB of addresses. Only tables that exist use memory, because the system allocates a page when it is
 * written.
 */
import { ADDRESS_BYTES } from '../base/hex.ts';
import { bytes, line, record, u32, unused } from './layout.ts';

const SCALAR_BITS = 256;

/** All signers share the generator's table, so it may be larger: 33 additions instead of 52. */
export const BASE_WINDOW_BITS = 8;
export const SIGNER_WINDOW_BITS = 5;
export const SIGNER_TABLES = 256;

export const TABLES = record(
  'TABLES',
  { next: line("which signer's table is replaced next, counted on without end") },
  'The start of the shared tables.',
);
export const TABLE_ENTRY = record(
  'TABLE_ENTRY',
  {
    state: u32('even: settled, 0 for never written; odd: being written; every write counts it up by two'),
    checksum: u32('CRC-32C of the points'),
    signer: bytes(ADDRESS_BYTES),
    unused: unused(1),
  },
  'Whose table it is, and whether it is whole.',
);
export const SIGNER_WORDS = ADDRESS_BYTES / 4;

const POINT_WORDS = 16;
/** Entry of the generator's table; the signers' follow. */
export const BASE_ENTRY = 0;
export const BASE_TABLE_WORDS = pointsOf(BASE_WINDOW_BITS) * POINT_WORDS;
export const SIGNER_TABLE_WORDS = pointsOf(SIGNER_WINDOW_BITS) * POINT_WORDS;
const POINTS = TABLES.WORDS + (1 + SIGNER_TABLES) * TABLE_ENTRY.WORDS;

/** Points of a table with windows of `windowBits` bits: one window more than a scalar has, for the last carry. */
export function pointsOf(windowBits: number): number {
  return (Math.ceil(SCALAR_BITS / windowBits) + 1) << (windowBits - 1);
}

/** Word of the first point of an entry's table. */
export function tableWord(entry: number): number {
  return entry === BASE_ENTRY ? POINTS : POINTS + BASE_TABLE_WORDS + (entry - 1) * SIGNER_TABLE_WORDS;
}

export function createTableMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(tableWord(1 + SIGNER_TABLES) * 4);
}
