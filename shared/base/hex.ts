/**
 * Text to bytes and back, for values that are text on the wire and bytes inside: hex, addresses, UUIDs and 256-bit
 * decimals. Parsing accepts any outside input: it returns false instead of throwing, and the output bytes may then hold
 * a part of the value.
 */

/** `0x` and hex digits. */
export type Hex = `0x${string}`;

export const ADDRESS_BYTES = 20;
export const HASH_BYTES = 32;
export const UUID_BYTES = 16;
export const UINT256_BYTES = 32;

const BYTE_TO_HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const HEX_FORM = /^0x[0-9a-fA-F]*$/;
const NOT_A_DIGIT = 255;
const DIGIT_OF_CODE = new Uint8Array(128).fill(NOT_A_DIGIT);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  DIGIT_OF_CODE[text.charCodeAt(0)] = digit;
  DIGIT_OF_CODE[text.toUpperCase().charCodeAt(0)] = digit;
}

const CODE_0 = 48;
const CODE_X = 120;
const CODE_DASH = 45;

const UUID_CHARACTERS = 36;
/** 78 digits are those of 2^256 - 1. */
const UINT256_FORM = /^(?:0|[1-9][0-9]{0,77})$/;
/** 2^256 has 78 digits, so anything shorter is below it. */
const SURE_UINT256_DIGITS = 77;
/** Digits that are added to a number in one step. */
const DIGITS_AT_ONCE = 4;
const TEN_TO_DIGITS = 10 ** DIGITS_AT_ONCE;
/** A number in 16 bits each, the lowest first: one of them times 10,000 and a carry are small integers. */
const limbs = new Uint16Array(UINT256_BYTES / 2);

/**
 * `0x` and exactly 2 * byteLength hex digits of either case; the checksum in the case of an address is not verified.
 */
export function tryParseHex(text: string, byteLength: number, out: Uint8Array, offset: number): text is Hex {
  if (text.length !== 2 + 2 * byteLength) return false;
  if (text.charCodeAt(0) !== CODE_0 || text.charCodeAt(1) !== CODE_X) return false;
  for (let index = 0; index < byteLength; index++) {
    const byte = hexByte(text, 2 + 2 * index);
    if (byte < 0) return false;
    out[offset + index] = byte;
  }
  return true;
}

/** Lowercase hex with the `0x` prefix. */
export function toHex(bytes: Uint8Array, offset = 0, length = bytes.length - offset): Hex {
  let text = '0x';
  let index = offset;
  // Four bytes at a time: a text is copied while it is short, and later on each addition is an object.
  for (const whole = offset + length - (length % 4); index < whole; index += 4) {
    const high = BYTE_TO_HEX[bytes[index]] + BYTE_TO_HEX[bytes[index + 1]];
    text += high + BYTE_TO_HEX[bytes[index + 2]] + BYTE_TO_HEX[bytes[index + 3]];
  }
  for (; index < offset + length; index++) text += BYTE_TO_HEX[bytes[index]];
  return text as Hex;
}

/** Throws for a text of another form. */
export function checkedHex(text: string): Hex {
  if (!isHex(text)) throw new Error(`${text} is not hex`);
  return text;
}

export function isHex(text: string): text is Hex {
  return HEX_FORM.test(text);
}

/** With digits in lower case: an address without its checksum. */
export function lowerHex(hex: Hex): Hex {
  return `0x${hex.slice(2).toLowerCase()}`;
}

/** The 8-4-4-4-12 form in either case; false when the text is anything else. */
export function uuidToBytes(text: string, out: Uint8Array, offset: number): boolean {
  if (text.length !== UUID_CHARACTERS) return false;
  let at = 0;
  for (let index = 0; index < UUID_BYTES; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) {
      if (text.charCodeAt(at) !== CODE_DASH) return false;
      at++;
    }
    const byte = hexByte(text, at);
    if (byte < 0) return false;
    out[offset + index] = byte;
    at += 2;
  }
  return true;
}

/** The lowercase 8-4-4-4-12 form. */
export function bytesToUuid(bytes: Uint8Array, offset = 0): string {
  let text = '';
  for (let index = 0; index < UUID_BYTES; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += '-';
    text += BYTE_TO_HEX[bytes[offset + index]];
  }
  return text;
}

/** True if `tryParseUint256` would accept the text, without the cost of a conversion if the length decides. */
export function isUint256(text: string): boolean {
  return UINT256_FORM.test(text) && (text.length <= SURE_UINT256_DIGITS || BigInt(text) >> 256n === 0n);
}

/** A canonical decimal (digits only, no leading zero) below 2^256 to 32 big-endian bytes. */
export function tryParseUint256(text: string, out: Uint8Array, offset: number): boolean {
  if (!UINT256_FORM.test(text)) return false;
  limbs.fill(0);
  let used = 0;
  let end = text.length % DIGITS_AT_ONCE || DIGITS_AT_ONCE;
  for (let at = 0; at < text.length; at = end, end += DIGITS_AT_ONCE) {
    let carry = 0;
    for (let index = at; index < end; index++) carry = carry * 10 + text.charCodeAt(index) - CODE_0;
    for (let limb = 0; limb < used; limb++) {
      const product = limbs[limb] * TEN_TO_DIGITS + carry;
      limbs[limb] = product;
      carry = product >>> 16;
    }
    if (carry === 0) continue;
    if (used === limbs.length) return false;
    limbs[used++] = carry;
  }
  for (let limb = 0; limb < limbs.length; limb++) {
    const low = offset + UINT256_BYTES - 1 - 2 * limb;
    out[low] = limbs[limb];
    out[low - 1] = limbs[limb] >>> 8;
  }
  return true;
}

/** 32 big-endian bytes as a canonical decimal. */
export function uint256ToDecimal(bytes: Uint8Array, offset = 0): string {
  return BigInt(toHex(bytes, offset, UINT256_BYTES)).toString();
}

/** The byte of two hex digits, or -1. */
function hexByte(text: string, at: number): number {
  const high = hexDigit(text.charCodeAt(at));
  const low = hexDigit(text.charCodeAt(at + 1));
  return high === NOT_A_DIGIT || low === NOT_A_DIGIT ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  return code < 128 ? DIGIT_OF_CODE[code] : NOT_A_DIGIT;
}
