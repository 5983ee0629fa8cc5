import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Been, judge } from '../../../bench/growth.ts';

const MONTHS = 9;
const ORDERS = 10_000;
const SLACK = 1000;

const been: Been[] = Array.from({ length: MONTHS }, (_, month) => ({
  orders: (month + 1) * ORDERS,
  trades: (month + 1) * 400,
  accounts: (month + 1) * 20,
  markets: (month + 1) * 30,
}));

function isGrowing(atEndOf: (month: number) => number, kept: Parameters<typeof judge>[2] = {}): boolean {
  return judge(
    Array.from({ length: MONTHS }, (_, month) => atEndOf(month)),
    been,
    kept,
    SLACK,
  ).isGrowing;
}

describe('a quantity of an exchange', () => {
  it('grows with what has been if it gains a byte for each order', () => {
    assert.ok(isGrowing((month) => 1_000_000 + month * ORDERS));
    const { perOrder } = judge(
      been.map(({ orders }) => 7 * orders),
      been,
      {},
      SLACK,
    );
    assert.equal(Math.round(perOrder * 1000), 7000);
  });

  it('may grow while it fills, and by what is kept for ever', () => {
    assert.ok(!isGrowing((month) => Math.min(month, 2) * 50_000));
    const ofTrades = (month: number): number => 5000 + been[month]!.trades * 100;
    assert.ok(isGrowing(ofTrades));
    assert.ok(!isGrowing(ofTrades, { trades: 100 }));
  });

  it('may go up and down, and shrink', () => {
    assert.ok(!isGrowing((month) => (month % 2) * 90_000));
    assert.ok(!isGrowing((month) => -month * 90_000));
  });

  it('is not judged by fewer than three months', () => {
    assert.ok(!judge([0, 1e9], been.slice(0, 2), {}, SLACK).isGrowing);
  });
});
