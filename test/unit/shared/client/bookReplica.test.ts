import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { crc32OfText } from '../../../../shared/base/crc32.ts';
import { BookReplica } from '../../../../shared/client/stream/bookReplica.ts';
import type { BboFrame, BookFrame, DeltaFrame, FrameLevel } from '../../../../shared/client/stream/frames.ts';

type Row = readonly [price: string, quantity: string];
type Vector = { name: string; bids: Row[]; asks: Row[]; checksum: number };

const MARKET = '01900000-0000-7000-8000-000000000001';
const VECTORS: Vector[] = JSON.parse(
  readFileSync(new URL('../../../vectors/bookChecksum.json', import.meta.url), 'utf8'),
).vectors;
/** The example of RULES.md 8.8. */
const BIDS: Row[] = [
  ['0.65', '10000000'],
  ['0.6', '7000000'],
];
const ASKS: Row[] = [['0.67', '4000000']];

const level = ([price, token_quantity_atomic]: Row): FrameLevel => ({ price, token_quantity_atomic, num_orders: 1 });

function bookFrame(sequence: number, bids: readonly Row[], asks: readonly Row[], checksum: number): BookFrame {
  const outcome_0 = { bids: bids.map(level), asks: asks.map(level) };
  const data = { outcome_0, outcome_1: { bids: [], asks: [] }, checksum };
  return { channel: 'book', market_id: MARKET, sequence, timestamp: 1, data };
}

function delta(sequence: number, side: 'BUY' | 'SELL', [price, quantity]: Row, checksum?: number): DeltaFrame {
  const num_orders = quantity === '0' ? 0 : 1;
  return {
    channel: 'book_delta',
    market_id: MARKET,
    sequence,
    timestamp: 2,
    data: {
      event: 'open',
      order_id: MARKET,
      outcome_index: 0,
      side,
      price,
      token_quantity_atomic: quantity,
      remaining_token_quantity_atomic: quantity,
      level: { outcome_index: 0, side, price, token_quantity_atomic: quantity, num_orders },
      ...(checksum === undefined ? {} : { checksum }),
    },
  };
}

function begun(): BookReplica {
  const book = new BookReplica();
  assert.equal(book.apply(bookFrame(7, BIDS, ASKS, 1_962_839_163)), 'applied');
  return book;
}

test("the checksum computed from bids and asks equals the vectors' (RULES.md 8.8)", () => {
  for (const { name, bids, asks, checksum } of VECTORS) {
    const book = new BookReplica();
    assert.equal(book.apply(bookFrame(1, bids, asks, checksum)), 'applied', name);
    assert.equal(book.checksum(), checksum, name);
  }
  for (const text of ['', 'a', '123456789', 'x'.repeat(5000)]) assert.equal(crc32OfText(text), crc32(text));
});

test('levels stay sorted, change in place and go when they are empty (RULES.md 8.4)', () => {
  const book = begun();
  const steps: [DeltaFrame, string][] = [
    [delta(8, 'BUY', ['0.61', '5']), '0.65 0.61 0.6 | 0.67'],
    [delta(9, 'SELL', ['0.6601', '5']), '0.65 0.61 0.6 | 0.6601 0.67'],
    [delta(10, 'BUY', ['0.65', '0']), '0.61 0.6 | 0.6601 0.67'],
    [delta(11, 'SELL', ['0.67', '9']), '0.61 0.6 | 0.6601 0.67'],
    [delta(12, 'BUY', ['0.1', '1']), '0.61 0.6 0.1 | 0.6601 0.67'],
  ];
  for (const [frame, expected] of steps) {
    assert.equal(book.apply(frame), 'applied');
    const { bids, asks } = book.levels(0);
    assert.equal([bids, asks].map((side) => side.map(({ price }) => price).join(' ')).join(' | '), expected);
  }
  assert.equal(book.sequence, 12);
  assert.equal(book.levels(0).asks[1].token_quantity_atomic, '9');
});

test('a bid for Yes is an ask for No at the rest of a dollar (RULES.md 2.1)', () => {
  const book = begun();
  const prices = (rows: readonly { price: string }[]) => rows.map(({ price }) => price);
  const { bids, asks } = book.levels(1);
  assert.deepEqual([prices(bids), prices(asks)], [['0.33'], ['0.35', '0.4']]);
  assert.deepEqual([book.best(1).bid?.price, book.best(1).ask?.price], ['0.33', '0.35']);
  assert.deepEqual(new BookReplica().best(0), { bid: null, ask: null });
});

test('a frame after a gap, a repeated one and a contradicting one are never applied (RULES.md 8.3, 8.7)', () => {
  const book = begun();
  const bid: Row = ['0.61', '5'];
  assert.equal(book.apply(delta(9, 'BUY', bid)), 'gap');
  assert.equal(book.apply(delta(7, 'BUY', bid)), 'repeated');
  assert.equal(book.sequence, 7);
  const best: BboFrame['data'] = {
    outcome_index: 0,
    best_bid: '0.65',
    best_ask: '0.67',
    best_bid_quantity_atomic: '10000000',
    best_ask_quantity_atomic: '4000000',
    spread: '0.02',
    midpoint: '0.66',
  };
  const bbo = (sequence: number, data: BboFrame['data']): BboFrame => ({
    channel: 'bbo',
    market_id: MARKET,
    sequence,
    timestamp: 3,
    data,
  });
  assert.equal(book.apply(bbo(7, best)), 'applied');
  assert.equal(book.apply(bbo(8, best)), 'gap');
  const wrongs = [
    (wrong: BookReplica) => wrong.apply(bbo(7, { ...best, best_ask_quantity_atomic: '1' })),
    (wrong: BookReplica) => wrong.apply(delta(8, 'BUY', bid, 1)),
    (wrong: BookReplica) => wrong.apply(delta(8, 'SELL', ['0.99', '0'])),
    (wrong: BookReplica) => wrong.apply(bookFrame(8, BIDS, ASKS, 1)),
  ];
  for (const apply of wrongs) {
    const wrong = begun();
    assert.equal(apply(wrong), 'mismatch');
    assert.equal(wrong.sequence, null);
    assert.equal(wrong.apply(delta(9, 'BUY', bid)), 'unready');
    assert.equal(wrong.apply(bookFrame(20, BIDS, ASKS, 1_962_839_163)), 'applied');
  }
});

test('a book that no frame has reached yet is shown empty at sequence 0, which no frame has', () => {
  const { sequence, data } = new BookReplica().toFrame(MARKET, 5);
  assert.deepEqual([sequence, data.outcome_0, data.checksum], [0, { bids: [], asks: [] }, 0]);
});

test('half a frame leaves no book that looks right: only the next book frame is applied', () => {
  const replica = new BookReplica();
  const [bid] = BIDS;
  const whole = (sequence: number) => bookFrame(sequence, [bid!], [], crc32OfText(bid!.join(':')));
  const { channel, market_id, timestamp } = whole(1);
  const half = { channel, market_id, sequence: 2, timestamp, data: { outcome_0: { bids: [] } } };
  const spoiled = { ...delta(2, 'BUY', ['0.5', '1']), data: { event: 'open' } };
  for (const frame of [half, spoiled] as unknown as BookFrame[]) {
    assert.equal(replica.apply(whole(1)), 'applied');
    assert.throws(() => replica.apply(frame), TypeError);
    assert.equal(replica.sequence, null);
    assert.equal(replica.apply(delta(3, 'BUY', ['0.4', '1'])), 'unready');
  }
  assert.equal(replica.apply(whole(4)), 'applied');
});
