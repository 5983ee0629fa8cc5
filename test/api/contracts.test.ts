/** A change of the signing contracts on a real server with two shards (RULES.md 5.6, 9.10). */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, marketPerShard } from '../support/traders.ts';

const NEXT = checksumAddress(`0x${'ab'.repeat(20)}`);
const AFTER = checksumAddress(`0x${'cd'.repeat(20)}`);
const LAST = checksumAddress(`0x${'9a'.repeat(20)}`);
const USDC = checksumAddress(`0x${'ef'.repeat(20)}`);
const ORDER = { price: '0.40', size: '10' };

const server = await sharedServer();

const INVALID_SIGNATURE = [400, 'INVALID_SIGNATURE', 'invalid order signature'] as const;

test('every open order is cancelled, old signatures are refused, new ones taken, and a restart keeps it', async () => {
  const markets = await marketPerShard(server, 2);
  const alice = await makeTrader(server);
  const placed = await Promise.all(markets.map((market) => alice.place(market, ORDER)));
  const config = await alice.client.platformConfig();
  const sentBefore = markets.map((market) => alice.body(market, ORDER));

  const changed = await server.admin.changeContracts({ exchange_address: NEXT.toUpperCase().replace('0X', '0x') });
  assert.equal(changed.exchange_address, NEXT);
  assert.equal(changed.usdc_address, config.usdc_address);
  for (const { order_hash } of placed) assert.equal((await alice.client.getOrder(order_hash)).status, 'cancelled');
  assert.equal((await alice.client.balances()).usdc.reserved, '0');
  for (const body of sentBefore) assertRefused(await alice.post(body), ...INVALID_SIGNATURE);
  const shown = (await server.request('GET', '/v1/platform/config')).body;
  assert.deepEqual([shown.exchange_address, shown.eip712_domain.verifyingContract], [NEXT, NEXT]);

  // The typed client reads the configuration again and signs again.
  const draft = alice.body(markets[0], ORDER);
  const again = await alice.client.signAndPlace(alice.signer, draft);
  assert.equal(again.status, 'open');
  assert.equal((await alice.place(markets[1], ORDER)).status, 'open');

  await server.kill();
  await server.start();
  const back = alice.reconnected();
  assert.equal((await back.client.platformConfig()).exchange_address, NEXT);
  assert.equal((await back.client.getOrder(again.order_hash)).status, 'open');
  assertRefused(await back.post(sentBefore[1]), ...INVALID_SIGNATURE);
  assert.equal((await back.place(markets[1], ORDER)).status, 'open');
  await assertBalanced(server);
});

test('a change that a crash cut off is finished by the start, before it lets anyone in', async () => {
  const before = await new ExchangeClient({ baseUrl: server.baseUrl }).platformConfig();
  await server.kill();
  const database = openControlDatabase(join(server.dataDir, 'control.db'));
  const [row] = database.prepare<[], { value: string }>(`SELECT value FROM platform WHERE key = 'contracts'`).all();
  const stored = JSON.parse(row!.value);
  assert.equal(stored.pending, null);
  const pending = { ...stored.changed, exchange: LAST };
  database.prepare(`UPDATE platform SET value = ? WHERE key = 'contracts'`).run(JSON.stringify({ ...stored, pending }));
  database.close();
  await server.start();
  const after = await new ExchangeClient({ baseUrl: server.baseUrl }).platformConfig();
  assert.deepEqual(
    [before.exchange_address, after.exchange_address, after.eip712_domain.verifyingContract],
    [NEXT, LAST, LAST],
  );
});

test('other addresses change alone, and orders stay', async () => {
  const market = await makeMarket(server);
  const bob = await makeTrader(server);
  const { order_hash } = await bob.place(market, ORDER);
  const { exchange_address } = await bob.client.platformConfig();
  const changed = await server.admin.changeContracts({ exchange_address, usdc_address: USDC });
  assert.equal(changed.usdc_address, USDC);
  assert.equal((await bob.client.getOrder(order_hash)).status, 'open');
  assert.deepEqual((await server.admin.platform()).contracts, changed);
});

test('an order is never taken under both domains while placements and the change race', async () => {
  const markets = await marketPerShard(server, 2);
  const carol = await makeTrader(server);
  const bodies = Array.from({ length: 60 }, (_, index) => carol.body(markets[index % 2], ORDER));
  const answers = bodies.slice(0, 30).map((body) => carol.post(body));
  const change = server.admin.changeContracts({ exchange_address: AFTER });
  answers.push(...bodies.slice(30).map((body) => carol.post(body)));
  await change;
  for (const { status, body } of await Promise.all(answers)) {
    assert.ok(status === 200 || ['INVALID_SIGNATURE', 'ENGINE_BUSY'].includes(body.code), JSON.stringify(body));
  }
  for (const market of markets) assert.deepEqual(await carol.client.openOrders(market.id), []);
  await assertBalanced(server);
});

test('refuses a malformed address, an unknown field, and the zero contract', async () => {
  const bodies = [
    {},
    { exchange_address: '0x12' },
    { exchange_address: NEXT, fee: 1 },
    { exchange_address: NEXT, chain_id: 0 },
  ];
  for (const body of bodies) {
    const answer = await server.adminRequest('POST', '/admin/platform/contracts', body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'VALIDATION_ERROR']);
  }
  const zero = { exchange_address: `0x${'0'.repeat(40)}` };
  const answer = await server.adminRequest('POST', '/admin/platform/contracts', zero);
  assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid exchange_address');
  assert.equal((await server.admin.platform()).contracts_pending, null);
});
