/** Bounds of the work that one account makes for the chain (RULES.md 17.46). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChainBounds } from '../../../../gateway/account/chainBounds.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNIT = 1_000_000;

function rig(mostMovementsADay = 24, movementFeeMicro = 0) {
  const clock = new ManualClock(5);
  const facts = { hasAgreed: true, report: null as { waitingSets: number } | null };
  const bounds = new ChainBounds({ leastMovementMicro: UNIT, mostMovementsADay, movementFeeMicro }, clock, {
    hasAgreed: () => facts.hasAgreed,
    report: () => facts.report,
  });
  const take = (account: number, amount: number, whole = 100 * UNIT) => bounds.take(account, 'amount', amount, whole);
  return { clock, bounds, facts, take };
}

test('an account moves so often at once, and as often again in a day', () => {
  const { clock, take } = rig();
  for (let i = 0; i < 24; i++) assert.equal(take(1, UNIT), null);
  const refused = take(1, UNIT)!;
  assert.deepEqual([refused.row.code, refused.retryAfterSec], ['RATE_LIMITED', 3600]);
  assert.equal(take(2, UNIT), null, 'another account has its own count');
  clock.advance(HOUR_MS - 1);
  assert.notEqual(take(1, UNIT), null);
  clock.advance(1);
  assert.equal(take(1, UNIT), null);
  assert.notEqual(take(1, UNIT), null);
  clock.advance(DAY_MS);
  let again = 0;
  while (take(1, UNIT) === null) again++;
  assert.equal(again, 24);
});

test('less than the least amount moves only as the whole rest, and once a day', () => {
  const { clock, take } = rig();
  const refused = take(1, UNIT - 1)!;
  assert.deepEqual(refused.details, { field: 'amount', rule: 'minimum', value: String(UNIT) });
  assert.equal(take(1, 1, 1), null);
  const second = take(1, 2, 2)!;
  assert.deepEqual([second.row.code, second.retryAfterSec], ['RATE_LIMITED', 86_400]);
  assert.equal(take(1, UNIT), null, 'a larger amount is not held up by it');
  clock.advance(DAY_MS);
  assert.equal(take(1, 2, 2), null);
});

test('no more splits and merges of all accounts wait for the chain than a block takes', () => {
  const { bounds, facts, take } = rig();
  const takeSets = (account: number) => bounds.takeSets(account, 'amount', UNIT, 100 * UNIT);
  const taken = () => {
    let count = 0;
    while (count < 100 && takeSets(++account) === null) count++;
    return count;
  };
  let account = 0;
  for (let n = 0; n < 40; n++) assert.equal(takeSets(++account), null, 'settlement has not reported');
  facts.report = { waitingSets: 5 };
  assert.equal(taken(), 11);
  const refused = takeSets(1)!;
  assert.deepEqual([refused.row.code, refused.retryAfterSec], ['RATE_LIMITED', 2]);
  assert.equal(take(1, UNIT), null, 'payments go beside the trades');
  facts.report = { waitingSets: 16 };
  assert.equal(taken(), 0);
  facts.report = { waitingSets: 0 };
  assert.equal(taken(), 16);
});

test('a movement that is refused elsewhere does not count', () => {
  const { bounds, take } = rig(1);
  assert.equal(take(1, 5, 5), null);
  bounds.giveBack(1, 5);
  assert.equal(take(1, 5, 5), null);
  assert.notEqual(take(1, UNIT), null);
  bounds.giveBack(9, UNIT);
});

test('accounts that have moved nothing for a day are not kept', () => {
  const { bounds, clock, take } = rig();
  for (let account = 0; account < 9_000; account++) take(account, UNIT);
  clock.advance(DAY_MS + 1);
  for (let account = 9_000; account < 10_001; account++) take(account, UNIT);
  assert.ok(bounds.size <= 1_001, String(bounds.size));
});

test('no fee is taken before the contract was found to take it', () => {
  const { bounds, facts, take } = rig(24, 25_000);
  assert.deepEqual([bounds.feeMicro, take(1, UNIT)], [25_000, null]);
  facts.hasAgreed = false;
  assert.equal(take(1, UNIT)!.row.code, 'SETTLEMENT_UNHEALTHY');
  assert.equal(rig().bounds.take(1, 'amount', UNIT, UNIT), null, 'without a fee nothing waits for the chain');
  const shown = { movement_fee_usdc_micro: '25000', least_movement_usdc_micro: '1000000', most_movements_a_day: 24 };
  assert.deepEqual(bounds.shown, shown);
});
