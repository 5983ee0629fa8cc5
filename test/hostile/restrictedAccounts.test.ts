/**
 * An account that is being stopped goes on sending as fast as it can: everything that was accepted before is cancelled,
 * nothing is accepted after, in every shard and over kill -9 (RULES.md 9.15, 9.16).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { PlacementBody } from '../../shared/client/types.ts';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const SHARDS = 2;
/** Orders that are on their way in each of the two shards while the administrator acts. */
const FLOOD = timesOf({ suite: 20, soak: 300 });
const USER_ID = '00000000-0000-4000-8000-000000000000';

const server = await startServer(fileScope, { SHARDS: String(SHARDS) });
const markets = await marketPerShard(server, SHARDS);

/** Orders of both sides in both shards; `signer` signs for the trader. */
function orders(trader: Trader, count: number, signer = trader.signer): PlacementBody[] {
  const asSigner = signer === trader.signer ? trader : Object.assign(Object.create(trader), { signer });
  return Array.from({ length: count }, (_, index) => {
    const side = index % 4 < 2 ? 'BUY' : 'SELL';
    const intent = { side, price: side === 'BUY' ? '0.2' : '0.8', size: '1' } as const;
    return asSigner.body(markets[index % SHARDS], intent, {}, trader.address);
  });
}

async function openOrders(trader: Trader): Promise<Json[]> {
  const lists = await Promise.all(markets.map(({ id }) => trader.send('GET', `/v1/orders/open/${id}`)));
  return lists.flatMap(({ body }) => body);
}

async function richTrader(): Promise<Trader> {
  const trader = await makeTrader(server);
  for (const { id } of markets) assert.equal((await trader.send('POST', `/v1/markets/${id}/split`, SPLIT)).status, 200);
  return trader;
}

const SPLIT = { amount: '100000000' };

/** Sends the flood and, in the middle of it, `act`. @returns the answers to the flood. */
async function during<T>(trader: Trader, bodies: PlacementBody[], act: () => Promise<T>): Promise<[Answer[], T]> {
  const half = bodies.length / 2;
  const first = bodies.slice(0, half).map((body) => trader.post(body));
  const acting = act();
  const second = bodies.slice(half).map((body) => trader.post(body));
  return [await Promise.all([...first, ...second]), await acting];
}

function codes(answers: Answer[]): Set<string> {
  return new Set(answers.map(({ status, body }) => (status < 300 ? 'placed' : body.code)));
}

describe('an account that is frozen while it floods', () => {
  test('has no order open, and none of its requests passes any more', async () => {
    const alice = await richTrader();
    await alice.post(orders(alice, 1)[0]);
    const [answers, restricted] = await during(alice, orders(alice, FLOOD), () => {
      return server.admin.setAccountState(alice.userId, 'frozen');
    });
    assert.ok(
      [...codes(answers)].every((code) => ['placed', 'ACCOUNT_FROZEN'].includes(code)),
      [...codes(answers)].join(),
    );
    assert.deepEqual([restricted.state, restricted.is_complete], ['frozen', true]);
    assert.ok(restricted.orders_cancelled >= 1);
    assert.deepEqual(await openOrders(alice), []);
    const [body] = orders(alice, 1);
    const [{ id }] = markets;
    const refused: [string, string, unknown][] = [
      ['POST', '/v1/orders', body],
      ['POST', `/v1/markets/${id}/split`, SPLIT],
      ['POST', `/v1/markets/${id}/merge`, SPLIT],
      ['POST', `/v1/user/positions/${id}/claim`, undefined],
    ];
    for (const [method, path, payload] of refused) {
      assertRefused(await alice.send(method, path, payload), 403, 'ACCOUNT_FROZEN', 'the account is frozen');
    }
    const batch = await alice.send('POST', '/v1/orders/batch', { orders: [body] });
    assert.deepEqual([batch.status, batch.body.results[0].code], [200, 'ACCOUNT_FROZEN']);
    const withdrawal = await server.adminRequest('POST', `/admin/users/${alice.userId}/withdrawals`, ONE_USDC);
    assertRefused(withdrawal, 403, 'ACCOUNT_FROZEN', 'the account is frozen');
    assert.equal((await alice.send('DELETE', '/v1/orders/cancel-all')).status, 200, 'cancelling works');
    assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 200, 'and so do heartbeats');
    assert.equal((await server.admin.deposit(alice.userId, ONE_USDC)).status, 'completed', 'money can come in');
    await assertBalanced(server);
  });

  test('stays so over kill -9, until it is active again', async () => {
    const bob = await richTrader();
    assert.equal((await bob.post(orders(bob, 1)[0])).status, 200);
    await server.admin.setAccountState(bob.userId, 'frozen');
    await server.kill();
    await server.start();
    const again = bob.reconnected();
    assert.deepEqual(await openOrders(again), []);
    assertRefused(await again.post(orders(bob, 1)[0]), 403, 'ACCOUNT_FROZEN', 'the account is frozen');
    assert.equal((await server.admin.setAccountState(bob.userId, 'active')).state, 'active');
    assert.equal((await again.post(orders(bob, 1)[0])).status, 200);
  });
});

const ONE_USDC = { amount_usdc_micro: '1000000' };

describe('an account that may only close', () => {
  test('keeps the orders that sell, loses those that buy, and can leave its positions', async () => {
    const carol = await richTrader();
    const [answers] = await during(carol, orders(carol, FLOOD), () => {
      return server.admin.setAccountState(carol.userId, 'close_only');
    });
    assert.deepEqual(
      [...codes(answers)].filter((code) => !['placed', 'ACCOUNT_CLOSE_ONLY'].includes(code)),
      [],
    );
    const open = await openOrders(carol);
    assert.equal(open.length, FLOOD / 2, 'every order that sells');
    assert.ok(open.every(({ side }) => side === 'SELL'));
    const [buy] = orders(carol, 1);
    const message = 'the account may only reduce its positions';
    assertRefused(await carol.post(buy), 403, 'ACCOUNT_CLOSE_ONLY', message);
    const replacement = { cancel_hash: open[0].order_hash, new_order: buy };
    assertRefused(
      await carol.send('POST', '/v1/orders/cancel-replace', replacement),
      403,
      'ACCOUNT_CLOSE_ONLY',
      message,
    );
    const split = await carol.send('POST', `/v1/markets/${markets[0].id}/split`, SPLIT);
    assertRefused(split, 403, 'ACCOUNT_CLOSE_ONLY', message);
    const merge = await carol.send('POST', `/v1/markets/${markets[0].id}/merge`, { amount: '1000000' });
    assert.equal(merge.status, 200);
    assert.equal((await server.admin.withdraw(carol.userId, ONE_USDC)).status, 'completed');
    await assertBalanced(server);
  });
});

describe('a delegate who is removed while orders signed by it flood in', () => {
  test('leaves none of them, and the wallet’s own orders stay', async () => {
    const dave = await richTrader();
    const delegate = new OrderSigner(`0x${'d1'.repeat(32)}`, await dave.client.signingDomain());
    await server.admin.addDelegate(dave.userId, dave.address, delegate.address);
    const { delegates } = await server.admin.listDelegates(dave.userId);
    assert.deepEqual(delegates, [{ maker: dave.address, signer: delegate.address }]);
    const own = await dave.post(orders(dave, 1)[0]);
    const signed = await dave.post(orders(dave, 1, delegate)[0]);
    assert.deepEqual([own.status, signed.status], [200, 200]);
    const [answers, removed] = await during(dave, orders(dave, FLOOD, delegate), () => {
      return server.admin.removeDelegate(dave.userId, dave.address, delegate.address);
    });
    assert.deepEqual(
      [...codes(answers)].filter((code) => !['placed', 'FORBIDDEN'].includes(code)),
      [],
    );
    assert.ok(removed.is_complete && removed.orders_cancelled >= 1);
    assert.deepEqual(
      (await openOrders(dave)).map(({ order_hash }) => order_hash),
      [own.body.order_hash],
    );
    const record = await dave.send('GET', `/v1/orders/${signed.body.order_hash}`);
    assert.equal(record.body.status, 'cancelled');
    await server.kill();
    await server.start();
    const again = dave.reconnected();
    assert.equal((await again.post(orders(dave, 1, delegate)[0])).body.code, 'FORBIDDEN');
    assert.deepEqual((await server.admin.listDelegates(dave.userId)).delegates, []);
    const twice = await server.adminRequest(
      'DELETE',
      `/admin/users/${dave.userId}/delegates/${dave.address}/${delegate.address}`,
    );
    assertRefused(twice, 404, 'NOT_FOUND', 'the account has no such grant');

    const { linked_wallets, orders_cancelled } = await server.admin.removeWallet(dave.userId, dave.address);
    assert.deepEqual([linked_wallets, orders_cancelled], [[], 1]);
    assert.equal((await again.post(orders(dave, 1)[0])).body.code, 'FORBIDDEN');
    const other = await server.admin.createUser({});
    const stolen = await server.adminRequest('POST', `/admin/users/${other.id}/wallets`, { address: dave.address });
    assert.equal(stolen.status, 409, 'it is bound to its account');
    await server.admin.addWallet(dave.userId, dave.address);
    assert.equal((await again.post(orders(dave, 1)[0])).status, 200);
  });
});

describe('what there is', () => {
  test('is listed: users a page at a time, wallets, keys without secrets and with their end', async () => {
    const { userId, credentials } = await makeTrader(server);
    let cursor: number | null = 0;
    const ids: string[] = [];
    while (cursor !== null) {
      const page = await server.admin.listUsers({ limit: 2, cursor });
      ids.push(...page.users.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    assert.ok(ids.length > 2 && new Set(ids).size === ids.length && ids.includes(userId));
    assert.deepEqual(
      (await server.admin.listUsers()).users.map(({ id }) => id),
      ids,
    );
    assert.equal((await server.admin.listWallets(userId)).wallets.length, 1);
    const before = await server.admin.listApiKeys(userId);
    assert.ok(!JSON.stringify(before).includes(credentials.secret));
    assert.deepEqual(
      before.api_keys.map(({ key_id, revoked_at }) => [key_id, revoked_at]),
      [[credentials.keyId, null]],
    );
    await server.admin.revokeApiKey(credentials.keyId);
    assert.notEqual((await server.admin.listApiKeys(userId)).api_keys[0].revoked_at, null);
  });

  test('what is not there is 404, and what is malformed 400, on every route', async () => {
    const { userId } = await makeTrader(server);
    const address = addressOf(`0x${'77'.repeat(32)}`);
    const paths: [string, string, unknown, number][] = [
      ['PUT', `/admin/users/${USER_ID}/state`, { state: 'frozen' }, 404],
      ['PUT', `/admin/users/${userId}/state`, { state: 'closed' }, 400],
      ['PUT', `/admin/users/${userId}/state`, {}, 400],
      ['GET', `/admin/users/${USER_ID}/wallets`, undefined, 404],
      ['DELETE', `/admin/users/${userId}/wallets/${address}`, undefined, 404],
      ['DELETE', `/admin/users/${userId}/wallets/0x12`, undefined, 404],
      ['GET', `/admin/users/${USER_ID}/delegates`, undefined, 404],
      ['DELETE', `/admin/users/${userId}/delegates/${address}/${address}`, undefined, 404],
      ['GET', `/admin/users/${USER_ID}/api-keys`, undefined, 404],
      ['GET', '/admin/users?limit=0', undefined, 400],
      ['GET', '/admin/users?cursor=x', undefined, 400],
    ];
    for (const [method, path, body, status] of paths) {
      assert.equal((await server.adminRequest(method, path, body)).status, status, `${method} ${path}`);
      assert.equal((await server.request(method, path, body)).status, 401, `${method} ${path}`);
    }
  });
});
