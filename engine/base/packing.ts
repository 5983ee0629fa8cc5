/**
 * Numbers in as few bytes as they need, seven bits in each. Writing and reading are the same calls in the same order:
 * a writer returns what it was given, and a reader what it finds.
 */
import { assert } from '../../shared/base/assert.ts';
import { SnapshotError } from './snapshotIo.ts';

const MORE = 128;

export class Packing {
  readonly isReading: boolean;
  readonly #bytes: Uint8Array;
  #at = 0;

  /** @param bytes what is read, or the memory for what is written */
  constructor(bytes: Uint8Array, isReading: boolean) {
    this.#bytes = bytes;
    this.isReading = isReading;
  }

  /** A safe integer that is not negative. */
  value(value: number): number {
    return this.isReading ? this.#read() : this.#write(value);
  }

  /** A number that is near another one. */
  near(value: number, base: number): number {
    const away = value - base;
    const folded = this.value(away < 0 ? -2 * away - 1 : 2 * away);
    return base + (folded % 2 === 1 ? -(folded + 1) / 2 : folded / 2);
  }

  /** Words without a pattern: four bytes each. */
  words(words: Uint32Array, from: number, count: number): void {
    const bytes = this.#bytes;
    this.#require(count * 4);
    for (let word = from; word < from + count; word++) {
      for (let shift = 0; shift < 32; shift += 8, this.#at++) {
        if (!this.isReading) bytes[this.#at] = words[word] >>> shift;
        else words[word] = (shift === 0 ? 0 : words[word]) | (bytes[this.#at] << shift);
      }
    }
  }

  /** A copy of what was written. */
  written(): Uint8Array {
    return this.#bytes.slice(0, this.#at);
  }

  /** Begins anew, in the same memory. */
  clear(): void {
    this.#at = 0;
  }

  requireEnd(): void {
    if (this.#at !== this.#bytes.length) throw new SnapshotError('snapshot: packed numbers do not end with their part');
  }

  #write(value: number): number {
    assert(value >= 0 && value <= Number.MAX_SAFE_INTEGER, 'packing: a number is safe and not negative');
    const bytes = this.#bytes;
    let rest = value;
    for (; rest >= MORE; rest = Math.floor(rest / MORE)) bytes[this.#at++] = (rest % MORE) | MORE;
    bytes[this.#at++] = rest;
    assert(this.#at <= bytes.length, 'packing: the memory suffices');
    return value;
  }

  #read(): number {
    let value = 0;
    for (let scale = 1; ; scale *= MORE) {
      this.#require(1);
      const byte = this.#bytes[this.#at++];
      value += (byte % MORE) * scale;
      if (byte < MORE) return value;
    }
  }

  #require(bytes: number): void {
    if (this.#at + bytes > this.#bytes.length) throw new SnapshotError('snapshot: packed numbers are cut short');
  }
}
