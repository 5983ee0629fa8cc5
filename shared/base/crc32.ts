/**
 * CRC-32 as in zip, gzip and Node's zlib, without Node, because the stream's client also runs in browsers; and the
 * algebra that combines the CRCs of two texts without reading either again.
 *
 * A CRC is a polynomial over GF(2), taken modulo P and written with its bits reflected: bit 31 is the term x^0.
 * Appending n bytes to a text multiplies its CRC by x^(8n), which is `shiftOf(n)`. So the CRC of text A followed by
 * text B is multiply(crc(A), shiftOf(length of B)) ^ crc(B).
 */
import { crcTable } from './crcTable.ts';

const P = 0xedb88320;
const ONE = 0x8000_0000;
/** x^8, for one byte. */
const BYTE = 0x0080_0000;
const TABLE = crcTable(P);
/** The index of the table element with this top byte: no two elements share one. */
const BYTE_OF_TOP = new Uint8Array(256);
for (const [byte, entry] of TABLE.entries()) BYTE_OF_TOP[entry >>> 24] = byte;

/** The CRC of an ASCII text. */
export function crc32OfText(text: string): number {
  let crc = ~0;
  for (let at = 0; at < text.length; at++) {
    crc = (crc >>> 8) ^ TABLE[(crc ^ text.charCodeAt(at)) & 0xff];
  }
  return ~crc >>> 0;
}

/** The product of two polynomials modulo P. */
export function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let left = a | 0; left !== 0; left <<= 1) {
    if (left < 0) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ P : factor >>> 1;
  }
  return product >>> 0;
}

const shifts: number[] = [ONE];

/** x^(8 * bytes). Every computed length is kept, because the texts are short. */
export function shiftOf(bytes: number): number {
  while (shifts.length <= bytes) shifts.push(multiply(shifts.at(-1)!, BYTE));
  return shifts[bytes];
}

/** The CRC of a text, from the CRC of the same text followed by `byte`. */
export function withoutLast(crc: number, byte: number): number {
  const state = ~crc;
  const index = BYTE_OF_TOP[state >>> 24];
  return ~(((state ^ TABLE[index]) << 8) | (index ^ byte)) >>> 0;
}
