/**
 * Writes and reads the bytes of records: numbers of varying length, texts and values of SQL.
 * A reader trusts nothing: bytes that end too early or name an unknown kind throw a RecordError.
 */
import { assert } from '../base/assert.ts';

/** A value that SQLite binds. A number stays a number and a bigint a bigint, because SQLite binds them differently. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** A record that differs from what its writer wrote, or does not follow from the present state. */
export class RecordError extends Error {}

const KIND = { NULL: 0, WHOLE: 1, NEGATIVE: 2, REAL: 3, BIG: 4, TEXT: 5, BYTES: 6 } as const;
const FIRST_BYTES = 256;
/** Seven bits per byte: a safe integer has at most 53. */
const LONGEST_NUMBER = 8;

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1. */
  number(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'records: a count is a whole number');
    this.#room(LONGEST_NUMBER);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
    this.#bytes[this.#length++] = rest;
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  bytes(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.raw(bytes);
  }

  text(text: string): void {
    this.bytes(Buffer.from(text));
  }

  value(value: SqlValue): void {
    if (value === null) this.byte(KIND.NULL);
    else if (typeof value === 'string') this.#kind(KIND.TEXT).text(value);
    else if (typeof value === 'bigint') this.#big(value);
    else if (typeof value === 'number') this.#any(value);
    else this.#kind(KIND.BYTES).bytes(value);
  }

  /** A copy of the bytes written so far. */
  done(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  #any(value: number): void {
    const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
    if (isWhole && value >= 0) this.#kind(KIND.WHOLE).number(value);
    else if (isWhole) this.#kind(KIND.NEGATIVE).number(-value);
    else {
      this.byte(KIND.REAL);
      this.#room(8);
      this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    }
  }

  #big(value: bigint): void {
    this.byte(KIND.BIG);
    this.#room(8);
    this.#length = this.#bytes.writeBigInt64LE(value, this.#length);
  }

  #kind(kind: number): this {
    this.byte(kind);
    return this;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.raw(1)[0];
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (let read = 0; read < LONGEST_NUMBER; read++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      scale *= 0x80;
    }
    throw new RecordError('a number is too large');
  }

  /** A view of the record's memory. */
  raw(bytes: number): Buffer {
    if (bytes > this.#bytes.length - this.#at) throw new RecordError('the record ends too early');
    this.#at += bytes;
    return this.#bytes.subarray(this.#at - bytes, this.#at);
  }

  bytes(): Buffer {
    return this.raw(this.number());
  }

  text(): string {
    return this.bytes().toString();
  }

  value(): SqlValue {
    const kind = this.byte();
    if (kind === KIND.NULL) return null;
    if (kind === KIND.WHOLE) return this.number();
    if (kind === KIND.NEGATIVE) return -this.number();
    if (kind === KIND.REAL) return this.raw(8).readDoubleLE();
    if (kind === KIND.BIG) return this.raw(8).readBigInt64LE();
    if (kind === KIND.TEXT) return this.text();
    if (kind === KIND.BYTES) return Buffer.from(this.bytes());
    throw new RecordError('a value of an unknown kind');
  }
}
