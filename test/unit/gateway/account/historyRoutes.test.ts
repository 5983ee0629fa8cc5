/** The filters of the history become questions to the query pool (RULES.md 14.1 to 14.7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyRoutes } from '../../../../gateway/account/historyRoutes.ts';
import type { Asker } from '../../../../gateway/base/askers.ts';
import { SINCE_EVER } from '../../../../gateway/base/page.ts';
import type { OfAccount } from '../../../../gateway/base/reads.ts';
import { ORDER_STATUS, SIDE } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';

const ALL = 0xff;
const { OPEN, PARTIALLY_FILLED, FILLED, CANCELLED, EXPIRED } = ORDER_STATUS;

const CATALOG = {
  byIndex: (market: number) => ({ details: { outcomes: [`Yes of ${market}`, `No of ${market}`] } }) as never,
};

async function ask(path: string, query: object, result: object) {
  const asked: unknown[] = [];
  const read = async (asker: OfAccount, filters: object) => {
    asked.push(asker, filters);
    return result as never;
  };
  const queries = {
    userOrders: read,
    newestOrders: read as never,
    ofAccount: ((asker: OfAccount, _name: string, task: { filters?: object }) =>
      read(asker, task.filters ?? task)) as never,
  };
  const route = historyRoutes({ queries, catalog: CATALOG }).find((each) => each.path === path)!;
  const test = new TestCall({ method: 'GET', path, account: 7 });
  test.call.query = { limit: 50, offset: 0, sort: 'updated_at', ...query };
  await route.handler(test.call);
  return { status: test.status, json: test.json, asked };
}

const page = (more: object = {}) => ({
  ok: true,
  value: { rows: [{ id: 1 }], total: 9, isFloor: false, next: null, archivedBeforeMs: null, ...more },
});

test('each filter of orders is a mask, and one that is left out lets everything through', async () => {
  const filters = async (query: object): Promise<unknown> => (await ask('/v1/user/orders/v2', query, page())).asked[1];
  const none = { statuses: ALL, sides: ALL, outcomes: ALL, sort: 'updated_at', limit: 50, offset: 0, after: null };
  assert.deepEqual(await filters({}), { ...none, sinceMs: SINCE_EVER });
  const statuses = async (status: string) => ((await filters({ status })) as { statuses: number }).statuses;
  assert.equal(await statuses('open'), (1 << OPEN) | (1 << PARTIALLY_FILLED));
  assert.equal(await statuses('partially_filled'), 1 << PARTIALLY_FILLED);
  assert.equal(await statuses('filled,cancelled,expired'), (1 << FILLED) | (1 << CANCELLED) | (1 << EXPIRED));
  assert.equal(((await filters({ side: 'SELL' })) as { sides: number }).sides, 1 << SIDE.SELL);
  assert.equal(((await filters({ side: 'BUY' })) as { sides: number }).sides, 1 << SIDE.BUY);
  assert.equal(((await filters({ outcome: 1 })) as { outcomes: number }).outcomes, 2);
  // The rows of that millisecond are among them (RULES.md 14.1).
  const before = Date.parse('2030-01-01T00:00:00Z') - 1;
  assert.equal(await sinceOf({ since: '2030-01-01T00:00:00Z' }), before);
  assert.equal(await sinceOf({ since: '2030-01-01T00:00:00' }), before, 'without a zone: UTC');
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
  assert.equal((asked[0] as Asker).lane, 7);
  assert.deepEqual(market, Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]));
  assert.deepEqual([takerSides, limit, offset], [1 << SIDE.SELL, 3, 6]);
  assert.deepEqual([status, json], [200, { trades: [{ id: 1 }], total: 9, limit: 3, offset: 6, next_cursor: null }]);
  const all = await ask('/v1/user/trades/v2', {}, page({ isFloor: true }));
  assert.equal((all.asked[1] as { market: unknown }).market, null);
  const envelope = { total: 9, limit: 50, offset: 0, next_cursor: null };
  assert.deepEqual(all.json, { trades: [{ id: 1 }], ...envelope, count_is_estimate: true });
  const orders = await ask('/v1/user/orders/v2', {}, page());
  assert.deepEqual(orders.json, { orders: [{ id: 1 }], ...envelope });
  const missing = await ask('/v1/user/orders/v2', {}, page({ archivedBeforeMs: 1_800_000_000_000 }));
  const archived_before = '2027-01-15T08:00:00.000Z';
  assert.deepEqual(missing.json, { orders: [{ id: 1 }], ...envelope, archived_before }, 'a file is missing');
});

test('a query that cannot be answered now is refused with its reason', async () => {
  for (const list of ['orders/v2', 'orders', 'trades/v2', 'trades', 'activity']) {
    const path = `/v1/user/${list}`;
    const { status, json } = await ask(path, {}, { ok: false, row: ERRORS.ENGINE_BUSY });
    assert.deepEqual([status, json.code], [503, 'ENGINE_BUSY']);
  }
});

test('the activity and the first version of trades count a limit above 100 as 100, and say so', async () => {
  for (const list of ['activity', 'trades']) {
    for (const [limit, effective] of [
      [100, 100],
      [101, 100],
      [1_000_000_000, 100],
      [7, 7],
    ]) {
      const { asked, json } = await ask(`/v1/user/${list}`, { limit }, page({ rows: [] }));
      assert.deepEqual([(asked[1] as { limit: number }).limit, json.limit], [effective, effective], list);
    }
  }
});

test('beside a cursor the offset means nothing', async () => {
  const next = { atMs: 1_790_000_000_000, rank: 2, id: new Uint8Array(16).fill(9) };
  for (const path of ['/v1/user/orders/v2', '/v1/user/trades/v2', '/v1/user/activity']) {
    const rows: object[] = [];
    const { json } = await ask(path, {}, page({ next, rows }));
    assert.match(json.next_cursor, /^[A-Za-z0-9_-]{32}$/);
    const again = await ask(path, { cursor: json.next_cursor, offset: 20_000 }, page({ isFloor: true, rows }));
    assert.equal(again.status, 200);
    const { after, offset } = again.asked[1] as Record<string, unknown>;
    assert.deepEqual([after, offset], [next, 0], path);
  }
});

test('a cursor of another list or of another order, and a text that is none, is 400 invalid cursor', async () => {
  const id = new Uint8Array(16);
  const { json } = await ask('/v1/user/trades/v2', {}, page({ next: { atMs: 1, rank: 0, id } }));
  const byUpdate = await ask('/v1/user/orders/v2', {}, page({ next: { atMs: 1, rank: 0, id } }));
  const bad: [string, object][] = [
    ['/v1/user/activity', { cursor: json.next_cursor }],
    ['/v1/user/orders/v2', { cursor: json.next_cursor }],
    ['/v1/user/orders/v2', { cursor: byUpdate.json.next_cursor, sort: 'created_at' }],
    ...['', 'x', '%', 'A'.repeat(31), 'A'.repeat(33), `${'A'.repeat(31)}=`].map((cursor): [string, object] => [
      '/v1/user/trades/v2',
      { cursor },
    ]),
  ];
  for (const [path, query] of bad) {
    const { status, json, asked } = await ask(path, query, page());
    assert.deepEqual([status, json.error, json.code, asked], [400, 'invalid cursor', 'VALIDATION_ERROR', []]);
  }
});

test('a fill has the label of its outcome in its market, and what is no fill has none', async () => {
  const rows = [
    { record: { party_outcome_index: 1 }, market: 3 },
    { record: { party_outcome_index: 0 }, market: 4 },
    { record: { party_outcome_index: null }, market: 4 },
  ];
  const { json } = await ask('/v1/user/activity', {}, page({ rows }));
  const labels = json.activity.map((row: { party_outcome_name: unknown }) => row.party_outcome_name);
  assert.deepEqual(labels, ['No of 3', 'Yes of 4', null]);
});
