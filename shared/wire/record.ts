/**
 * Reading and writing the fields of a record: 32-bit little-endian words, safe integers as two words (low, high), bytes
 * copied. The same bytes are in rings and in the journal, so the byte order of the machine is asserted once.
 */
import { assert } from '../base/assert.ts';
import { type Hex, toHex } from '../base/hex.ts';

assert(new Uint8Array(new Uint32Array([1]).buffer)[0] === 1, 'record: the machine is little-endian');

const TWO_32 = 4_294_967_296;

/** A record that is being written or read: two views of the same memory. */
export type RecordMemory = { readonly words: Uint32Array; readonly bytes: Uint8Array };

export function readSafe(words: Uint32Array, word: number): number {
  return words[word + 1] * TWO_32 + words[word];
}

/** Writes a safe integer >= 0 as two words. */
export function writeSafe(words: Uint32Array, word: number, value: number): void {
  // A store keeps the low 32 bits of the integer part; the quotient is exact, because only its exponent differs.
  words[word] = value;
  words[word + 1] = value / TWO_32;
}

export function hexAt(words: Uint32Array, word: number, length: number): Hex {
  return toHex(new Uint8Array(words.buffer, words.byteOffset + word * 4, length));
}

/** Two's complement over two words, for the few fields that may be negative. */
export function readSigned(words: Uint32Array, word: number): number {
  return (words[word + 1] | 0) * TWO_32 + words[word];
}

export function writeSigned(words: Uint32Array, word: number, value: number): void {
  words[word] = value;
  words[word + 1] = Math.floor(value / TWO_32);
}

/** A growing buffer of records, written front to back, cleared as a whole; nothing is allocated once it has grown. */
export class RecordBuffer implements RecordMemory {
  words: Uint32Array;
  bytes: Uint8Array;
  lengthBytes = 0;

  constructor(initialBytes: number) {
    this.words = new Uint32Array(initialBytes >>> 2);
    this.bytes = new Uint8Array(this.words.buffer);
  }

  clear(): void {
    this.lengthBytes = 0;
  }

  /** Drops everything after `lengthBytes`, which undoes the output of a refused command. */
  truncate(lengthBytes: number): void {
    assert(lengthBytes <= this.lengthBytes, 'record: truncation only shrinks');
    this.lengthBytes = lengthBytes;
  }

  /** Drops the first `bytes`, which have been read, and moves the rest to the front. */
  dropFirst(bytes: number): void {
    assert(bytes <= this.lengthBytes, 'record: there is as much to drop');
    this.words.copyWithin(0, bytes >>> 2, this.lengthBytes >>> 2);
    this.lengthBytes -= bytes;
  }

  /** Appends a zeroed record of `lengthBytes` (a multiple of 8) and returns its word offset; length word written. */
  append(lengthBytes: number, typeAndVersion: number): number {
    assert(lengthBytes % 8 === 0, 'record: length is a multiple of 8');
    const word = this.claim(lengthBytes, typeAndVersion);
    this.words.fill(0, word + 2, word + (lengthBytes >>> 2));
    return word;
  }

  /** Like `append`, but leaves all words except the length unchanged: the caller writes each of them. */
  claim(lengthBytes: number, typeAndVersion: number): number {
    const start = this.lengthBytes;
    const end = start + lengthBytes;
    if (end > this.bytes.length) this.#reserve(lengthBytes);
    this.lengthBytes = end;
    const word = start >>> 2;
    const { words } = this;
    words[word] = lengthBytes;
    words[word + 1] = typeAndVersion;
    return word;
  }

  /** Appends a copy of finished records. Copied word by word: a subarray view would be an allocation per record. */
  appendRecords(source: Uint32Array, sourceWord: number, lengthBytes: number): number {
    const word = this.lengthBytes >>> 2;
    this.#reserve(lengthBytes);
    const count = lengthBytes >>> 2;
    for (let i = 0; i < count; i++) this.words[word + i] = source[sourceWord + i];
    this.lengthBytes += lengthBytes;
    return word;
  }

  #reserve(lengthBytes: number): void {
    const needed = this.lengthBytes + lengthBytes;
    if (needed <= this.bytes.byteLength) return;
    let size = this.bytes.byteLength * 2;
    while (size < needed) size *= 2;
    const grown = new Uint32Array(size >>> 2);
    grown.set(this.words);
    this.words = grown;
    this.bytes = new Uint8Array(grown.buffer);
  }
}
