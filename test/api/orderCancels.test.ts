/** Cancels over HTTP on a real server: of one order, of a market and of all, and the orders that they leave alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';

afterEachOfFile(() => assertBalanced(server));

describe('cancelling', () => {
  test('a cancel gives the money back at once; the second one is a conflict', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const path = `/v1/orders/${placed.order_hash}`;
    const answer = await alice.send('DELETE', path);
    assert.deepEqual([answer.status, answer.body], [200, { message: 'order cancelled' }]);
    assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
    assert.equal((await alice.client.getOrder(placed.order_hash)).status, 'cancelled');
    assertRefused(await alice.send('DELETE', path), 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });

  test('a partly filled order keeps its fills and a filled one cannot be cancelled', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const taken = await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '3' });
    await alice.client.cancelOrder(placed.order_hash);
    const record = await alice.client.getOrder(placed.order_hash);
    assert.deepEqual([record.status, record.filled_amount, record.remaining], ['cancelled', '1500000', '2500000']);
    const filled = await bob.send('DELETE', `/v1/orders/${taken.order_hash}`);
    assertRefused(filled, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });

  test('the order of another account does not exist, open or closed', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const path = `/v1/orders/${placed.order_hash}`;
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await bob.send(method, path), 404, 'NOT_FOUND', 'order not found');
    }
    assert.equal((await alice.client.getOrder(placed.order_hash)).status, 'open');
    await alice.client.cancelOrder(placed.order_hash);
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await bob.send(method, path), 404, 'NOT_FOUND', 'order not found');
    }
  });

  test('an unknown hash is not found and a malformed one invalid', async () => {
    const alice = await makeTrader(server);
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await alice.send(method, `/v1/orders/${UNKNOWN_HASH}`), 404, 'NOT_FOUND', 'order not found');
      for (const hash of ['0x12', 'abc', UNKNOWN_HASH.slice(2), `${UNKNOWN_HASH}00`, UNKNOWN_HASH.replace('b', 'g')]) {
        const answer = await alice.send(method, `/v1/orders/${hash}`);
        assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid order hash');
      }
    }
  });

  test('a hash is read in either case', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.50', size: '8' });
    const upper = `0x${order_hash.slice(2).toUpperCase()}`;
    assert.equal((await alice.client.getOrder(upper)).order_hash, order_hash);
    await alice.client.cancelOrder(upper);
    assert.equal((await alice.client.getOrder(upper)).order_hash, order_hash);
  });

  test('a cancel sent right behind its placement finds the order', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.50', size: '8' });
    const { maker: _m, signer: _s, signature: _g, salt, ...draft } = body;
    const { orderHash } = alice.signer.sign(draft, { salt });
    const [placed, cancelled] = await Promise.all([alice.post(body), alice.send('DELETE', `/v1/orders/${orderHash}`)]);
    assert.equal(placed.status, 200);
    // Over two connections the cancel may still arrive first, and then there is nothing to cancel.
    const { status } = await alice.client.getOrder(orderHash);
    assert.deepEqual([cancelled.status, status], cancelled.status === 200 ? [200, 'cancelled'] : [404, 'open']);
  });

  test('cancel-all reaches every market of every shard, and no other account', async () => {
    const markets = await Promise.all([1, 2, 3, 4].map(() => makeMarket(server)));
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    for (const market of markets) {
      await alice.place(market, { price: '0.50', size: '2' });
      await alice.place(market, { outcomeIndex: 1, price: '0.20', size: '2' });
    }
    const bobs = await bob.place(markets[0], { price: '0.10', size: '2' });
    const answer = await alice.send('DELETE', '/v1/orders/cancel-all');
    assert.deepEqual([answer.status, answer.body.cancelled, typeof answer.body.message], [200, 8, 'string']);
    for (const market of markets) assert.deepEqual(await alice.client.openOrders(market.id), []);
    assert.equal((await bob.client.getOrder(bobs.order_hash)).status, 'open');
    assert.equal((await alice.client.cancelAll()).cancelled, 0);
    assert.equal((await alice.holdings(markets[0])).reserved, 0);
  });

  test('cancel-market takes one market, or one outcome of it', async () => {
    const [market, other, alice] = [await makeMarket(server), await makeMarket(server), await makeTrader(server)];
    for (const outcomeIndex of [0, 0, 1] as const) {
      await alice.place(market, { outcomeIndex, price: '0.20', size: '2' });
      await alice.place(other, { outcomeIndex, price: '0.20', size: '2' });
    }
    const answer = await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: market.id, outcome_index: 0 });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { message: answer.body.message, market_id: market.id, cancelled: 2 });
    assert.equal((await alice.client.cancelMarket(market.id)).cancelled, 1);
    assert.equal((await alice.client.openOrders(other.id)).length, 3);
  });

  test('mass cancels check body and scope', async () => {
    const alice = await makeTrader(server);
    const wrong: [unknown, string][] = [
      [{}, 'missing field: market_id'],
      [{ market_id: 'x' }, 'invalid market_id'],
      [{ market_id: UNKNOWN_MARKET, outcome_index: 2 }, 'invalid outcome_index'],
      [{ market_id: UNKNOWN_MARKET, outcome: 0 }, 'unknown field: outcome'],
      [[], 'invalid body'],
    ];
    for (const [body, message] of wrong) {
      const answer = await alice.send('DELETE', '/v1/orders/cancel-market', body);
      assertRefused(answer, 400, 'VALIDATION_ERROR', message);
    }
    const unknown = await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: UNKNOWN_MARKET });
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    const limited = await makeTrader(server, { scopes: ['trade:orders', 'read:account'] });
    for (const [path, body] of [
      ['/v1/orders/cancel-all', undefined],
      ['/v1/orders/cancel-market', { market_id: UNKNOWN_MARKET }],
    ] as const) {
      const answer = await limited.send('DELETE', path, body);
      assertRefused(answer, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    }
  });
});
