/** A purchase for an amount of USDC, part by part, against a book that answers as the exchange does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextStep } from '../../../../../gateway/programs/polymarket/purchase.ts';
import { Random } from '../../../../support/random.ts';

const LEAST = 10_000n;
type Level = { price: string; lots: bigint };

/** Takes from the levels up to the limit. @returns the cost of so many lots */
function take(levels: Level[], limitTicks: bigint, wanted: bigint): bigint {
  let [left, cost] = [wanted, 0n];
  for (const level of levels) {
    const ticks = BigInt(level.price.slice(2));
    if (ticks > limitTicks) break;
    const taken = level.lots < left ? level.lots : left;
    level.lots -= taken;
    left -= taken;
    cost += taken * ticks;
  }
  return cost;
}

function spend(levels: Level[], amount: bigint, isFok: boolean, mostTicks = 99n): bigint {
  let left = amount;
  for (let round = 0; round < 32; round++) {
    const asks = levels
      .filter(({ lots }) => lots > 0n)
      .map(({ price, lots }) => ({ price, token_quantity_atomic: String(lots * 100n) }));
    const purchase = { asks, ticksPerUnit: 100, mostTicks, leftMicro: left, leastLots: LEAST };
    const step = nextStep(purchase, isFok && round === 0);
    if (step === null || step.lots < LEAST) break;
    assert.ok(step.lots * step.limitTicks <= left, 'the part may cost more than is left');
    left -= take(levels, step.limitTicks, step.lots);
  }
  return amount - left;
}

const book = (...rows: [string, number][]): Level[] =>
  rows.map(([price, tokens]) => ({ price, lots: BigInt(tokens * 10_000) }));

test('an amount is spent but for less than a lot, whatever levels it takes', () => {
  for (const isFok of [false, true]) {
    const levels = book(['0.40', 7.5], ['0.43', 7.5], ['0.45', 7.5], ['0.50', 7.5], ['0.55', 7.5]);
    const spent = spend(levels, 14_000_000n, isFok);
    assert.ok(spent <= 14_000_000n && spent > 14_000_000n - 55n, `${spent}`);
  }
  assert.ok(spend(book(['0.50', 10], ['0.51', 10]), 7_000_000n, true) > 7_000_000n - 51n);
});

test('nothing is bought above the limit, and nothing where the book is empty', () => {
  assert.equal(spend(book(['0.50', 2], ['0.60', 10]), 7_000_000n, false, 55n), 1_000_000n);
  assert.equal(spend([], 7_000_000n, false), 0n);
});

test('where the last level has less than a least order, the levels before it leave enough for one', () => {
  // 100 tokens for 40 USDC, and 0.73 more for the rest.
  const unspent = 40_300_000n - spend(book(['0.40', 100], ['0.41', 50]), 40_300_000n, false);
  assert.ok(unspent >= 0n && unspent < 10_000n, `${unspent} of 300,000`);
});

test('of random books no part may cost more than is left, and what remains is less than the prices differ', () => {
  const random = new Random(58);
  for (let run = 0; run < 2000; run++) {
    const rows = Array.from({ length: 1 + random.below(6) }, (_, index): [string, number] => [
      `0.${10 + index * 12 + random.below(12)}`,
      1 + random.below(50),
    ]);
    const whole = rows.reduce((sum, [price, tokens]) => sum + BigInt(price.slice(2)) * BigInt(tokens * 10_000), 0n);
    const amount = 1_000_000n + BigInt(random.below(50_000_000));
    const spent = spend(book(...rows), amount, run % 2 === 0);
    const possible = amount < whole ? amount : whole;
    const prices = rows.map(([price]) => BigInt(price.slice(2)));
    const apart = 99n + 2n * LEAST * (prices.at(-1)! - prices[0]!);
    const most = apart < 990_000n ? apart : 990_000n;
    assert.ok(spent <= amount && spent > possible - most, `run ${run} of seed 58: ${spent} of ${possible}`);
  }
});
