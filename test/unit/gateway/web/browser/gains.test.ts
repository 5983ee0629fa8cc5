import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gainsOf, marketsOf } from '../../../../../gateway/web/browser/gains.ts';
import type { StatementEntry } from '../../../../../shared/client/types.ts';

const MARKET = '0190a1b2-0000-7000-8000-000000000001';
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

function entry(seconds: number, type: StatementEntry['type'], usdc: number, yes = 0, no = 0): StatementEntry {
  const deltas = { usdc_delta_micro: String(usdc), yes_delta_atomic: String(yes), no_delta_atomic: String(no) };
  return { time: at(seconds), type, market_id: type === 'deposit' ? null : MARKET, ...deltas } as StatementEntry;
}

const NOTHING = { usdc_micro: '0', tokens: [] };

test('deposits and withdrawals are no gain, and the example of RULES.md 14.25 gains 0.9625', () => {
  const entries = [
    entry(10, 'deposit', 100_000_000),
    entry(20, 'fill', -6_500_000, 9_950_000),
    entry(40, 'withdrawal', -50_000_000),
  ];
  const prices = new Map([[MARKET, (time: number) => (time < 30 ? 6500 : 7500)]]);
  const gains = gainsOf({ opening: NOTHING, entries }, prices, [0, 10, 20, 30, 40]);
  assert.deepEqual(gains, [0n, 0n, -32_500n, 962_500n, 962_500n]);
  assert.deepEqual(marketsOf({ opening: NOTHING, entries }), [MARKET]);
});

test('what was held at the beginning counts from there, and a payout at the price of before changes no gain', () => {
  const opening = {
    usdc_micro: '1000000',
    tokens: [{ market_id: MARKET, outcome_index: 1 as const, quantity_atomic: '4000000' }],
  };
  const entries = [
    entry(20, 'split', -2_000_000, 2_000_000, 2_000_000),
    entry(30, 'claim', 6_000_000, -2_000_000, -6_000_000),
  ];
  const prices = new Map([[MARKET, (time: number) => (time < 10 ? 5000 : 0)]]);
  assert.deepEqual(gainsOf({ opening, entries }, prices, [0, 10, 20, 30]), [0n, 2_000_000n, 2_000_000n, 2_000_000n]);
  assert.deepEqual(gainsOf({ opening, entries: [] }, new Map(), [0, 10]), [0n, 0n], 'without a price it is worth half');
});
