import assert from 'node:assert/strict';
import { test } from 'node:test';
import { correct, exchange, type Holding } from '../../../../engine/projector/averageCost.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const nothing = (): Holding => ({
  quantityAtomic: 0n,
  grossMilli: 0n,
  entryAtto: 0n,
  costMicro: 0n,
  realizedMicro: 0n,
});

/** Net tokens, gross tokens and USDC paid, one change after the other. */
function after(...changes: readonly (readonly [net: bigint, gross: bigint, paid: bigint])[]): bigint[] {
  const holding = nothing();
  for (const [net, gross, paid] of changes) exchange(holding, net, gross, paid);
  return [holding.quantityAtomic, holding.grossMilli / 1000n, holding.costMicro, holding.realizedMicro];
}

test('RULES.md 13.9: 10 tokens bought at 0.65 with a fee of 0.05 tokens: 9.95 held at a cost of 6.50', () => {
  assert.deepEqual(after([9_950_000n, 10_000_000n, 6_500_000n]), [9_950_000n, 10_000_000n, 6_500_000n, 0n]);
});

test('RULES.md 13.9: buying more adds cost: 10 at 0.60 and 10 at 0.70 cost 13.00, 0.65 each', () => {
  const buys = [
    [10_000_000n, 10_000_000n, 6_000_000n],
    [10_000_000n, 10_000_000n, 7_000_000n],
  ] as const;
  assert.deepEqual(after(...buys), [20_000_000n, 20_000_000n, 13_000_000n, 0n]);
});

test('RULES.md 13.9: selling 4 of 10 that cost 6.50 for 3.00 less a fee of 0.015 earns 2.985 - 2.60 = 0.385', () => {
  const result = after([10_000_000n, 10_000_000n, 6_500_000n], [-4_000_000n, -4_000_000n, -2_985_000n]);
  assert.deepEqual(result, [6_000_000n, 6_000_000n, 3_900_000n, 385_000n]);
});

test('the share of the cost that leaves is rounded towards zero, and the last token takes the remainder', () => {
  // 3 atomic tokens cost 2 micro: the first takes 0, the second 1 of 2, the third 1.
  assert.deepEqual(after([3n, 3n, 2n], [-1n, -1n, -1n]), [2n, 2n, 2n, 1n]);
  assert.deepEqual(after([3n, 3n, 2n], [-1n, -1n, -1n], [-1n, -1n, -1n]), [1n, 1n, 1n, 1n]);
  assert.deepEqual(after([3n, 3n, 2n], [-1n, -1n, -1n], [-1n, -1n, -1n], [-1n, -1n, -1n]), [0n, 0n, 0n, 1n]);
});

test('tokens that are owed have a negative cost; buying them back earns the difference', () => {
  const sold = after([-10_000_000n, -10_000_000n, -6_000_000n]);
  assert.deepEqual(sold, [-10_000_000n, 10_000_000n, -6_000_000n, 0n]);
  const half = after([-10_000_000n, -10_000_000n, -6_000_000n], [5_000_000n, 5_000_000n, 2_000_000n]);
  assert.deepEqual(half, [-5_000_000n, 5_000_000n, -3_000_000n, 1_000_000n]);
});

test('selling 15 of 10 held closes 10 and owes 5, each at its share of the USDC', () => {
  const result = after([10_000_000n, 10_000_000n, 4_000_000n], [-15_000_000n, -15_000_000n, -9_000_000n]);
  assert.deepEqual(result, [-5_000_000n, 5_000_000n, -3_000_000n, 2_000_000n]);
});

test('buying 15 with 10 owed closes 10 and holds 5', () => {
  const result = after([-10_000_000n, -10_000_000n, -6_000_000n], [15_000_000n, 15_000_000n, 6_000_000n]);
  assert.deepEqual(result, [5_000_000n, 5_000_000n, 2_000_000n, 2_000_000n]);
});

test('a fee of everything that was bought is a loss of what it cost', () => {
  assert.deepEqual(after([0n, 10n, 6n]), [0n, 0n, 0n, -6n]);
});

/** The average entry price after these changes, in 10^-18 USDC, with a point after the unit. */
function entryAfter(...changes: readonly (readonly [net: bigint, gross: bigint, paid: bigint])[]): string {
  const holding = nothing();
  for (const [net, gross, paid] of changes) exchange(holding, net, gross, paid);
  const digits = String(holding.entryAtto).padStart(19, '0');
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`;
}

test('RULES.md 14.22: 10 at 0.60 and 10 at 0.70 were entered at 0.65, whatever the fees took', () => {
  const buys = [
    [9_950_000n, 10_000_000n, 6_000_000n],
    [9_950_000n, 10_000_000n, 7_000_000n],
  ] as const;
  assert.equal(entryAfter(...buys), '0.650000000000000000');
});

test('RULES.md 14.22: 10 at 0.60 and 5 at 0.75: (6.00 + 3.75) / 15 = 0.65; 7 at 0.10 and 3 at 0.11: 0.103', () => {
  const first = entryAfter([9_950_000n, 10_000_000n, 6_000_000n], [4_975_000n, 5_000_000n, 3_750_000n]);
  assert.equal(first, '0.650000000000000000');
  const second = entryAfter([7_000_000n, 7_000_000n, 700_000n], [3_000_000n, 3_000_000n, 330_000n]);
  assert.equal(second, '0.103000000000000000');
});

test('RULES.md 14.22: no sale changes the average entry price, not by its last digit, nor one of everything', () => {
  const buy = [9_950_000n, 10_000_000n, 6_500_000n] as const;
  const sale = [-3_330_000n, -3_330_000n, -2_000_000n] as const;
  assert.equal(entryAfter(buy, sale), '0.650000000000000000');
  assert.equal(entryAfter(buy, sale, sale, [-3_290_000n, -3_290_000n, 0n]), '0.650000000000000000');
});

test('RULES.md 14.22: after a sale of half, 5 kept at 0.60 and 5 bought at 0.80 make 0.70', () => {
  const buy = [10_000_000n, 10_000_000n, 6_000_000n] as const;
  const half = [-5_000_000n, -5_000_000n, -4_000_000n] as const;
  assert.equal(entryAfter(buy, half, [5_000_000n, 5_000_000n, 4_000_000n]), '0.700000000000000000');
});

test('RULES.md 14.22: a position that is opened again starts with its own price', () => {
  const all = [-10_000_000n, -10_000_000n, -9_000_000n] as const;
  const prices = entryAfter([10_000_000n, 10_000_000n, 6_000_000n], all, [1_000_000n, 1_000_000n, 100_000n]);
  assert.equal(prices, '0.100000000000000000');
});

test('the weight of more tokens than can exist has a bound, and the price is still right', () => {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  const buys = Array.from({ length: 3 }, () => [most, most, most / 2n] as const);
  const holding = nothing();
  for (const [net, gross, paid] of buys) exchange(holding, net, gross, paid);
  assert.equal(holding.grossMilli, 2n ** 63n - 1n);
  assert.equal(entryAfter(...buys).slice(0, 10), '0.49999999');
});

test('a quantity that is corrected keeps its price and its share of the cost, and earns nothing', () => {
  const holding = nothing();
  exchange(holding, 10_000_000n, 10_000_000n, 6_500_000n);
  correct(holding, 4_000_000n);
  assert.deepEqual(holding, {
    quantityAtomic: 4_000_000n,
    grossMilli: 4_000_000_000n,
    entryAtto: 650_000_000_000_000_000n,
    costMicro: 2_600_000n,
    realizedMicro: 0n,
  });
  correct(holding, 0n);
  assert.deepEqual([holding.costMicro, holding.grossMilli, holding.realizedMicro], [0n, 0n, 0n]);
  correct(holding, 7n);
  assert.deepEqual([holding.quantityAtomic, holding.costMicro, holding.entryAtto], [7n, 0n, 0n]);
});

const seed = seedOr(17);
test(`realized less cost is the USDC received less the USDC paid, whatever happens (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const below = (n: number): bigint => BigInt(Math.floor(random() * n));
  for (let round = 0; round < 50; round++) {
    const holding = nothing();
    let received = 0n;
    for (let change = 0; change < 100; change++) {
      const isBuy = random() < 0.5;
      const gross = 1n + below(1000);
      const fee = isBuy ? below(20) : 0n;
      const net = isBuy ? (gross > fee ? gross - fee : 0n) : -gross;
      const paid = isBuy ? below(1000) : -below(1000);
      received -= paid;
      exchange(holding, net, isBuy ? gross : -gross, paid);
      assert.equal(holding.realizedMicro - holding.costMicro, received);
    }
    exchange(holding, -holding.quantityAtomic, -holding.quantityAtomic, 0n);
    assert.deepEqual([holding.costMicro, holding.realizedMicro], [0n, received], 'at the end all of it is realized');
  }
});
