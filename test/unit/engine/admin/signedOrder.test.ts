/** The audit reads the two amounts of an order as the vectors do (RULES.md 1.4, 1.6). */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { doneOf, limitAndLotsOf, type SignedOrder } from '../../../../engine/admin/signedOrder.ts';
import { ORDER_STATUS_NAMES } from '../../../../shared/base/codes.ts';
import { isAccepted, SIGNED_AMOUNTS, signedOf } from '../../../support/signedAmounts.ts';

const ordered = SIGNED_AMOUNTS.map((vector) => {
  const { side, timeInForce, makerAmount, takerAmount, ticksPerUnit } = signedOf(vector);
  const order: SignedOrder = {
    side,
    timeInForce,
    makerAmount: BigInt(makerAmount),
    takerAmount: BigInt(takerAmount),
  };
  return { vector, order, ticksPerUnit: BigInt(ticksPerUnit) };
});

it('an order that may be accepted has the limit and the lots of its vector', () => {
  for (const { vector, order, ticksPerUnit } of ordered) {
    const { limitTicks, lots, isOnGrid } = limitAndLotsOf(order, ticksPerUnit);
    assert.equal(isOnGrid, isAccepted(vector), vector.name);
    if (!isAccepted(vector)) continue;
    assert.deepEqual([Number(limitTicks), Number(lots)], [vector.limit_ticks, vector.lots], vector.name);
  }
});

it('so much of it is done, and so much remains, as its vector says', () => {
  for (const { vector, order, ticksPerUnit } of ordered) {
    if (!isAccepted(vector)) continue;
    for (const state of vector.states) {
      const lots = state.fills.reduce((sum, [count]) => sum + count, 0);
      const status = ORDER_STATUS_NAMES.indexOf(state.status as 'open');
      const { filled, remaining } = doneOf(order, BigInt(lots) * ticksPerUnit, status);
      assert.deepEqual([String(filled), String(remaining)], [state.filled_amount, state.remaining], vector.name);
    }
  }
});
