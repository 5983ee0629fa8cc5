/** The filters of the history become questions to the query pool (RULES.md 7.1, 7.4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SINCE_EVER } from '../../../../../gateway/queries/page.ts';
import { historyRoutes } from '../../../../../gateway/routes/account/history.ts';
import { ORDER_STATUS, SIDE } from '../../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../../shared/base/errors.ts';
import { TestCall } from '../../../../support/calls.ts';

const ALL = 0xff;
const { OPEN, PARTIALLY_FILLED, FILLED, CANCELLED, EXPIRED } = ORDER_STATUS;

async function ask(path: string, query: object, result: object) {
  const asked: unknown[] = [];
  const read = async (account: number, filters: object) => {
    asked.push(account, filters);
    return result as never;
  };
  const route = historyRoutes({ queries: { userOrders: read, userTrades: read } }).find((each) => each.path === path)!;
  const test = new TestCall({ method: 'GET', path, account: 7 });
  test.call.query = { limit: 50, offset: 0, sort: 'updated_at', ...query };
  await route.handler(test.call);
  return { status: test.status, json: test.json, asked };
}

const page = (more: object = {}) => ({ ok: true, value: { rows: [{ id: 1 }], total: 9, isFloor: false, ...more } });

test('each filter of orders is a mask, and one that is left out lets everything through', async () => {
  const filters = async (query: object): Promise<unknown> => (await ask('/v1/user/orders/v2', query, page())).asked[1];
  const none = { statuses: ALL, sides: ALL, outcomes: ALL, sort: 'updated_at', limit: 50, offset: 0 };
  assert.deepEqual(await filters({}), { ...none, sinceMs: SINCE_EVER });
  const statuses = async (status: string) => ((await filters({ status })) as { statuses: number }).statuses;
  assert.equal(await statuses('open'), (1 << OPEN) | (1 << PARTIALLY_FILLED));
  assert.equal(await statuses('partially_filled'), 1 << PARTIALLY_FILLED);
  assert.equal(await statuses('filled,cancelled,expired'), (1 << FILLED) | (1 << CANCELLED) | (1 << EXPIRED));
  assert.equal(((await filters({ side: 'SELL' })) as { sides: number }).sides, 1 << SIDE.SELL);
  assert.equal(((await filters({ side: 'BUY' })) as { sides: number }).sides, 1 << SIDE.BUY);
  assert.equal(((await filters({ outcome: 1 })) as { outcomes: number }).outcomes, 2);
  assert.equal(await sinceOf({ since: '2030-01-01T00:00:00Z' }), Date.parse('2030-01-01T00:00:00Z'));
  assert.equal(
    await sinceOf({ since: '2030-01-01T00:00:00' }),
    Date.parse('2030-01-01T00:00:00Z'),
    'without a zone: UTC',
  );
});

async function sinceOf(query: object): Promise<number> {
  const { asked } = await ask('/v1/user/orders/v2', query, page());
  return (asked[1] as { sinceMs: number }).sinceMs;
}

test('trades are filtered by market and side, and pages are answered with what was asked for', async () => {
  const market_id = '00010203-0405-0607-0809-0a0b0c0d0eff';
  const { asked, json, status } = await ask(
    '/v1/user/trades/v2',
    { market_id, side: 'SELL', limit: 3, offset: 6 },
    page(),
  );
  const { market, takerSides, limit, offset } = asked[1] as Record<string, unknown>;
  assert.equal(asked[0], 7);
  assert.deepEqual(market, Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]));
  assert.deepEqual([takerSides, limit, offset], [1 << SIDE.SELL, 3, 6]);
  assert.deepEqual([status, json], [200, { trades: [{ id: 1 }], total: 9, limit: 3, offset: 6 }]);
  const all = await ask('/v1/user/trades/v2', {}, page({ isFloor: true }));
  assert.equal((all.asked[1] as { market: unknown }).market, null);
  assert.deepEqual(all.json, { trades: [{ id: 1 }], total: 9, count_is_estimate: true, limit: 50, offset: 0 });
  const orders = await ask('/v1/user/orders/v2', {}, page());
  assert.deepEqual(orders.json, { orders: [{ id: 1 }], total: 9, limit: 50, offset: 0 });
});

test('a query that cannot be answered now is refused with its reason', async () => {
  for (const path of ['/v1/user/orders/v2', '/v1/user/trades/v2']) {
    const { status, json } = await ask(path, {}, { ok: false, row: ERRORS.ENGINE_BUSY });
    assert.deepEqual([status, json.code], [503, 'ENGINE_BUSY']);
  }
});
