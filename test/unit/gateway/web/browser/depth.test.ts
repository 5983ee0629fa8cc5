/** The depth chart: which prices it draws, and what an order up to a price would meet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf, sentenceAt, staircase } from '../../../../../gateway/web/browser/depth.ts';
import type { Level } from '../../../../../shared/client/stream/bookReplica.ts';

const level = (price: string, tokens: number): Level => ({
  price,
  token_quantity_atomic: String(tokens * 1_000_000),
  num_orders: 1,
});

const BIDS = staircase([level('0.56', 100), level('0.55', 300), level('0.05', 20)]);
const ASKS = staircase([level('0.58', 50), level('0.60', 250)]);

test('the drawn prices are around the middle of the book, as far as most tokens of both sides lie', () => {
  assert.deepEqual(rangeOf(BIDS, ASKS), { from: 5200, to: 6200 });
  const far = staircase([level('0.20', 1000)]);
  assert.deepEqual(rangeOf(far, staircase([level('0.58', 50)])), { from: 1900, to: 5900 });
});

test('the drawn prices never leave 0 and 100 cents, and one side alone is drawn around its best price', () => {
  assert.deepEqual(rangeOf(staircase([level('0.01', 5)]), []), { from: 0, to: 300 });
  assert.deepEqual(rangeOf([], staircase([level('0.99', 5)])), { from: 9700, to: 10_000 });
});

test('under the pointer stands what an order up to that price meets, and what it costs', () => {
  assert.equal(sentenceAt(5900, BIDS, ASKS), 'Buy 50.00 tokens up to 58¢ for $29.00');
  assert.equal(sentenceAt(6500, BIDS, ASKS), 'Buy 300.00 tokens up to 60¢ for $179.00');
  assert.equal(sentenceAt(5500, BIDS, ASKS), 'Sell 400.00 tokens down to 55¢ for $221.00');
  assert.equal(sentenceAt(5700, BIDS, ASKS), null, 'between the sides there is nothing to meet');
});
