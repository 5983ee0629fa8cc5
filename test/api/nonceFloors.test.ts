/** The floor under the nonces of a wallet's orders, on a real server with two shards (RULES.md 5.12). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { eventually } from '../support/eventually.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertBalanced, assertRefused, makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const markets = await marketPerShard(server, 2);
const ORDER = { price: '0.40', size: '10' };
const BELOW = [400, 'NONCE_BELOW_FLOOR', 'nonce is below the floor of the wallet'] as const;
const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account', 'stream:user'] as const;

afterEachOfFile(() => assertBalanced(server));

const makeOwner = (): Promise<Trader> => makeTrader(server, { scopes: [...SCOPES] });
const pathOf = ({ address }: Trader): string => `/v1/wallets/${address}/nonce-floor`;
const raise = (of: Trader, nonce_floor: number, by = of) => by.send('POST', pathOf(of), { nonce_floor });

describe('a floor', () => {
  test('is 0 at first; raised it cancels what is below it in every shard, with reason and frames', async (t) => {
    const alice = await makeOwner();
    const { headers } = alice.client.prepareSigned('GET', '/v1/ws');
    const client = await StreamClient.open(t, server.baseUrl, headers);
    await client.ask('subscribe', { user: true });
    assert.deepEqual((await alice.send('GET', pathOf(alice))).body, { address: alice.address, nonce_floor: 0 });
    const placed = await Promise.all(
      markets.flatMap((market) => [0, 7].map((nonce) => alice.place(market, { ...ORDER, nonce }))),
    );
    const raised = await raise(alice, 5);
    assert.equal(raised.status, 200, JSON.stringify(raised.body));
    const answer = { address: alice.address, nonce_floor: 5, orders_cancelled: 2, is_complete: true };
    assert.deepEqual(raised.body, answer);
    const statuses = await Promise.all(placed.map(({ order_hash }) => alice.client.getOrder(order_hash)));
    assert.deepEqual(
      statuses.map(({ status }) => status),
      ['cancelled', 'open', 'cancelled', 'open'],
    );
    const activity = (await alice.send('GET', '/v1/user/activity?limit=20')).body;
    assert.equal(JSON.stringify(activity).split('"reason":"nonce_floor"').length, 3, JSON.stringify(activity));
    const closed = () => client.frames.filter(({ data }) => data?.reason === 'nonce_floor').length;
    await eventually('both orders have a frame', async () => closed() === 2);
    assert.deepEqual((await raise(alice, 5)).body, { ...answer, orders_cancelled: 0 }, 'a repeat');
    assert.deepEqual((await raise(alice, 3)).body, { ...answer, orders_cancelled: 0 }, 'it does not sink');
    assert.equal((await alice.client.balances()).usdc.reserved, '8000000');
    const notices = (await alice.send('GET', '/v1/notifications')).body.items;
    assert.equal(JSON.stringify(notices).includes('order_cancelled'), false, 'its owner has asked for it');
  });

  test('refuses orders below it, alone, in a batch, as a replacement and an amend, on the socket', async (t) => {
    const alice = await makeOwner();
    const [market] = markets;
    const resting = await alice.place(market, { ...ORDER, nonce: 9 });
    await raise(alice, 9);
    const below = () => alice.body(market, { ...ORDER, nonce: 8 });
    const refused = await alice.post(below());
    assertRefused(refused, ...BELOW);
    assert.deepEqual(refused.body.details, { nonce_floor: 9 });
    const batch = await alice.send('POST', '/v1/orders/batch', {
      orders: [below(), alice.body(market, { ...ORDER, nonce: 9 })],
    });
    const rows = batch.body.results;
    assert.deepEqual([rows[0].code, rows[0].details], ['NONCE_BELOW_FLOOR', { nonce_floor: 9 }], JSON.stringify(rows));
    assert.equal(rows[1].status, 'success');
    const replacement = { cancel_hash: resting.order_hash, new_order: below() };
    assertRefused(await alice.send('POST', '/v1/orders/cancel-replace', replacement), ...BELOW);
    assertRefused(await alice.send('PUT', `/v1/orders/${resting.order_hash}/amend`, { new_order: below() }), ...BELOW);
    assert.equal((await alice.client.getOrder(resting.order_hash)).status, 'open');
    const { headers } = alice.client.prepareSigned('GET', '/v1/ws');
    const client = await StreamClient.open(t, server.baseUrl, headers);
    const { data } = await client.ask('order', { action: 'place', ...below() });
    assert.deepEqual([data.status, data.body.code, data.body.details], [400, 'NONCE_BELOW_FLOOR', { nonce_floor: 9 }]);
  });

  test('is raised by its owner alone, by at most 2^32 at once, and by nothing else than a number', async () => {
    const [alice, bob] = [await makeOwner(), await makeOwner()];
    const NONE = [404, 'NOT_FOUND', 'the account has no such wallet'] as const;
    assertRefused(await raise(alice, 1, bob), ...NONE);
    assertRefused(await bob.send('GET', pathOf(alice)), ...NONE);
    const reader = await makeTrader(server, { scopes: ['read:account', 'trade:orders'] });
    assert.equal((await raise(reader, 1)).status, 403);
    assert.equal((await reader.send('GET', pathOf(reader))).body.nonce_floor, 0, 'whoever signs needs to read it');
    assert.equal((await server.request('GET', pathOf(alice))).status, 401);
    assert.equal((await server.request('POST', pathOf(alice), { nonce_floor: 1 })).status, 401);
    for (const wrong of [-1, 0.5, '1', null, 2 ** 53, undefined])
      assert.equal((await raise(alice, wrong as number)).status, 400, String(wrong));
    assertRefused(await alice.send('GET', '/v1/wallets/0x12/nonce-floor'), ...NONE);
    const tooFar = await raise(alice, 2 ** 32 + 1);
    assertRefused(tooFar, 400, 'VALIDATION_ERROR', 'nonce_floor is too far above the floor of now');
    assert.deepEqual(tooFar.body.details, {
      ...{ field: 'nonce_floor', rule: 'maximum' },
      ...{ expected: 'at most 4294967296', value: 4294967297 },
    });
    assert.equal((await raise(alice, 2 ** 32)).status, 200);
    assert.equal((await raise(alice, 2 ** 33)).status, 200);
    assert.equal((await alice.place(markets[0], { ...ORDER, nonce: 2 ** 33 })).status, 'open');
  });

  test('outlives a crash and the link of its wallet', async () => {
    const alice = await makeOwner();
    await raise(alice, 4);
    await server.kill();
    await server.start();
    const back = alice.reconnected();
    for (const market of markets) assertRefused(await back.post(back.body(market, { ...ORDER, nonce: 3 })), ...BELOW);
    assert.equal((await back.send('GET', pathOf(back))).body.nonce_floor, 4);
    await server.adminRequest('DELETE', `/admin/users/${back.userId}/wallets/${back.address}`);
    assert.equal((await back.send('GET', pathOf(back))).body.nonce_floor, 4, 'unlinked');
    assert.equal((await raise(back, 6)).status, 200, 'and can be raised');
    await server.adminRequest('POST', `/admin/users/${back.userId}/wallets`, { address: back.address });
    assertRefused(await back.post(back.body(markets[0], { ...ORDER, nonce: 5 })), ...BELOW);
    assert.equal((await back.place(markets[0], { ...ORDER, nonce: 6 })).status, 'open');
  });

  test('that a crash cut off is carried to every shard by the start, before it lets anyone in', async () => {
    const alice = (await makeOwner()).reconnected();
    const placed = await Promise.all(markets.map((market) => alice.place(market, ORDER)));
    await server.kill();
    const database = openControlDatabase(join(server.dataDir, 'control.db'));
    database.prepare('INSERT INTO nonce_floors VALUES (?, ?, 0)').run(alice.address.toLowerCase(), 2);
    database.close();
    await server.start();
    const back = alice.reconnected();
    for (const { order_hash } of placed) assert.equal((await back.client.getOrder(order_hash)).status, 'cancelled');
    for (const market of markets) assertRefused(await back.post(back.body(market, { ...ORDER, nonce: 1 })), ...BELOW);
  });

  test('that control.db has lost is taken from the shards', async () => {
    const alice = (await makeOwner()).reconnected();
    await raise(alice, 4);
    await server.kill();
    const database = openControlDatabase(join(server.dataDir, 'control.db'));
    database.prepare('DELETE FROM nonce_floors').run();
    database.close();
    await server.start();
    assert.equal((await alice.reconnected().send('GET', pathOf(alice))).body.nonce_floor, 4);
  });
});
