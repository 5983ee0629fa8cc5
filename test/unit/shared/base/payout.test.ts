/** Payouts of a decided market's tokens (RULES.md 3.4), compared with the rule written with bigint. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_SAFE } from '../../../../shared/base/int.ts';
import { PPM, payoutMicro, roundingPpm } from '../../../../shared/base/payout.ts';
import { Random } from '../../../support/random.ts';

/** The worth in millionths of a micro-USDC. */
function worth(yes: number, no: number, payoutYes: number): bigint {
  return BigInt(yes) * BigInt(payoutYes) + BigInt(no) * BigInt(PPM - payoutYes);
}

function check(yes: number, no: number, payoutYes: number): void {
  const micro = payoutMicro(yes, no, payoutYes);
  const rounding = roundingPpm(yes, no, payoutYes);
  const holding = `${yes} Yes and ${no} No at ${payoutYes}`;
  assert.ok(Number.isSafeInteger(micro), holding);
  assert.ok(rounding >= 0 && rounding < PPM, holding);
  assert.equal(BigInt(micro) * BigInt(PPM) + BigInt(rounding), worth(yes, no, payoutYes), holding);
}

describe('a payout', () => {
  it('is one USDC per winning token, and nothing per losing token', () => {
    assert.equal(payoutMicro(7_000_001, 5, PPM), 7_000_001);
    assert.equal(payoutMicro(7_000_001, 5, 0), 5);
  });

  it('of a full set is one USDC whatever the decision', () => {
    for (const payoutYes of [0, 1, 333_333, 500_000, 999_999, PPM]) {
      for (const sets of [1, 2, 999_999, PPM, MAX_SAFE]) assert.equal(payoutMicro(sets, sets, payoutYes), sets);
    }
  });

  it('is rounded down once for the whole holding', () => {
    assert.equal(payoutMicro(1, 0, 500_000), 0);
    assert.equal(payoutMicro(3, 0, 333_333), 0);
    assert.equal(payoutMicro(4, 0, 333_333), 1);
    assert.equal(payoutMicro(1, 1, 500_000), 1);
  });

  it('and what rounding keeps back are exactly the worth, up to the last safe integer', () => {
    const edges = [0, 1, 2, 499_999, 500_000, 999_999, PPM, PPM + 1, 10 ** 15, MAX_SAFE - 1, MAX_SAFE];
    const shares = [0, 1, 2, 333_333, 499_999, 500_000, 999_999, PPM];
    for (const payoutYes of shares) {
      for (const amount of edges) {
        check(amount, 0, payoutYes);
        check(0, amount, payoutYes);
        check(amount, MAX_SAFE, payoutYes);
        check(-amount, 0, payoutYes);
        check(0, -amount, payoutYes);
      }
    }
    const random = new Random(11);
    const amount = () => random.next() * 2 ** random.below(20) + random.below(PPM);
    for (let i = 0; i < 2000; i++) {
      const sign = random.chance(20) ? -1 : 1;
      check(sign * amount(), amount(), random.below(PPM + 1));
    }
  });
});
