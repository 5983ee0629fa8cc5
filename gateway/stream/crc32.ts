/**
 * CRC-32 (the one of zip, gzip and node:zlib) of texts put together from parts: from the CRCs of two texts follows that
 * of the one behind the other, without reading either again.
 *
 * A CRC is a polynomial over GF(2), taken modulo P and written with its bits reflected: bit 31 is the term x^0. Putting
 * n bytes behind a text multiplies its CRC by x^(8n), which is what `shiftOf` gives.
 */
import { crc32 } from 'node:zlib';
import { CRC32_TABLE } from '../../shared/crc32.ts';

const P = 0xedb88320;
const ONE = 0x8000_0000;
/** x^8, a byte's worth. */
const BYTE = 0x0080_0000;

/** The product of two polynomials modulo P. */
export function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let rest = a | 0; rest !== 0; rest <<= 1) {
    if (rest < 0) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ P : factor >>> 1;
  }
  return product >>> 0;
}

const shifts: number[] = [ONE];

/** x^(8 * bytes); kept, because the texts here are short. */
export function shiftOf(bytes: number): number {
  while (shifts.length <= bytes) shifts.push(multiply(shifts.at(-1)!, BYTE));
  return shifts[bytes]!;
}

/** Which byte gave an entry of the table with this top byte: each has another one. */
const BY_TOP = new Uint8Array(256);
for (const [byte, entry] of CRC32_TABLE.entries()) BY_TOP[entry >>> 24] = byte;

/** The CRC of a text from that of the same text with `byte` behind it. */
export function withoutLast(crc: number, byte: number): number {
  const state = ~crc;
  const index = BY_TOP[state >>> 24]!;
  return ~(((state ^ CRC32_TABLE[index]!) << 8) | (index ^ byte)) >>> 0;
}

export { crc32 };
