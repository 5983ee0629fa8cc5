/**
 * Values of JSON as bytes, for scanners (orderScanner.ts), which read the form that programs write: plain texts without
 * escapes, whole numbers, hex. Each function reads at a position, which may lie behind the end of the bytes.
 */
import type { Buffer } from 'node:buffer';

/** Returned instead of the position after a value: the value has another form, and the body has to be parsed. */
export const NOT_SCANNED = -1;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const DASH = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const LETTER_X = 0x78;

const NOT_A_DIGIT = 255;
const HEX_DIGITS = new Uint8Array(256).fill(NOT_A_DIGIT);
for (const [digit, character] of [...'0123456789abcdef'].entries()) {
  HEX_DIGITS[character.charCodeAt(0)] = digit;
  HEX_DIGITS[character.toUpperCase().charCodeAt(0)] = digit;
}

/** The lengths of the parts of a UUID, in bytes, and the characters of the whole. */
const UUID_PARTS = [4, 2, 2, 2, 6];
const UUID_CHARACTERS = 36;

/** The position of the next character that is no white space. */
export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  // Reading beyond the end would make V8 expect other values than bytes here, and compile slower comparisons.
  for (; at < json.length; at++) {
    const code = json[at];
    if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) break;
  }
  return at;
}

/** The position after the digits. */
export function endOfDigits(json: Buffer, from: number): number {
  let end = from;
  while (json[end] >= ZERO && json[end] <= NINE) end++;
  return end;
}

/** The position of the closing quote of a text, or of the first character that a plain text cannot contain. */
export function endOfText(json: Buffer, from: number): number {
  let end = from;
  while (json[end] >= SPACE && json[end] !== QUOTE && json[end] !== BACKSLASH) end++;
  return end;
}

export function startsWith(json: Buffer, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (json[at + index] !== bytes[index]) return false;
  return true;
}

/** Returns true if the bytes are this text in quotes. */
export function isQuoted(json: Buffer, at: number, bytes: Uint8Array): boolean {
  return json[at] === QUOTE && json[at + bytes.length + 1] === QUOTE && startsWith(json, at + 1, bytes);
}

/** The text 0x and the digits of so many bytes. @returns the position after it, or NOT_SCANNED. */
export function readHex(json: Buffer, at: number, byteLength: number, out: Uint8Array, offset: number): number {
  const digits = at + 3;
  const end = digits + 2 * byteLength;
  if (json[at] !== QUOTE || json[at + 1] !== ZERO || json[at + 2] !== LETTER_X || json[end] !== QUOTE)
    return NOT_SCANNED;
  return readDigits(json, digits, byteLength, out, offset) ? end + 1 : NOT_SCANNED;
}

/** The text of a UUID in the form 8-4-4-4-12. @returns the position after it, or NOT_SCANNED. */
export function readUuid(json: Buffer, at: number, out: Uint8Array): number {
  const end = at + 1 + UUID_CHARACTERS;
  if (json[at] !== QUOTE || json[end] !== QUOTE) return NOT_SCANNED;
  let from = at + 1;
  let offset = 0;
  for (const byteLength of UUID_PARTS) {
    if (offset > 0 && json[from++] !== DASH) return NOT_SCANNED;
    if (!readDigits(json, from, byteLength, out, offset)) return NOT_SCANNED;
    from += 2 * byteLength;
    offset += byteLength;
  }
  return end + 1;
}

/** The digits lie before the end of the bytes. */
function readDigits(json: Buffer, from: number, byteLength: number, out: Uint8Array, offset: number): boolean {
  let all = 0;
  for (let index = 0; index < byteLength; index++) {
    const high = HEX_DIGITS[json[from + 2 * index]];
    const low = HEX_DIGITS[json[from + 2 * index + 1]];
    all |= high | low;
    out[offset + index] = (high << 4) | low;
  }
  // Only NOT_A_DIGIT has the bit.
  return (all & 0x80) === 0;
}
