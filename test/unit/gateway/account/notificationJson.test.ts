import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notificationOf } from '../../../../gateway/account/notificationJson.ts';
import type { OrderRow } from '../../../../gateway/account/notificationQueries.ts';
import type { Catalog } from '../../../../gateway/markets/catalog.ts';
import { CLOSE_REASON, CLOSE_REASON_NAMES, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';

const id = new Uint8Array(16).fill(7);
const place = { id, createdMs: Date.UTC(2026, 0, 1), shard: 0, shardSequence: 1 };
const details = { title: 'Rain?', outcomes: ['Yes', 'No'] };
const catalog = { byIndex: () => ({ details }) } as unknown as Pick<Catalog, 'byIndex'>;
const ORDER = {
  market: 3,
  side: SIDE.SELL,
  outcome: OUTCOME.NO,
  limit_ticks: 65,
  lots: 50_000,
  remaining_lots: 20_000,
};

function textOf(reason: number, changes: Partial<OrderRow> = {}): string[] {
  const filled = { filled_notional_micro: 30_000 * 66, ticks_per_unit: 100 };
  const order = { ...ORDER, ...filled, reason, ...changes } as OrderRow;
  const { type, title, body } = notificationOf({ ...place, kind: 'order', order }, null, catalog);
  return [type, title, body];
}

test('RULES.md 14.60: each end of an order that its account did not ask for has its words', () => {
  const cancelled = (why: string) => [
    'order_cancelled',
    'Order cancelled',
    `Sell 5 No at 65¢, 3 filled; ${why}: Rain?`,
  ];
  assert.deepEqual(textOf(CLOSE_REASON.FILLED, { remaining_lots: 0, filled_notional_micro: 50_000 * 66 }), [
    'order_filled',
    'Order filled',
    'Sold 5 No at 66¢: Rain?',
  ]);
  assert.deepEqual(textOf(CLOSE_REASON.FAK_REMAINDER, { side: SIDE.BUY, filled_notional_micro: 1_980_301 }), [
    'order_filled',
    'Order filled',
    'Bought 3 of 5 No at 66.01¢: Rain?',
  ]);
  assert.deepEqual(textOf(CLOSE_REASON.EXPIRED, { remaining_lots: 50_000, filled_notional_micro: 0 }), [
    'order_expired',
    'Order expired',
    'Sell 5 No at 65¢: Rain?',
  ]);
  assert.deepEqual(textOf(CLOSE_REASON.HEARTBEAT), cancelled('no heartbeat came in time'));
  assert.deepEqual(textOf(CLOSE_REASON.MARKET_CLOSED), cancelled('trading in the market ended'));
  assert.deepEqual(textOf(CLOSE_REASON.SELF_TRADE), cancelled('it met another order of yours'));
  assert.deepEqual(textOf(CLOSE_REASON.ADMIN), cancelled('the exchange cancelled it'));
  assert.deepEqual(textOf(CLOSE_REASON.GROUP_LIMIT), cancelled('its order group reached its limit'));
  for (const [reason, name] of CLOSE_REASON_NAMES.entries()) {
    if (name !== 'user' && name !== 'nonce_floor') assert.ok(!textOf(reason)[2]!.includes('undefined'), name);
  }
});

test('RULES.md 14.61: prices are in cents and funds in dollars, as the page says them', () => {
  const said = (micro: number, changes: Partial<OrderRow>): string | undefined =>
    textOf(CLOSE_REASON.FILLED, { remaining_lots: 0, filled_notional_micro: micro, ...changes })[2];
  assert.equal(said(5_000_000, { lots: 50_000 }), 'Sold 5 No at 100¢: Rain?');
  assert.equal(said(25_000, { lots: 50_000 }), 'Sold 5 No at 0.5¢: Rain?');
  assert.match(textOf(CLOSE_REASON.EXPIRED, { limit_ticks: 605, ticks_per_unit: 1000 })[2]!, / at 60\.5¢/);
  const funds = (usdcMicro: number): string =>
    notificationOf({ ...place, kind: 'funds', usdcMicro } as never, null, catalog).body;
  assert.deepEqual([1_000_000_000, 1_234_567_500_000, -1_500_000, 990_000, 1].map(funds), [
    '$1,000.00',
    '$1,234,567.50',
    '$1.50',
    '$0.99',
    '$0.000001',
  ]);
});

test('RULES.md 14.61: a notice says what it was made with, and when it was read', () => {
  const notice = { id: 'x', sequence: 1, type: 'security', title: 'A title', body: 'A body', createdMs: 5 } as const;
  assert.deepEqual(notificationOf({ kind: 'notice', id, createdMs: 5, notice }, 7, catalog), {
    id: '07070707-0707-0707-0707-070707070707',
    type: 'security',
    title: 'A title',
    body: 'A body',
    read_at: '1970-01-01T00:00:00.007Z',
    created_at: '1970-01-01T00:00:00.005Z',
  });
});
