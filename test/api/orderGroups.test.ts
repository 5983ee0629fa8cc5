/** Order groups on a real server (RULES.md 7.9); unit/book/groups.test.ts tests their effect on a book. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { OrderRecord } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const PATH = '/v1/user/order-groups';
const SETTINGS = { window_seconds: 60, max_token_quantity_atomic: '10000000' };
const TRIGGERED = 'the order group has reached its limit';

afterEachOfFile(() => assertBalanced(server));

const grouped = (trader: Trader, market: OrderMarket, size: string, price = '0.50') => {
  return { ...trader.body(market, { price, size }), order_group: 'quotes' };
};

describe('a group', () => {
  test('is made, shown, changed and listed by its name, which is its account’s own', async () => {
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const made = { name: 'quotes', ...SETTINGS, filled_token_quantity_atomic: '0', triggered: false };
    assert.deepEqual(await alice.client.setOrderGroup('quotes', SETTINGS), made);
    const changed = { ...made, window_seconds: 5 };
    assert.deepEqual(await alice.client.setOrderGroup('quotes', { ...SETTINGS, window_seconds: 5 }), changed);
    const other = await alice.client.setOrderGroup('~other.1', SETTINGS);
    assert.deepEqual(await alice.client.orderGroups(), { order_groups: [changed, other] });
    assert.deepEqual(await bob.client.orderGroups(), { order_groups: [] });
    const unknown = await bob.send('POST', `${PATH}/quotes/reset`);
    assertRefused(unknown, 404, 'NOT_FOUND', 'not found');
  });

  test('trips with the fill that reaches its maximum, in all markets, until it is reset', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    // Ids are random: among four markets both shards have some.
    const others = await Promise.all([1, 2, 3, 4].map(() => makeMarket(server)));
    await alice.client.setOrderGroup('quotes', SETTINGS);
    const placed = await alice.client.placeOrder(grouped(alice, market, '20'));
    assert.equal(placed.order_group, 'quotes');
    const loose = await alice.place(market, { price: '0.40', size: '1' });
    const rest: string[] = [];
    for (const other of others) {
      rest.push((await alice.client.placeOrder(grouped(alice, other, '5'))).order_hash);
    }
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '9' });
    assert.equal((await alice.client.getOrder(placed.order_hash)).order_group, 'quotes');
    assert.equal((await alice.client.orderGroups()).order_groups[0].filled_token_quantity_atomic, '9000000');
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '1' });

    const closed = await alice.client.getOrder(placed.order_hash);
    assert.deepEqual([closed.status, closed.order_group], ['cancelled', 'quotes']);
    await eventually('the other shards hear of it', async () => {
      const records: OrderRecord[] = await Promise.all(rest.map((hash) => alice.client.getOrder(hash)));
      return records.every(({ status }) => status === 'cancelled');
    });
    const { orders } = await alice.client.userOrders();
    assert.deepEqual(
      orders.map(({ order_group, status }) => [order_group, status]).sort(),
      [...Array(5).fill(['quotes', 'cancelled']), [undefined, 'open']].sort(),
    );
    assert.equal((await alice.client.getOrder(loose.order_hash)).status, 'open');
    assert.equal((await alice.client.orderGroups()).order_groups[0].triggered, true);
    for (const in_ of [market, ...others]) {
      assertRefused(await alice.post(grouped(alice, in_, '1')), 400, 'ORDER_GROUP_TRIGGERED', TRIGGERED);
    }
    const { results } = await alice.client.placeOrders([grouped(alice, market, '1')]);
    assert.ok('code' in results[0] && results[0].code === 'ORDER_GROUP_TRIGGERED');
    const moved = await alice.send('POST', '/v1/orders/cancel-replace', {
      cancel_hash: loose.order_hash,
      new_order: grouped(alice, market, '1'),
    });
    assertRefused(moved, 400, 'ORDER_GROUP_TRIGGERED', TRIGGERED);

    const reset = await alice.client.resetOrderGroup('quotes');
    assert.deepEqual([reset.triggered, reset.filled_token_quantity_atomic], [false, '0']);
    assert.equal((await alice.client.placeOrder(grouped(alice, market, '1'))).status, 'open');
  });

  test('is as it was after a restart, tripped or not, and its orders still name it', async () => {
    const market = await makeMarket(server);
    let [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.client.setOrderGroup('quotes', SETTINGS);
    await alice.client.setOrderGroup('calm', SETTINGS);
    const { order_hash } = await alice.client.placeOrder(grouped(alice, market, '10'));
    const calm = await alice.client.placeOrder({ ...grouped(alice, market, '5', '0.40'), order_group: 'calm' });
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '10' });
    await server.kill();
    await server.start();
    [alice, bob] = [alice.reconnected(), bob.reconnected()];
    const [quotes, second] = (await alice.client.orderGroups()).order_groups;
    assert.deepEqual(
      [quotes!.name, quotes!.triggered, second!.name, second!.triggered],
      ['quotes', true, 'calm', false],
    );
    assert.equal((await alice.client.getOrder(order_hash)).order_group, 'quotes');
    assert.equal((await alice.client.getOrder(calm.order_hash)).order_group, 'calm');
    assertRefused(await alice.post(grouped(alice, market, '1')), 400, 'ORDER_GROUP_TRIGGERED', TRIGGERED);
    await alice.client.resetOrderGroup('quotes');
    assert.equal((await alice.client.placeOrder(grouped(alice, market, '1'))).status, 'open');
    await assertBalanced(server);
  });
});

describe('refusals', () => {
  test('settings out of range, fields that are not known and names that are none', async () => {
    const alice = await makeTrader(server);
    const put = (name: string, body: unknown) => alice.send('PUT', `${PATH}/${name}`, body);
    const cases: [Record<string, unknown>, string][] = [
      [{ window_seconds: 0 }, 'invalid window_seconds'],
      [{ window_seconds: 3601 }, 'invalid window_seconds'],
      [{ window_seconds: '60' }, 'invalid window_seconds'],
      [{ window_seconds: undefined }, 'missing field: window_seconds'],
      [{ max_token_quantity_atomic: '0' }, 'invalid max_token_quantity_atomic'],
      [{ max_token_quantity_atomic: '1000000000000001' }, 'invalid max_token_quantity_atomic'],
      [{ max_token_quantity_atomic: 5 }, 'invalid max_token_quantity_atomic'],
      [{ max: 5 }, 'unknown field: max'],
    ];
    for (const [changes, message] of cases) {
      assertRefused(await put('quotes', { ...SETTINGS, ...changes }), 400, 'VALIDATION_ERROR', message);
    }
    assertRefused(await put('a'.repeat(65), SETTINGS), 400, 'VALIDATION_ERROR', 'invalid name');
    assertRefused(await put('a%20b', SETTINGS), 404, 'NOT_FOUND', 'not found');
    assert.deepEqual(await alice.client.orderGroups(), { order_groups: [] });
  });

  test('an order of a group that the account does not have', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.client.setOrderGroup('quotes', SETTINGS);
    const answer = await alice.post(grouped(alice, market, '1'));
    assertRefused(answer, 400, 'VALIDATION_ERROR', 'unknown order group');
    assert.deepEqual(answer.body.details, { field: 'order_group', rule: 'known', value: 'quotes' });
    const malformed = await alice.post({ ...grouped(alice, market, '1'), order_group: 'a b' });
    assertRefused(malformed, 400, 'VALIDATION_ERROR', 'invalid order_group');
  });

  test('the 65th group of an account, while those it has can be changed', async () => {
    const alice = await makeTrader(server);
    for (let number = 1; number <= 64; number++) await alice.client.setOrderGroup(`g${number}`, SETTINGS);
    const answer = await alice.send('PUT', `${PATH}/g65`, SETTINGS);
    assertRefused(answer, 409, 'CONFLICT', 'too many order groups (max 64)');
    assert.equal((await alice.client.setOrderGroup('g64', { ...SETTINGS, window_seconds: 1 })).window_seconds, 1);
  });

  test('a key that may not trade', async () => {
    const reader = await makeTrader(server, { scopes: ['read:account'] });
    for (const [method, path] of [
      ['PUT', `${PATH}/quotes`],
      ['POST', `${PATH}/quotes/reset`],
    ] as const) {
      const answer = await reader.send(method, path, SETTINGS);
      assertRefused(answer, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    }
    assert.deepEqual(await reader.client.orderGroups(), { order_groups: [] });
  });
});
