import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { Book } from '../../../../gateway/shardlink/bookViews.ts';
import { grown } from '../../../../gateway/shardlink/growingColumn.ts';
import { OpenOrders } from '../../../../gateway/shardlink/orderViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { BookChecksum, bookChecksum } from '../../../../gateway/stream/checksum.ts';
import { OUTCOME, SIDE, TICKS_PER_UNIT, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { multiply, shiftOf, withoutLast } from '../../../../shared/base/crc32.ts';
import { tryParsePriceTicks } from '../../../../shared/base/units.ts';
import { packKind } from '../../../../shared/wire/commands.ts';
import { Random } from '../../../support/random.ts';

type Vector = {
  name: string;
  ticks_per_unit: number;
  bids: [string, string][];
  asks: [string, string][];
  checksum: number;
};
const file = new URL('../../../vectors/bookChecksum.json', import.meta.url);
const vectors: Vector[] = JSON.parse(readFileSync(file, 'utf8')).vectors;

/** More than a test puts in. */
const MOST_ORDERS = 1024;

/** A book of orders that are put in and taken out by hand. */
class Shelf {
  readonly book: Book;
  readonly orders = new OpenOrders(0, new PairIndex());
  slots: number[] = [];
  #next = 0;

  constructor(ticksPerUnit: number) {
    this.book = new Book(ticksPerUnit);
    // The view's tables grow as its orders come; orders that are put in by hand need the room before.
    const { orders } = this;
    orders.kind = grown(orders.kind, MOST_ORDERS);
    orders.limitTicks = grown(orders.limitTicks, MOST_ORDERS);
    orders.remainingLots = grown(orders.remainingLots, MOST_ORDERS);
    orders.orderSequence = grown(orders.orderSequence, MOST_ORDERS);
    orders.priority = grown(orders.priority, MOST_ORDERS);
    orders.queuePrevious = grown(orders.queuePrevious, MOST_ORDERS);
    orders.queueNext = grown(orders.queueNext, MOST_ORDERS);
  }

  put(isBid: boolean, ticks: number, lots: number): number {
    const slot = this.#next++;
    this.orders.kind[slot] = packKind(isBid ? SIDE.BUY : SIDE.SELL, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);
    this.orders.limitTicks[slot] = ticks;
    this.orders.remainingLots[slot] = lots;
    this.orders.orderSequence[slot] = slot;
    this.book.insert(this.orders, slot);
    this.slots.push(slot);
    return slot;
  }

  take(at: number): number {
    const [slot] = this.slots.splice(at, 1);
    this.book.remove(this.orders, slot!);
    return slot!;
  }
}

test('every vector gives its checksum, read off the book and kept level by level (RULES.md 8.8)', () => {
  assert.ok(vectors.length > 0);
  for (const { name, ticks_per_unit, bids, asks, checksum } of vectors) {
    const { book, orders } = shelfOf(ticks_per_unit, bids, asks);
    assert.equal(bookChecksum(book), checksum, name);
    assert.equal(new BookChecksum(ticks_per_unit, book).value, checksum, name);
    assert.ok(orders.kind.length > 0);
  }
});

test('a book that never had an order has the checksum of no text', () => {
  assert.equal(bookChecksum(undefined), crc32(''));
  assert.equal(new BookChecksum(100, undefined).value, crc32(''));
});

test('kept level by level, the checksum stays that of the whole book', () => {
  const seed = 11;
  const random = new Random(seed);
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    const shelf = new Shelf(ticksPerUnit);
    const kept = new BookChecksum(ticksPerUnit, shelf.book);
    for (let step = 0; step < 400; step++) {
      const isTaken = shelf.slots.length > 0 && random.chance(45);
      const isBid = random.chance(50);
      const ticks = random.between(1, ticksPerUnit - 1);
      const slot = isTaken
        ? shelf.take(random.below(shelf.slots.length))
        : shelf.put(isBid, ticks, 1 + random.below(10 ** 9));
      kept.update(shelf.book, isBidSlot(shelf, slot), shelf.orders.limitTicks[slot]);
      assert.equal(kept.value, bookChecksum(shelf.book), `seed ${seed}, D ${ticksPerUnit}, step ${step}`);
    }
    while (shelf.slots.length > 0) {
      const slot = shelf.take(0);
      kept.update(shelf.book, isBidSlot(shelf, slot), shelf.orders.limitTicks[slot]);
    }
    assert.equal(kept.value, 0);
  }
});

test('the CRC of two texts in a row follows from theirs, and that of the text less its last byte from it', () => {
  const random = new Random(5);
  for (let round = 0; round < 200; round++) {
    const [a, b] = [textOf(random), textOf(random)];
    assert.equal((multiply(crc32(a), shiftOf(b.length)) ^ crc32(b)) >>> 0, crc32(a + b));
    const last = random.below(128);
    assert.equal(withoutLast(crc32(a + String.fromCharCode(last)), last), crc32(a));
  }
});

function isBidSlot({ orders }: Shelf, slot: number): boolean {
  return (orders.kind[slot] & 0xff) === SIDE.BUY;
}

function textOf(random: Random): string {
  return Array.from({ length: random.below(40) }, () => String.fromCharCode(random.below(128))).join('');
}

/** Totals beyond 2^53 atomic are of fewer lots than that. */
function shelfOf(ticksPerUnit: number, bids: Vector['bids'], asks: Vector['asks']): Shelf {
  const shelf = new Shelf(ticksPerUnit);
  for (const isBid of [true, false]) {
    for (const [price, atomic] of isBid ? bids : asks) {
      const lots = Number(BigInt(atomic) / BigInt(ticksPerUnit));
      shelf.put(isBid, tryParsePriceTicks(price, ticksPerUnit), lots);
    }
  }
  return shelf;
}
