/** Client order ids and places in the queue on a real server (RULES.md 7.7, 7.14). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const TAKEN = 'client_order_id is used by an open order';

afterEachOfFile(() => assertBalanced(server));

const named = (trader: Trader, market: OrderMarket, client_order_id: string, price = '0.40') => {
  return { ...trader.body(market, { price, size: '2' }), client_order_id };
};

/** Among six both shards have some, as ids are random. */
const manyMarkets = () => Promise.all([1, 2, 3, 4, 5, 6].map(() => makeMarket(server)));

describe('a client order id', () => {
  test('is one order’s, over all shards and also while the orders are on their way', async () => {
    const [markets, alice] = [await manyMarkets(), await makeTrader(server)];
    for (let round = 0; round < 10; round++) {
      const id = `round ${round}`;
      const answers = await Promise.all(markets.map((market) => alice.post(named(alice, market, id))));
      const codes = answers.map(({ status, body }) => (status === 200 ? 'open' : `${body.code} ${body.error}`));
      assert.deepEqual(codes.sort(), [...Array(5).fill(`DUPLICATE_CLIENT_ORDER_ID ${TAKEN}`), 'open']);
      await alice.client.cancelByClientId(id);
    }
    assert.equal((await alice.client.cancelAll()).cancelled, 0);
  });

  test('is free again after every end: refused, filled, cancelled, killed', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const refused = await alice.post({ ...named(alice, market, 'x'), signature: '0x' });
    assert.equal(refused.body.code, 'INVALID_SIGNATURE');
    const malformed = await alice.post({ ...named(alice, market, 'x'), token_id: '5' });
    assert.equal(malformed.body.code, 'VALIDATION_ERROR');
    await alice.client.placeOrder(named(alice, market, 'x'));
    assertRefused(await alice.post(named(alice, market, 'x')), 409, 'DUPLICATE_CLIENT_ORDER_ID', TAKEN);
    await bob.place(market, { outcomeIndex: 1, price: '0.60', size: '2' });
    const fak = { ...alice.body(market, { price: '0.40', size: '2', timeInForce: 'FAK' }), client_order_id: 'x' };
    assert.equal((await alice.post(fak)).body.code, 'FAK_NO_FILL');
    await alice.client.placeOrder(named(alice, market, 'x'));
    await alice.client.cancelMarket(market.id);
    assert.equal((await alice.client.placeOrder(named(alice, market, 'x'))).client_order_id, 'x');
  });

  test('goes over to the order that takes the place, and to no other', async () => {
    const [market, other, alice] = [await makeMarket(server), await makeMarket(server), await makeTrader(server)];
    const first = await alice.client.placeOrder(named(alice, market, 'one'));
    await alice.client.placeOrder(named(alice, other, 'two'));
    const { order } = await alice.client.cancelReplace(first.order_hash, named(alice, market, 'one', '0.41'));
    assert.equal(order.client_order_id, 'one');
    const amended = await alice.client.amendOrder(order.order_hash, named(alice, market, 'one', '0.42'));
    assert.equal(amended.client_order_id, 'one');
    const stolen = await alice.send('PUT', `/v1/orders/${amended.order_hash}/amend`, {
      new_order: named(alice, market, 'two'),
    });
    assertRefused(stolen, 409, 'DUPLICATE_CLIENT_ORDER_ID', TAKEN);
    assertRefused(await alice.post(named(alice, market, 'one')), 409, 'DUPLICATE_CLIENT_ORDER_ID', TAKEN);
    await alice.client.cancelByClientId('one');
    assert.equal((await alice.client.getOrder(amended.order_hash)).status, 'cancelled');
  });

  test('cancels its order, with any characters in the name', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    for (const id of ['a', 'A b/c?d=e&f', '100%', '~'.repeat(64), "it's (fine)!*", '%2F']) {
      const { order_hash } = await alice.client.placeOrder(named(alice, market, id));
      assert.deepEqual(await alice.client.cancelByClientId(id), { message: 'order cancelled' });
      const record = await alice.client.getOrder(order_hash);
      assert.deepEqual([record.status, record.client_order_id], ['cancelled', id]);
      const again = await alice.send('DELETE', `/v1/orders/by-client-id/${encodeURIComponent(id)}`);
      assertRefused(again, 404, 'NOT_FOUND', 'order not found');
      const byHash = await alice.send('DELETE', `/v1/orders/${order_hash}`);
      assertRefused(byHash, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
    }
  });

  test('cancels an order that is still on its way', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    for (let round = 0; round < 50; round++) {
      const [placed, cancelled] = await Promise.all([
        alice.post(named(alice, market, 'fast')),
        alice.send('DELETE', '/v1/orders/by-client-id/fast'),
      ]);
      assert.equal(placed.status, 200);
      // Over two connections the cancel may still arrive first.
      const { status } = await alice.client.getOrder(placed.body.order_hash);
      assert.deepEqual([cancelled.status, status], cancelled.status === 200 ? [200, 'cancelled'] : [404, 'open']);
      if (status === 'open') await alice.client.cancelByClientId('fast');
    }
  });

  test('that no order has, or one of another account, is not found; a malformed one is invalid', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.client.placeOrder(named(bob, market, 'mine'));
    const cancel = (text: string) => alice.send('DELETE', `/v1/orders/by-client-id/${text}`);
    for (const id of ['mine', 'nothing']) assertRefused(await cancel(id), 404, 'NOT_FOUND', 'order not found');
    for (const id of ['%C3%A9', '%00', 'a'.repeat(65), '%FF']) {
      assertRefused(await cancel(id), 400, 'VALIDATION_ERROR', 'invalid client_order_id');
    }
    assertRefused(await cancel('%2'), 404, 'NOT_FOUND', 'not found');
    for (const client_order_id of ['', 'é', 'a'.repeat(65), 5]) {
      const answer = await alice.post({ ...named(alice, market, 'x'), client_order_id });
      assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid client_order_id');
    }
  });

  test('is used by one open order still after a restart', async () => {
    const [market, other] = [await makeMarket(server), await makeMarket(server)];
    let alice = await makeTrader(server);
    await alice.client.placeOrder(named(alice, market, 'kept'));
    await server.kill();
    await server.start();
    alice = alice.reconnected();
    assertRefused(await alice.post(named(alice, other, 'kept')), 409, 'DUPLICATE_CLIENT_ORDER_ID', TAKEN);
    await alice.client.cancelByClientId('kept');
    assert.equal((await alice.client.placeOrder(named(alice, other, 'kept'))).status, 'open');
  });
});

describe('the place in the queue', () => {
  test('counts orders and tokens ahead at the own price, over both kinds, as fills take them away', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.client.split(market.id, 10_000_000);
    await bob.place(market, { price: '0.50', size: '3' });
    await bob.place(market, { outcomeIndex: 1, side: 'SELL', price: '0.50', size: '4' });
    await bob.place(market, { price: '0.51', size: '1' });
    const { order_hash } = await alice.place(market, { price: '0.50', size: '5' });
    await bob.place(market, { price: '0.50', size: '2' });
    const first = await alice.client.queuePosition(order_hash);
    assert.deepEqual(
      { ...first, sequence: 0 },
      {
        ahead_orders: 2,
        ahead_token_quantity_atomic: '7000000',
        level_token_quantity_atomic: '14000000',
        sequence: 0,
      },
    );
    assert.equal(first.sequence, (await alice.client.book(market.id)).sequence);
    await alice.place(market, { outcomeIndex: 1, price: '0.50', size: '5' });
    const later = await alice.client.queuePosition(order_hash);
    assert.deepEqual([later.ahead_orders, later.ahead_token_quantity_atomic], [1, '3000000']);
    assert.ok(later.sequence > first.sequence);
  });

  test('there is none for an order that is closed, sleeps, or is another’s', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.50', size: '5' });
    const ask = (trader: Trader, hash = order_hash) => trader.send('GET', `/v1/orders/${hash}/queue`);
    assertRefused(await ask(bob), 404, 'NOT_FOUND', 'order not found');
    assertRefused(await ask(alice, `0x${'ab'.repeat(32)}`), 404, 'NOT_FOUND', 'order not found');
    assertRefused(await ask(alice, '0x1'), 400, 'VALIDATION_ERROR', 'invalid order hash');
    await server.admin.patchMarket(market.id, { fee_bps: 30 });
    assertRefused(await ask(alice), 409, 'CONFLICT', 'order is not in the book');
    await alice.client.cancelOrder(order_hash);
    assertRefused(await ask(alice), 409, 'CONFLICT', 'order is not in the book');
    assertRefused(await ask(bob), 404, 'NOT_FOUND', 'order not found');
  });
});
