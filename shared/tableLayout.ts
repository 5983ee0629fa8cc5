/**
 * Where everything lies in the memory through which verifier threads leave ready tables of curve points for each other
 * and for shards (engine/verify/sharedTables.ts says how).
 *
 *   buffer    header: NEXT, 128 bytes | entry of the generator | entries of signers | their points, in the same order
 *   entry     state (4) | checksum (4) | signer (20) | unused (4)
 *   state     even: settled, 0 for never written; odd: being written. Every write counts it up by two.
 *   point     x | y, 32 bytes each, least significant first; as many to a table as its window takes (pointsOf)
 *
 * 14 MB of addresses; memory only for tables that were made, as the system gives pages when they are written to.
 */
import { ADDRESS_BYTES } from './hex.ts';

const SCALAR_BITS = 256;

/** The generator's table is one for all signers, so it may be larger: 33 additions against 52. */
export const BASE_WINDOW_BITS = 8;
export const SIGNER_WINDOW_BITS = 5;
export const SIGNER_TABLES = 256;

/** Word of the buffer: which signer's table the next one replaces, counted on without end. */
export const NEXT = 0;
export const HEADER_WORDS = 32;
export const ENTRY_WORDS = 8;
/** Words into an entry. */
export const STATE = 0;
export const CHECKSUM = 1;
export const SIGNER = 2;
export const SIGNER_WORDS = ADDRESS_BYTES / 4;

const POINT_WORDS = 16;
/** Entry of the generator's table; the signers' follow. */
export const BASE_ENTRY = 0;
export const BASE_TABLE_WORDS = pointsOf(BASE_WINDOW_BITS) * POINT_WORDS;
export const SIGNER_TABLE_WORDS = pointsOf(SIGNER_WINDOW_BITS) * POINT_WORDS;
const POINTS = HEADER_WORDS + (1 + SIGNER_TABLES) * ENTRY_WORDS;

/** Points of a table with windows of so many bits: one window more than a scalar has, for the last carry. */
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
