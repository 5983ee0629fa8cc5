/**
 * Attack: an account has answers kept for its idempotency keys until the disk is full (RULES.md 6.11), or somebody else
 * on the machine writes its last byte. Cancels and withdrawals go on with no byte free (RULES.md 10.11), the exchange
 * starts on the full disk, and nothing is lost. The disk is a real one: a small file system in memory.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { timesOf } from '../support/seeds.ts';
import { type Answer, startServer, type TestServer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const DISK_MB = timesOf({ suite: 112, soak: 192 });
const RESERVE_MB = 16;
const MB = 1_000_000;
const ATTACKS = timesOf({ suite: 10, soak: 1500 });
const ORDERS = timesOf({ suite: 60, soak: 400 });
const WITHDRAWALS = timesOf({ suite: 10, soak: 150 });
const DEPOSIT_MICRO = 1_000_000_000;
const BATCH = '/v1/orders/batch';

/** 200 "hashes" of a kilobyte each, which the old answer sent back and stored. */
const GARBAGE = { order_hashes: Array.from({ length: 200 }, (_, n) => `0x${String(n).padStart(1000, 'f')}`) };

function keyed(server: TestServer, trader: Trader, payload: unknown): Promise<Answer> {
  const request = trader.client.prepareSigned('DELETE', BATCH, payload);
  return server.request('DELETE', BATCH, request.body, { ...request.headers, 'idempotency-key': randomUUID() });
}

function keptRows(server: TestServer): { rows: number; bytes: number } {
  const db = new Database(join(server.dataDir, 'idempotency.db'), { readonly: true });
  try {
    const sums = 'SELECT total(rows) AS rows, total(bytes) AS bytes FROM kept';
    return db.prepare<[], { rows: number; bytes: number }>(sums).get()!;
  } finally {
    db.close();
  }
}

const withdraw = (server: TestServer, { userId }: Trader): Promise<Answer> =>
  server.adminRequest('POST', `/admin/users/${userId}/withdrawals`, { amount_usdc_micro: '1000000' });

/** A request leaves a fraction of its bytes, and none of its text. */
async function attack(server: TestServer, attacker: Trader): Promise<{ rows: number; bytes: number }> {
  for (let i = 0; i < ATTACKS; i++) {
    const answer = await keyed(server, attacker, GARBAGE);
    assert.deepEqual([answer.status, answer.body.failed], [200, 200]);
    assert.ok(!JSON.stringify(answer.body).includes('ffff'));
  }
  const kept = keptRows(server);
  assert.ok(kept.bytes <= 64 << 20 && kept.bytes / kept.rows < 32_768, JSON.stringify(kept));
  return kept;
}

/** Sends cancels, one in ten with a key, and withdrawals, while another program takes every byte that is set free. */
async function leave(server: TestServer, disk: SmallDisk, trader: Trader, orders: readonly string[]): Promise<void> {
  for (const [index, hash] of orders.entries()) {
    disk.fill();
    if (index % 10 > 0) {
      const { status, body } = await trader.send('DELETE', `/v1/orders/${hash}`);
      assert.equal(status, 200, JSON.stringify(body));
    } else {
      const { status, body } = await keyed(server, trader, { order_hashes: [hash] });
      assert.deepEqual([status, body.cancelled], [200, 1], JSON.stringify(body));
    }
  }
  for (let i = 0; i < WITHDRAWALS; i++) {
    disk.fill();
    const { status, body } = await withdraw(server, trader);
    assert.equal(status, 201, JSON.stringify(body));
  }
}

test('with no byte free cancels and withdrawals go on, a start succeeds, and nothing is lost', async (t) => {
  const disk = SmallDisk.mount(t, DISK_MB);
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const settings = { SHARDS: '1', DISK_RESERVE_MB: String(RESERVE_MB), JOURNAL_RESERVE_MB: '4' };
  const server = await startServer(t, { DATA_DIR: join(disk.path, 'data'), ...settings });
  const market = await makeMarket(server);
  const trader = await makeTrader(server, { depositMicro: DEPOSIT_MICRO });
  const placed: string[] = [];
  const place = (who = trader): Promise<Answer> => who.post(who.body(market, { price: '0.1', size: '1' }));
  for (let i = 0; i < ORDERS; i++) placed.push((await place()).body.order_hash);

  const bystander = await makeTrader(server);
  assert.equal((await place(bystander)).status, 200);
  const history = ({ client }: Trader) => client.prepareSigned('GET', '/v1/user/orders/v2');
  const read = async (who: Trader): Promise<Answer> => {
    const { path, headers } = history(who);
    return server.request('GET', path, undefined, { ...headers });
  };
  // Reading waits until the read model has the order: on a full disk it would not come.
  assert.equal((await read(bystander)).body.total, 1);
  const kept = await attack(server, await makeTrader(server));
  t.diagnostic(`${ATTACKS} requests of 200 KB left ${kept.bytes} bytes in ${kept.rows} answers`);

  // Another program takes the last byte, and every byte that is set free.
  disk.fill();
  await eventually('the refusal of an order', async () => {
    const { status, body } = await place();
    if (status === 200) placed.push(body.order_hash);
    return status === 503;
  });
  const before = keptRows(server).rows;
  await leave(server, disk, trader, placed.splice(20));
  assert.equal(keptRows(server).rows, before);
  const bury = await trader.send('DELETE', `/v1/orders/0x${'12'.repeat(32)}?tombstone=1`);
  assertRefused(bury, 503, 'ENGINE_BUSY', 'the engine is busy');
  const timeout = await trader.send('POST', '/v1/user/rg/timeout', { duration_label: '24h' });
  assertRefused(timeout, 503, 'ENGINE_BUSY', 'the engine is busy');
  assert.equal(disk.freeBytes, 0);
  const past = await read(bystander);
  assert.deepEqual([past.status, past.body.total], [200, 1], 'who has changed nothing since reads on');
  assertRefused(await read(trader), 503, 'ENGINE_BUSY', 'the engine is busy');
  assert.equal((await trader.client.getOrder(placed[0])).status, 'open');

  await server.kill();
  disk.fill();
  await server.start(settings);
  const returned = trader.reconnected();
  const open = await returned.client.openOrders(market.id);
  assert.deepEqual(new Set(open.map(({ order_hash }) => order_hash)), new Set(placed));
  assert.equal((await returned.send('DELETE', `/v1/orders/${placed.pop()}`)).status, 200);
  assert.equal((await withdraw(server, trader)).status, 201);
  const { usdc } = await returned.client.balances();
  assert.equal(Number(usdc.available) + Number(usdc.reserved), DEPOSIT_MICRO - (WITHDRAWALS + 1) * MB);

  disk.clear();
  const again = await eventually('a placement', async () => {
    const answer = await place(returned);
    return answer.status !== 503 && answer;
  });
  assert.equal(again.status, 200, JSON.stringify(again.body));
  await eventually('a kept answer', async () => {
    await keyed(server, returned, { order_hashes: [again.body.order_hash] });
    return keptRows(server).rows > before;
  });
  assert.equal((await returned.client.getOrder(placed[0])).status, 'open');
  await assertBalanced(server);
});
