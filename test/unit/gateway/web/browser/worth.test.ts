import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gainOfAll, worthOf, worthOfAll } from '../../../../../gateway/web/browser/worth.ts';

const POSITION = { outcome_index: 0, quantity: '9950000', average_entry_price: '0.65000000' } as const;

test('a position is worth the middle of the book, and has gained what that is above its price (RULES.md 14.25)', () => {
  assert.deepEqual(worthOf(POSITION, { midpoint: '0.75' }), { worthMicro: 7_462_500n, gainMicro: 995_000n });
  assert.deepEqual(worthOf(POSITION, { midpoint: '0.645' }), { worthMicro: 6_417_750n, gainMicro: -49_750n });
});

test('rounding makes a loss larger by the last digit, never smaller', () => {
  const position = { outcome_index: 0, quantity: '1', average_entry_price: '0.65000000' } as const;
  assert.deepEqual(worthOf(position, { midpoint: '0.64' }), { worthMicro: 0n, gainMicro: -1n });
});

test('a token of No is worth the rest of the unit', () => {
  const position = { ...POSITION, outcome_index: 1, average_entry_price: '0.25000000' } as const;
  assert.deepEqual(worthOf(position, { midpoint: '0.75' }), { worthMicro: 2_487_500n, gainMicro: 0n });
});

test('a one-sided book gives no worth, and tokens that were not bought have no gain', () => {
  assert.deepEqual(worthOf(POSITION, { midpoint: null }), { worthMicro: null, gainMicro: null });
  assert.deepEqual(worthOf(POSITION, undefined), { worthMicro: null, gainMicro: null });
  const free = { ...POSITION, average_entry_price: null };
  assert.deepEqual(worthOf(free, { midpoint: '0.5' }), { worthMicro: 4_975_000n, gainMicro: null });
});

test('the gain of all time is the worth less what was paid in, and unknown while a part is', () => {
  const values = [{ worthMicro: 1_741_250n, gainMicro: null }];
  assert.equal(gainOfAll(98_000_000n, values, 100_000_000n), -258_750n);
  assert.equal(gainOfAll(98_000_000n, values, null), null);
  assert.equal(gainOfAll(98_000_000n, [{ worthMicro: null, gainMicro: null }], 0n), null);
  assert.equal(worthOfAll([...values, { worthMicro: null, gainMicro: null }]), 1_741_250n);
});
