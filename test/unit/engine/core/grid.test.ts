/** From signed amounts to ticks and lots (RULES.md 1.2-1.4), against the rule written with bigint. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toGrid } from '../../../../engine/core/grid.ts';
import { MAX_ORDER_AMOUNT, SIDE, TICKS_PER_UNIT, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { errorKey } from '../../../support/engine.ts';
import { isAccepted, SIGNED_AMOUNTS, signedOf } from '../../../support/signedAmounts.ts';

const { BUY, SELL } = SIDE;
const { GTC, GTD, FOK, FAK } = TIME_IN_FORCE;

/** "60 x 10", ticks and lots, or the refusal. */
function grid(side: number, timeInForce: number, usdc: number, tokens: number, ticksPerUnit: number): string {
  const result = { limitTicks: 0, quantityLots: 0 };
  const [maker, taker] = side === BUY ? [usdc, tokens] : [tokens, usdc];
  const code = toGrid(side, timeInForce, maker, taker, ticksPerUnit, result);
  return code === OK ? `${result.limitTicks} x ${result.quantityLots}` : errorKey(code);
}

function byRule(side: number, timeInForce: number, usdc: number, tokens: number, ticksPerUnit: number): string {
  const [u, t, d] = [BigInt(usdc), BigInt(tokens), BigInt(ticksPerUnit)];
  const isExact = (u * d) % t === 0n;
  const below = (u * d) / t;
  const isImmediate = timeInForce === FOK || timeInForce === FAK;
  const whole = side === BUY || isExact ? below : below + 1n;
  const ticks = isImmediate && side === BUY && whole >= d ? d - 1n : whole;
  if (ticks < 1n || ticks > d - 1n) return 'INVALID_TICK';
  if (timeInForce === GTC || timeInForce === GTD) {
    if (!isExact) return 'INVALID_TICK';
    if (t % d !== 0n) return 'INVALID_LOT';
  }
  return `${ticks} x ${t / d}`;
}

describe('an order on the grid', () => {
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    it(`has any tick from 1 to D-1 and any number of lots, D = ${ticksPerUnit}`, () => {
      for (const timeInForce of [GTC, GTD, FOK, FAK]) {
        for (const side of [BUY, SELL]) {
          for (const ticks of [1, 2, Math.floor(ticksPerUnit / 2), ticksPerUnit - 2, ticksPerUnit - 1]) {
            for (const lots of [1, 2, 99_999, MAX_ORDER_AMOUNT / ticksPerUnit]) {
              const told = grid(side, timeInForce, lots * ticks, lots * ticksPerUnit, ticksPerUnit);
              assert.equal(told, `${ticks} x ${lots}`);
            }
          }
          for (const ticks of [0, ticksPerUnit, ticksPerUnit + 1]) {
            const isAnyPrice = side === BUY && ticks > 0 && (timeInForce === FOK || timeInForce === FAK);
            const told = isAnyPrice ? `${ticksPerUnit - 1} x 7` : 'INVALID_TICK';
            assert.equal(grid(side, timeInForce, 7 * ticks, 7 * ticksPerUnit, ticksPerUnit), told);
          }
        }
      }
    });
  }

  it('one micro-dollar or one atomic token beside it is off it, up to the largest amounts', () => {
    const usdc = 0.65 * MAX_ORDER_AMOUNT;
    for (const timeInForce of [GTC, GTD]) {
      for (const side of [BUY, SELL]) {
        assert.equal(grid(side, timeInForce, usdc, MAX_ORDER_AMOUNT, 100), '65 x 10000000000000');
        assert.equal(grid(side, timeInForce, usdc + 1, MAX_ORDER_AMOUNT, 100), 'INVALID_TICK');
        assert.equal(grid(side, timeInForce, usdc - 1, MAX_ORDER_AMOUNT, 100), 'INVALID_TICK');
        assert.equal(grid(side, timeInForce, usdc, MAX_ORDER_AMOUNT - 1, 100), 'INVALID_TICK');
        assert.equal(grid(side, timeInForce, 75, 150, 100), 'INVALID_LOT');
      }
    }
  });
});

describe('a FOK or FAK off the grid', () => {
  it('is limited to the tick that is no worse than signed', () => {
    assert.equal(grid(BUY, FAK, 6_507_000, 10_000_050, 100), '65 x 100000');
    assert.equal(grid(SELL, FAK, 6_507_000, 10_000_050, 100), '66 x 100000');
    assert.equal(grid(BUY, FOK, MAX_ORDER_AMOUNT - 1, MAX_ORDER_AMOUNT, 10_000), '9999 x 100000000000');
    assert.equal(grid(SELL, FOK, MAX_ORDER_AMOUNT - 1, MAX_ORDER_AMOUNT, 10_000), 'INVALID_TICK');
    assert.equal(grid(SELL, FOK, 1, MAX_ORDER_AMOUNT, 10_000), '1 x 100000000000');
    assert.equal(grid(BUY, FOK, 1, MAX_ORDER_AMOUNT, 10_000), 'INVALID_TICK');
    assert.equal(grid(BUY, FAK, 10_000_050, 10_000_050, 100), '99 x 100000');
    assert.equal(grid(BUY, FOK, MAX_ORDER_AMOUNT, 1_000_000, 100), '99 x 10000');
    assert.equal(grid(SELL, FAK, 10_000_051, 10_000_050, 100), 'INVALID_TICK');
  });
});

it('every pair of amounts around the edges gives what the rule says', () => {
  const amounts = [1, 2, 9, 10, 11, 99, 100, 101, 9_999, 10_000, 10_001, 1_000_000, 6_500_001, 10_000_050];
  amounts.push(MAX_ORDER_AMOUNT - 1, MAX_ORDER_AMOUNT);
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    for (const usdc of amounts) {
      for (const tokens of amounts) {
        for (const timeInForce of [GTC, FAK]) {
          for (const side of [BUY, SELL]) {
            const expected = byRule(side, timeInForce, usdc, tokens, ticksPerUnit);
            const told = grid(side, timeInForce, usdc, tokens, ticksPerUnit);
            assert.equal(told, expected, `${usdc} for ${tokens}, D = ${ticksPerUnit}, side ${side}, ${timeInForce}`);
          }
        }
      }
    }
  }
});

it('every vector of signed amounts has its limit and its lots, or its refusal', () => {
  for (const vector of SIGNED_AMOUNTS) {
    const { side, timeInForce, makerAmount, takerAmount, ticksPerUnit } = signedOf(vector);
    const [usdc, tokens] = side === BUY ? [makerAmount, takerAmount] : [takerAmount, makerAmount];
    const expected = isAccepted(vector) ? `${vector.limit_ticks} x ${vector.lots}` : vector.refusal;
    assert.equal(grid(side, timeInForce, usdc, tokens, ticksPerUnit), expected, vector.name);
  }
});
