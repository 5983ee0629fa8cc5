/**
 * The checksum of a book (RULES.md 8.8): CRC-32 over `price:quantity` of every level, best first, bids and then asks,
 * in Yes terms, joined with `|`. A client that maintains the book from the stream must compute the same number;
 * otherwise its book is wrong.
 *
 * For a whole book it is computed from the text. For a market whose deltas carry it, `BookChecksum` keeps a tree over
 * the ticks whose inner nodes hold the CRC of the text below them: one changed level costs one step per layer of the
 * tree (8 to 15), however deep the book is.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CHECKSUM-1  A leaf holds the CRC and length of its level's text, which ends in `|`; for an empty level, those of
 *               the empty text. Leaves stand in the order of the text: bids from the highest tick down, then asks.
 *   CHECKSUM-2  An inner node holds the CRC of its two children's concatenated texts, and the shift by their length.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../shared/base/assert.ts';
import { multiply, shiftOf, withoutLast } from '../../shared/base/crc32.ts';
import { productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { type Book, type BookSide, NO_TICK } from '../shardlink/bookViews.ts';

const SEPARATOR = '|';
const EMPTY_SHIFT = shiftOf(0);

/** @param book undefined for a book without levels */
export function bookChecksum(book: Book | undefined): number {
  if (book === undefined) return 0;
  const levels: string[] = [];
  for (let tick = book.bids.highest(); tick !== NO_TICK; tick = book.bids.below(tick)) {
    levels.push(levelText(book, book.bids, tick));
  }
  for (let tick = book.asks.lowest(); tick !== NO_TICK; tick = book.asks.above(tick)) {
    levels.push(levelText(book, book.asks, tick));
  }
  return crc32(levels.join(SEPARATOR));
}

export class BookChecksum {
  readonly #ticksPerUnit: number;
  readonly #leaves: number;
  /** Node 1 is the root, node n has the children 2n and 2n + 1. */
  readonly #crc: Uint32Array;
  readonly #shift: Uint32Array;

  constructor(ticksPerUnit: number, book: Book | undefined) {
    this.#ticksPerUnit = ticksPerUnit;
    this.#leaves = 2 ** Math.ceil(Math.log2(2 * ticksPerUnit));
    this.#crc = new Uint32Array(2 * this.#leaves);
    this.#shift = new Uint32Array(2 * this.#leaves).fill(EMPTY_SHIFT);
    if (book === undefined) return;
    for (const isBid of [true, false]) {
      const side = isBid ? book.bids : book.asks;
      for (let tick = side.lowest(); tick !== NO_TICK; tick = side.above(tick)) this.update(book, isBid, tick);
    }
  }

  /** Updates the checksum after a change of one level. */
  update(book: Book, isBid: boolean, tick: number): void {
    assert(tick > 0 && tick < this.#ticksPerUnit, 'CHECKSUM-1: a tick lies strictly between 0 and 1');
    const side = isBid ? book.bids : book.asks;
    const text = side.orders[tick] === 0 ? '' : levelText(book, side, tick) + SEPARATOR;
    // Bids from the highest tick down, then asks from the lowest up.
    let node = this.#leaves + (isBid ? this.#ticksPerUnit - tick : this.#ticksPerUnit + tick);
    this.#crc[node] = crc32(text);
    this.#shift[node] = shiftOf(text.length);
    for (node >>>= 1; node > 0; node >>>= 1) this.#join(node);
  }

  get value(): number {
    const isEmpty = this.#shift[1] === EMPTY_SHIFT && this.#crc[1] === 0;
    return isEmpty ? 0 : withoutLast(this.#crc[1], SEPARATOR.charCodeAt(0));
  }

  /** CHECKSUM-2. */
  #join(node: number): void {
    const left = 2 * node;
    const right = left + 1;
    const rightShift = this.#shift[right];
    if (rightShift === EMPTY_SHIFT) {
      this.#crc[node] = this.#crc[left];
      this.#shift[node] = this.#shift[left];
      return;
    }
    this.#crc[node] = multiply(this.#crc[left], rightShift) ^ this.#crc[right];
    this.#shift[node] = multiply(this.#shift[left], rightShift);
  }
}

function levelText(book: Book, side: BookSide, tick: number): string {
  const { ticksPerUnit } = book;
  return `${tickToPrice(tick, ticksPerUnit)}:${productToString(side.lots[tick], ticksPerUnit)}`;
}
