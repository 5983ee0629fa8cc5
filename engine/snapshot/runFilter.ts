/**
 * Which entries of a run may have a hash, in memory: 11 to 21 bits for each. The entries are sorted, and the first word
 * of a hash says its bucket; there are at least twice as many buckets as entries. A line of bits has a one for each
 * entry and a zero at the end of each bucket, so the place of a bucket in it says how many entries are before. Of each
 * entry some bits of the second word are kept. So a filter never answers "yes": it names the few entries to compare.
 *
 *   bits        1 1 0 0 1 0 …       two entries in bucket 0, none in bucket 1, one in bucket 2
 *   starts      the place in the line at which every 256th bucket begins
 *   remainders  one or two bytes of each entry
 *
 * Of hashes that are not in the run, one in 131,072 or more is named where two bytes are kept, and one in 512 or more
 * in a large run, where one is kept: a slice has at most two large runs while it has fewer than 67 million hashes
 * (spilling.ts), so of new orders at most one in 250 waits for a disk.
 *
 * Invariants:
 *   RUNFILTER-1  The entries come in the order of their buckets.
 *   RUNFILTER-2  Every entry of the run is named when its hash is sought.
 */
import { assert } from '../../shared/base/assert.ts';

/** The slice of a hash is in the bits above those that say the bucket. */
export const SLICE_SHIFT = 28;
const IN_SLICE = (1 << SLICE_SHIFT) - 1;
const MOST_BUCKET_BITS = 27;
const STRIDE_BITS = 8;
const STRIDE_MASK = (1 << STRIDE_BITS) - 1;
/** From here on one byte of an entry is kept. */
const LARGE = 1 << 22;
export const NOT_FOUND = -1;

export class RunFilter {
  readonly bucketBits: number;
  readonly bits: Uint32Array;
  readonly remainders: Uint8Array | Uint16Array;
  count: number;
  #starts = new Uint32Array(0);
  /** While entries are added: the place of the next bit, and the bucket that it is in. */
  #place = 0;
  #bucket = 0;
  /** While entries are sought: their remainder, place and index. */
  #sought = 0;
  #at = 0;
  #index = 0;

  /** An empty filter. @param most entries that may be added */
  static of(most: number): RunFilter {
    const bits = Math.min(MOST_BUCKET_BITS, Math.ceil(Math.log2(Math.max(1, 2 * most))));
    return new RunFilter(0, most, bits);
  }

  /** A filter whose columns are to be filled. */
  static read(count: number, bucketBits: number, isLarge: boolean): RunFilter {
    return new RunFilter(count, count, bucketBits, isLarge);
  }

  private constructor(count: number, most: number, bucketBits: number, isLarge = most >= LARGE) {
    assert(bucketBits >= 0 && bucketBits <= MOST_BUCKET_BITS, 'RUNFILTER-1: a bucket fits into its bits');
    this.count = count;
    this.bucketBits = bucketBits;
    this.bits = new Uint32Array(wordsOf(most, bucketBits));
    this.remainders = isLarge ? new Uint8Array(most) : new Uint16Array(most);
  }

  get isLarge(): boolean {
    return this.remainders.BYTES_PER_ELEMENT === 1;
  }

  /** A file holds these, without room that no entry has used. */
  columns(): readonly Uint8Array[] {
    const bits = this.bits.subarray(0, wordsOf(this.count, this.bucketBits));
    return [bits, this.remainders.subarray(0, this.count)].map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    );
  }

  add(first: number, second: number): void {
    const bucket = this.#bucketOf(first);
    assert(bucket >= this.#bucket, 'RUNFILTER-1: entries come in order');
    this.#place += bucket - this.#bucket;
    this.#bucket = bucket;
    this.bits[this.#place >>> 5] |= 1 << (this.#place & 31);
    this.#place++;
    this.remainders[this.count++] = this.#remainderOf(second);
  }

  /** All columns are filled: computes where buckets begin. */
  seal(): void {
    const buckets = 2 ** this.bucketBits;
    this.#starts = new Uint32Array((buckets >>> STRIDE_BITS) + 1);
    const words = wordsOf(this.count, this.bucketBits);
    let zeros = 0;
    for (let word = 0; word < words; word++) {
      const found = 32 - onesIn(this.bits[word]);
      if (zeros >>> STRIDE_BITS !== (zeros + found) >>> STRIDE_BITS) this.#noteStart(word, zeros);
      zeros += found;
    }
  }

  /** @returns the index of the first entry that may have the hash with these first words, or NOT_FOUND */
  seek(first: number, second: number): number {
    const bucket = this.#bucketOf(first);
    let at = this.#starts[bucket >>> STRIDE_BITS];
    let left = bucket & STRIDE_MASK;
    for (let shift = at & 31; left > 0; shift = at & 31) {
      const word = this.bits[at >>> 5] >>> shift;
      const zeros = 32 - shift - onesIn(word);
      if (zeros < left) {
        left -= zeros;
        at += 32 - shift;
        continue;
      }
      for (let bit = 0; left > 0; bit++, at++) if (((word >>> bit) & 1) === 0) left--;
    }
    this.#at = at;
    this.#index = at - bucket;
    this.#sought = this.#remainderOf(second);
    return this.next();
  }

  /** The next one after `seek`. */
  next(): number {
    for (;;) {
      if (((this.bits[this.#at >>> 5] >>> (this.#at & 31)) & 1) === 0) return NOT_FOUND;
      this.#at++;
      if (this.remainders[this.#index++] === this.#sought) return this.#index - 1;
    }
  }

  /** Of a word in which a bucket begins whose start is kept. */
  #noteStart(word: number, zerosBefore: number): void {
    let zeros = zerosBefore;
    for (let bit = 0; bit < 32; bit++) {
      if (((this.bits[word] >>> bit) & 1) !== 0) continue;
      zeros++;
      if ((zeros & STRIDE_MASK) === 0 && zeros >>> STRIDE_BITS < this.#starts.length)
        this.#starts[zeros >>> STRIDE_BITS] = word * 32 + bit + 1;
    }
  }

  #bucketOf(first: number): number {
    return (first & IN_SLICE) >>> (SLICE_SHIFT - this.bucketBits);
  }

  #remainderOf(second: number): number {
    return this.isLarge ? second >>> 24 : second >>> 16;
  }
}

/** Bytes of the columns of a filter. */
export function filterBytes(count: number, bucketBits: number, isLarge: boolean): number {
  return wordsOf(count, bucketBits) * 4 + count * (isLarge ? 1 : 2);
}

/** Bytes of the columns, one behind the other, from `from` on. */
export function copyFrom(columns: readonly Uint8Array[], from: number, into: Uint8Array): void {
  forOverlap(columns, from, into.length, (column, at, offset, length) => {
    into.set(column.subarray(at, at + length), offset);
  });
}

/** The reverse. */
export function copyAt(bytes: Uint8Array, columns: readonly Uint8Array[], from: number): void {
  forOverlap(columns, from, bytes.length, (column, at, offset, length) => {
    column.set(bytes.subarray(offset, offset + length), at);
  });
}

function forOverlap(
  columns: readonly Uint8Array[],
  from: number,
  length: number,
  use: (column: Uint8Array, at: number, offset: number, length: number) => void,
): void {
  let start = 0;
  for (const column of columns) {
    const first = Math.max(start, from);
    const end = Math.min(start + column.length, from + length);
    if (first < end) use(column, first - start, first - from, end - first);
    start += column.length;
  }
}

/** With a word behind the last bucket: its end is a zero. */
function wordsOf(count: number, bucketBits: number): number {
  return Math.ceil((count + 2 ** bucketBits) / 32) + 1;
}

function onesIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
