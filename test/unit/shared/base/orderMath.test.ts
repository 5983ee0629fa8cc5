import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ORDER_STATUS, ORDER_STATUS_NAMES, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import {
  averageFillPrice,
  filledAmount,
  filledLimitNotional,
  filledTokens,
  limitPrice,
  type OrderFacts,
  orderRecord,
  orderRecordV2,
  remainingAmount,
  remainingLimitNotional,
} from '../../../../shared/base/orderMath.ts';
import { isAccepted, SIGNED_AMOUNTS, signedOf } from '../../../support/signedAmounts.ts';

/** BUY 1,000 lots of 100 at 65: 65,000 micro-USDC for 100,000 atomic tokens. */
function order(changes: Partial<OrderFacts> = {}): OrderFacts {
  return {
    id: '018f0000-0000-7000-8100-000000000001',
    hash: new Uint8Array(32).fill(0xab),
    marketId: '11111111-1111-4111-8111-111111111111',
    ticksPerUnit: 100,
    side: SIDE.BUY,
    outcome: OUTCOME.YES,
    timeInForce: TIME_IN_FORCE.GTC,
    postOnly: false,
    limitTicks: 65,
    makerAmount: 65_000,
    takerAmount: 100_000,
    quantityLots: 1000,
    remainingLots: 1000,
    filledNotionalMicro: 0,
    status: ORDER_STATUS.OPEN,
    createdMs: Date.UTC(2026, 2, 1, 12, 30, 5, 7),
    orderSequence: 9,
    clientOrderId: null,
    ...changes,
  };
}

const sell = (changes: Partial<OrderFacts> = {}): OrderFacts =>
  order({ side: SIDE.SELL, makerAmount: 100_000, takerAmount: 65_000, ...changes });

describe('signed-limit amounts', () => {
  it('of an unfilled order are all of it and nothing', () => {
    assert.equal(filledAmount(order()), 0);
    assert.equal(remainingAmount(order()), 65_000);
    assert.equal(filledTokens(order()), 0);
    assert.equal(averageFillPrice(order()), null);
  });

  it('of a BUY are in USDC at the limit, not at the price of the fill', () => {
    const improved = order({
      remainingLots: 600,
      filledNotionalMicro: 400 * 60,
      status: ORDER_STATUS.PARTIALLY_FILLED,
    });
    assert.equal(filledAmount(improved), 400 * 65);
    assert.equal(remainingAmount(improved), 600 * 65);
    assert.equal(filledTokens(improved), 40_000);
    assert.equal(averageFillPrice(improved), '0.60000000');
  });

  it('of a SELL are in tokens, and its notional is in USDC', () => {
    const improved = sell({ remainingLots: 600, filledNotionalMicro: 400 * 70, status: ORDER_STATUS.PARTIALLY_FILLED });
    assert.equal(filledAmount(improved), 40_000);
    assert.equal(remainingAmount(improved), 60_000);
    assert.equal(filledLimitNotional(improved), 400 * 65);
    assert.equal(remainingLimitNotional(improved), 600 * 65);
    assert.equal(averageFillPrice(improved), '0.70000000');
  });

  it('of an order off the grid are floored', () => {
    const thirds = { timeInForce: TIME_IN_FORCE.FAK, remainingLots: 999, filledNotionalMicro: 66 };
    assert.equal(filledAmount(order({ ...thirds, makerAmount: 66_667 })), 66);
    const third = sell({ ...thirds, takerAmount: 66_667 });
    assert.equal(filledLimitNotional(third), 66);
    assert.equal(remainingLimitNotional(third), 66_601);
  });

  it('add up to the signed amount while an order is open, and after a cancel of one that rested', () => {
    for (const status of [ORDER_STATUS.PARTIALLY_FILLED, ORDER_STATUS.CANCELLED, ORDER_STATUS.EXPIRED]) {
      for (const facts of [order({ status, remainingLots: 1 }), sell({ status, remainingLots: 1 })]) {
        assert.equal(filledAmount(facts) + remainingAmount(facts), facts.makerAmount);
        assert.equal(filledLimitNotional(facts) + remainingLimitNotional(facts), 65_000);
      }
    }
  });

  it('leave nothing of a filled order, even when lots cut off a part of what was signed', () => {
    const filled = { status: ORDER_STATUS.FILLED, remainingLots: 0, timeInForce: TIME_IN_FORCE.FOK };
    assert.equal(remainingAmount(order({ ...filled, makerAmount: 65_065, takerAmount: 100_099 })), 0);
    assert.equal(remainingLimitNotional(sell({ ...filled, makerAmount: 100_099, takerAmount: 65_065 })), 0);
    // The part cut off counts as filled: filled and remaining add up to the signed amount (RULES.md 1.6).
    assert.equal(filledAmount(order({ ...filled, makerAmount: 65_065, takerAmount: 100_099 })), 65_065);
    assert.equal(filledAmount(sell({ ...filled, makerAmount: 100_099, takerAmount: 65_065 })), 100_099);
    assert.equal(filledLimitNotional(sell({ ...filled, makerAmount: 100_099, takerAmount: 65_065 })), 65_065);
  });

  it('leave nothing of the killed part of a FAK', () => {
    const killed = order({ status: ORDER_STATUS.CANCELLED, remainingLots: 600, timeInForce: TIME_IN_FORCE.FAK });
    assert.equal(remainingAmount(killed), 0);
    assert.equal(filledAmount(killed), 400 * 65);
    assert.equal(remainingLimitNotional(killed), 0);
  });

  it('are exact where the product of two amounts is no safe integer', () => {
    const largest = order({
      makerAmount: 999_999_999_999_999,
      takerAmount: 10 ** 15,
      quantityLots: 10 ** 13,
      remainingLots: 1,
    });
    assert.equal(filledAmount(largest), 999_999_999_999_899);
    assert.equal(filledAmount({ ...largest, remainingLots: 0 }), 999_999_999_999_999);
  });
});

describe('a record of signed amounts', () => {
  it('has the signed price and its projections beside what the fills really came to', () => {
    for (const vector of SIGNED_AMOUNTS.filter(isAccepted)) {
      for (const { fills, status, ...shown } of vector.states) {
        const filledLots = fills.reduce((sum, [lots]) => sum + lots, 0);
        const record = orderRecordV2(
          order({
            ...signedOf(vector),
            limitTicks: vector.limit_ticks,
            quantityLots: vector.lots,
            remainingLots: vector.lots - filledLots,
            filledNotionalMicro: fills.reduce((sum, [lots, ticks]) => sum + lots * ticks, 0),
            status: ORDER_STATUS_NAMES.indexOf(status as 'open'),
          }),
          0,
        );
        const { price, initial_limit_notional_usdc_micro } = vector;
        assert.deepEqual(
          pick(record, ['price', 'initial_limit_notional_usdc_micro', ...Object.keys(shown)]),
          { price, initial_limit_notional_usdc_micro, ...shown },
          `${vector.name}, ${status}`,
        );
      }
    }
  });
});

function pick(record: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));
}

describe('prices of a record', () => {
  it('are the limit for orders that may rest', () => {
    assert.equal(limitPrice(order()), '0.65000000');
    assert.equal(
      limitPrice(order({ timeInForce: TIME_IN_FORCE.GTD, ticksPerUnit: 10_000, limitTicks: 1 })),
      '0.00010000',
    );
  });

  it('are the signed ratio rounded down for orders that may not', () => {
    const ratio = { timeInForce: TIME_IN_FORCE.FOK, makerAmount: 2, takerAmount: 3 };
    assert.equal(limitPrice(order(ratio)), '0.66666666');
    assert.equal(limitPrice(sell({ ...ratio, makerAmount: 3, takerAmount: 2 })), '0.66666666');
  });

  it('average over fills at several prices, rounded down', () => {
    assert.equal(averageFillPrice(order({ remainingLots: 997, filledNotionalMicro: 60 + 65 + 65 })), '0.63333333');
  });
});

describe('order records', () => {
  it('have the documented fields in their order, with the additions behind them', () => {
    assert.deepEqual(Object.entries(orderRecord(order({ postOnly: true }))), [
      ['id', '018f0000-0000-7000-8100-000000000001'],
      ['order_hash', `0x${'ab'.repeat(32)}`],
      ['market_id', '11111111-1111-4111-8111-111111111111'],
      ['side', 'BUY'],
      ['price', '0.65000000'],
      ['status', 'open'],
      ['remaining', '65000'],
      ['filled_amount', '0'],
      ['time_in_force', 'GTC'],
      ['post_only', true],
      ['created_at', '2026-03-01T12:30:05.007Z'],
      ['filled_token_quantity_atomic', '0'],
      ['average_fill_price', null],
      ['sequence', 9],
      ['outcome_index', 0],
    ]);
  });

  it('of version 2 also have the three notionals, an explicit zero included', () => {
    const { initial_limit_notional_usdc_micro, filled_limit_notional_usdc_micro, remaining_limit_notional_usdc_micro } =
      orderRecordV2(sell(), 0);
    assert.deepEqual(
      [initial_limit_notional_usdc_micro, filled_limit_notional_usdc_micro, remaining_limit_notional_usdc_micro],
      ['65000', '0', '65000'],
    );
  });
});
