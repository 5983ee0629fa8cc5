/** Orders of Polymarket's clients are brought onto the grid of the exchange. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitAndLotsOf, limitOf, type OrderKind } from '../../../../../gateway/programs/polymarket/amounts.ts';

const CENTS = { ticksPerUnit: 100, tick: '0.01' };
type Order = Parameters<typeof limitAndLotsOf>[0];
type Listed = Parameters<typeof limitAndLotsOf>[2];

function terms(side: 'BUY' | 'SELL', makerAmount: bigint, takerAmount: bigint, kind: OrderKind) {
  const { limitTicks, lots } = limitAndLotsOf({ side, makerAmount, takerAmount } as Order, kind, CENTS as Listed);
  return [limitTicks, lots];
}
const limit = (makerAmount: bigint, takerAmount: bigint): bigint =>
  limitOf({ side: 'BUY', makerAmount, takerAmount } as Order, CENTS as Listed);

test('an order that rests is on the grid exactly, or is refused', () => {
  assert.deepEqual(terms('BUY', 5_500_000n, 10_000_000n, 'GTC'), [55n, 100_000n]);
  assert.deepEqual(terms('SELL', 10_000_000n, 5_500_000n, 'GTD'), [55n, 100_000n]);
  assert.throws(() => terms('BUY', 5_550_000n, 10_000_000n, 'GTC'), /MIN_TICK_SIZE/);
  assert.throws(() => terms('BUY', 5_500_001n, 10_000_000n, 'GTC'), /MIN_TICK_SIZE/);
  assert.throws(() => terms('BUY', 5_500_000n, 10_000_050n, 'GTC'), /MIN_SIZE/);
  assert.throws(() => terms('BUY', 10_000_000n, 10_000_000n, 'GTC'), /MIN_TICK_SIZE/);
  assert.throws(() => terms('SELL', 10_000_000n, 1n, 'GTC'), /MIN_TICK_SIZE/);
});

test('the limit of an order at the market is no worse than signed', () => {
  assert.deepEqual(terms('SELL', 10_000_050n, 5_555_000n, 'FAK'), [56n, 100_000n]);
  assert.equal(limit(7_000_000n, 13_725_400n), 51n);
  assert.equal(limit(7_000_000n, 13_800_000n), 50n);
});

test('a price that a client has rounded away from its tick by a hair is that tick', () => {
  // 100 USDC at 0.57 are 175.438596… tokens: rounded up the price is just below 0.57.
  assert.equal(limit(100_000_000n, 175_438_600n), 57n);
  assert.equal(limit(100_000_000n, 175_438_500n), 57n);
  assert.deepEqual(terms('SELL', 175_438_600n, 100_000_100n, 'FOK'), [57n, 1_754_386n]);
});

test('a purchase at one dollar or more takes everything, and one below the first tick nothing', () => {
  assert.equal(limit(20_000_000n, 10_000_000n), 99n);
  assert.throws(() => limit(10_000n, 10_000_000n), /MIN_TICK_SIZE/);
});
