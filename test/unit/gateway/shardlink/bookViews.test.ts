import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestTicks, bookLevels } from '../../../../gateway/shardlink/bookLevels.ts';
import { BookOrders, MAX_ORDERS_SHOWN, makeBookTexts } from '../../../../gateway/shardlink/bookOrders.ts';
import { Book, BookSide, NO_TICK } from '../../../../gateway/shardlink/bookViews.ts';
import { OpenOrders } from '../../../../gateway/shardlink/orderViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { queuePosition } from '../../../../gateway/shardlink/queuePosition.ts';
import {
  OUTCOME,
  type Outcome,
  SIDE,
  type Side,
  TICKS_PER_UNIT,
  TIME_IN_FORCE,
} from '../../../../shared/base/codes.ts';
import { packKind } from '../../../../shared/wire/commands.ts';
import { EVENT, EVENT_VERSION } from '../../../../shared/wire/events.ts';
import { RecordBuffer, writeSafe } from '../../../../shared/wire/record.ts';

const TEXTS = makeBookTexts();

type Spec = { side?: Side; outcome?: Outcome; ticks: number; lots: number };

/** Orders that were never matched: enough for a book to hold. */
class Pool {
  readonly orders = new OpenOrders(0, new PairIndex());
  readonly #event = new RecordBuffer(256);
  #count = 0;

  add({ side = SIDE.BUY, outcome = OUTCOME.YES, ticks, lots }: Spec): number {
    const slot = this.#count++;
    this.#event.clear();
    const word = this.#event.append(EVENT.ORDER.BYTES, EVENT.ORDER.TYPE | (EVENT_VERSION << 16));
    const { words } = this.#event;
    words[word + EVENT.ORDER.kind] = packKind(side, outcome, TIME_IN_FORCE.GTC, 0);
    words[word + EVENT.ORDER.limitTicks] = ticks;
    writeSafe(words, word + EVENT.ORDER.quantityLots, lots);
    writeSafe(words, word + EVENT.ORDER.remainingLots, lots);
    writeSafe(words, word + EVENT.ORDER.sequence, this.#count);
    this.orders.write(slot, words, word);
    return slot;
  }
}

function bookOf(ticksPerUnit: number, specs: readonly Spec[]): Book {
  const pool = new Pool();
  const book = new Book(ticksPerUnit);
  for (const spec of specs) book.insert(pool.orders, pool.add(spec));
  return book;
}

for (const ticksPerUnit of TICKS_PER_UNIT) {
  test(`levels are found at every edge of the grid of ${ticksPerUnit} ticks`, () => {
    const edges = [1, 2, 31, 32, 33, 63, 64, ticksPerUnit - 2, ticksPerUnit - 1].filter((tick) => tick < ticksPerUnit);
    const ticks = [...new Set(edges)].sort((a, b) => a - b);
    const pool = new Pool();
    const side = new BookSide(ticksPerUnit);
    assert.equal(side.lowest(), NO_TICK);
    assert.equal(side.highest(), NO_TICK);
    const slots = ticks.map((tick) => {
      const slot = pool.add({ ticks: tick, lots: 1 });
      side.insert(pool.orders, slot, tick);
      return slot;
    });
    assert.equal(side.lowest(), ticks[0]);
    assert.equal(side.highest(), ticks.at(-1));
    for (const [index, tick] of ticks.entries()) {
      assert.equal(side.above(tick), ticks[index + 1] ?? NO_TICK);
      assert.equal(side.below(tick), ticks[index - 1] ?? NO_TICK);
    }
    for (const [index, tick] of ticks.entries()) side.remove(pool.orders, slots[index], tick);
    assert.equal(side.lowest(), NO_TICK);
    assert.equal(side.highest(), NO_TICK);
  });
}

test('a level leaves with its last order and not before', () => {
  const pool = new Pool();
  const side = new BookSide(100);
  const [first, second] = [pool.add({ ticks: 40, lots: 3 }), pool.add({ ticks: 40, lots: 4 })];
  side.insert(pool.orders, first, 40);
  side.insert(pool.orders, second, 40);
  side.remove(pool.orders, first, 40);
  assert.equal(side.highest(), 40);
  assert.equal(side.lots[40], 4);
  side.remove(pool.orders, second, 40);
  assert.equal(side.highest(), NO_TICK);
  assert.equal(side.lots[40], 0);
});

test('an order that comes back stands where its sequence belongs: first, between or last', () => {
  const pool = new Pool();
  const side = new BookSide(100);
  const slots = [0, 1, 2, 3, 4].map(() => pool.add({ ticks: 40, lots: 1 }));
  const queue = (): number[] => {
    const found: number[] = [];
    for (let slot = side.head[40]; slot >= 0; slot = pool.orders.queueNext[slot]) found.push(slot);
    return found;
  };
  for (const slot of slots) side.insert(pool.orders, slot, 40);
  for (const slot of [0, 2, 4]) side.remove(pool.orders, slot, 40);
  assert.deepEqual(queue(), [1, 3]);
  for (const slot of [2, 4, 0]) side.insert(pool.orders, slot, 40);
  assert.deepEqual(queue(), slots);
});

test('a level adds up both kinds of order, and size what their makers still provide', () => {
  const book = bookOf(100, [
    { side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 65, lots: 1000 },
    { side: SIDE.SELL, outcome: OUTCOME.NO, ticks: 35, lots: 200 },
    { side: SIDE.SELL, outcome: OUTCOME.YES, ticks: 67, lots: 30 },
    { side: SIDE.BUY, outcome: OUTCOME.NO, ticks: 33, lots: 4 },
  ]);
  assert.deepEqual(bookLevels(book, OUTCOME.YES, 20), {
    bids: [
      {
        price: '0.65',
        num_orders: 2,
        token_quantity_atomic: '120000',
        notional_usdc_micro: '78000',
        size: String(1000 * 65 + 200 * 100),
      },
    ],
    asks: [
      {
        price: '0.67',
        num_orders: 2,
        token_quantity_atomic: '3400',
        notional_usdc_micro: '2278',
        size: String(30 * 100 + 4 * 33),
      },
    ],
  });
});

test('outcome 1 is the mirror of outcome 0: sides swapped, prices from the other end, the same quantities', () => {
  const book = bookOf(
    1000,
    [600, 610, 630].flatMap((ticks) => [
      { ticks, lots: ticks },
      { side: SIDE.SELL, ticks: ticks + 100, lots: ticks + 7 },
    ]),
  );
  const yes = bookLevels(book, OUTCOME.YES, 20);
  const no = bookLevels(book, OUTCOME.NO, 20);
  for (const [own, mirrored] of [
    [yes.bids, no.asks],
    [yes.asks, no.bids],
  ] as const) {
    assert.equal(own.length, mirrored.length);
    for (const [index, level] of own.entries()) {
      const other = mirrored[index];
      assert.equal(Math.round((Number(level.price) + Number(other.price)) * 1000), 1000);
      assert.equal(other.token_quantity_atomic, level.token_quantity_atomic);
      assert.equal(other.num_orders, level.num_orders);
      assert.equal(other.size, level.size);
      const [here, there] = [BigInt(level.notional_usdc_micro), BigInt(other.notional_usdc_micro)];
      assert.equal(here + there, BigInt(level.token_quantity_atomic), 'a set is worth exactly one unit');
    }
  }
  assert.deepEqual(
    yes.bids.map(({ price }) => price),
    ['0.63', '0.61', '0.6'],
  );
  assert.deepEqual(
    no.bids.map(({ price }) => price),
    ['0.3', '0.29', '0.27'],
  );
});

test('levels beyond the count asked for are left out, best first', () => {
  const book = bookOf(
    100,
    [10, 20, 30].map((ticks) => ({ ticks, lots: 1 })),
  );
  assert.deepEqual(
    bookLevels(book, OUTCOME.YES, 2).bids.map(({ price }) => price),
    ['0.3', '0.2'],
  );
});

test('a level beyond the safe integers is shown exactly', () => {
  const lots = 90_071_992_547_409;
  const specs = Array.from({ length: 30 }, () => ({ ticks: 99, lots }));
  const [level] = bookLevels(bookOf(100, specs), OUTCOME.YES, 1).bids;
  const total = 30n * BigInt(lots);
  assert.equal(level!.token_quantity_atomic, String(total * 100n));
  assert.equal(level!.notional_usdc_micro, String(total * 99n));
  assert.equal(level!.size, String(total * 99n));
});

test('a market without a resting order has empty levels and no best price', () => {
  assert.deepEqual(bookLevels(undefined, OUTCOME.NO, 20), { bids: [], asks: [] });
  assert.deepEqual(bestTicks(undefined, OUTCOME.NO), { bid: NO_TICK, ask: NO_TICK });
});

test('best prices are mirrored with their sides', () => {
  const book = bookOf(100, [{ ticks: 65, lots: 1 }]);
  assert.deepEqual(bestTicks(book, OUTCOME.YES), { bid: 65, ask: NO_TICK });
  assert.deepEqual(bestTicks(book, OUTCOME.NO), { bid: NO_TICK, ask: 35 });
});

test('a place in the queue is counted from the nearer end, and not at all in the middle of a long one', () => {
  const pool = new Pool();
  const book = new Book(100);
  const slots = [3, 5, 7, 11, 13, 17].map((lots) => pool.add({ ticks: 40, lots }));
  for (const slot of slots) book.insert(pool.orders, slot);
  const places = (maxSteps: number) => slots.map((slot) => queuePosition(book, pool.orders, slot, maxSteps).ahead);
  const exact = [0, 3, 8, 15, 26, 39].map((lots, orders) => ({ orders, lots }));
  assert.deepEqual(places(100), exact);
  assert.deepEqual(places(2), exact);
  assert.deepEqual(places(1), [exact[0], exact[1], null, null, exact[4], exact[5]]);
  assert.equal(queuePosition(book, pool.orders, slots[2], 1).levelLots, 56);
});

type Shown = { bids: { price: string }[]; asks: { price: string }[]; has_more: boolean };

function shownOrders(book: Book | undefined, from: OpenOrders, outcome: Outcome, levels: number): Shown {
  return JSON.parse(`{${[...new BookOrders(book, from, levels, TEXTS).members(outcome)].join('')}}`);
}

test('a book order by order has the levels asked for, best first, and says when it is not all of them', () => {
  const pool = new Pool();
  const book = new Book(100);
  const add = (ticks: number, lots: number, outcome: Outcome = OUTCOME.YES): string => {
    const slot = pool.add({ ticks, lots, outcome });
    book.insert(pool.orders, slot);
    return pool.orders.orderId(slot);
  };
  const [low, first, second] = [add(40, 3), add(41, 5), add(41, 7)];
  const ask = add(50, 2, OUTCOME.NO);
  const order = (id: string, price: string, lots: number) => {
    return { id, price, remaining_token_quantity_atomic: String(lots * 100) };
  };
  const best = [order(first, '0.41', 5), order(second, '0.41', 7)];
  assert.deepEqual(shownOrders(book, pool.orders, OUTCOME.YES, 2), {
    bids: [...best, order(low, '0.4', 3)],
    asks: [order(ask, '0.5', 2)],
    has_more: false,
  });
  assert.deepEqual(shownOrders(book, pool.orders, OUTCOME.YES, 1).bids, best);
  const mirrored = shownOrders(book, pool.orders, OUTCOME.NO, 1);
  assert.deepEqual(
    mirrored.asks.map(({ price }) => price),
    ['0.59', '0.59'],
  );
  for (let count = 0; count < MAX_ORDERS_SHOWN; count++) add(30, 1);
  const cut = shownOrders(book, pool.orders, OUTCOME.YES, 100);
  assert.deepEqual([cut.bids.length, cut.has_more], [MAX_ORDERS_SHOWN, true]);
  assert.deepEqual(shownOrders(undefined, pool.orders, OUTCOME.YES, 1), { bids: [], asks: [], has_more: false });
});
