import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIDE } from '../../../../shared/base/codes.ts';
import { REFERRAL_BPS, shareOfFee } from '../../../../shared/base/feeShare.ts';

test('RULES.md 14.44: a fee in tokens is worth what they cost in the fill; a tenth of it is rounded down once', () => {
  assert.equal(shareOfFee(SIDE.BUY, 50_000, 60, 100, REFERRAL_BPS), 3000, '0.05 tokens at 0.60 are worth 0.03 USDC');
  assert.equal(shareOfFee(SIDE.SELL, 30_000, 60, 100, REFERRAL_BPS), 3000);
  assert.equal(shareOfFee(SIDE.BUY, 19, 53, 100, REFERRAL_BPS), 1, '10.07 micro');
  assert.equal(shareOfFee(SIDE.BUY, 18, 53, 100, REFERRAL_BPS), 0, '9.54 micro');
  assert.equal(shareOfFee(SIDE.SELL, 9, 53, 100, REFERRAL_BPS), 0);
});

test('a share is exact beyond the safe integers', () => {
  const [fee, ticks, unit] = [5_000_000_000_001, 9999, 10_000];
  for (const bps of [1, 1000, 9999, 10_000]) {
    const exact = (BigInt(fee) * BigInt(ticks) * BigInt(bps)) / BigInt(unit * 10_000);
    assert.equal(shareOfFee(SIDE.BUY, fee, ticks, unit, bps), Number(exact));
  }
});
