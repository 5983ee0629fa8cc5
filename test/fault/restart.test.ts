/**
 * The death of one thread affects no other: its shard is rebuilt from its journal while the other continues to trade,
 * no acknowledged order is lost, and sending the same signed order again settles an unknown outcome.
 *
 * The thread dies of a real failure: the server may not write files beyond a size (RLIMIT_FSIZE), which is chosen
 * between the sizes its files have, so one file hits it and the others do not.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { PlacementResponse } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, startServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const skip = spawnSync('prlimit', ['--version']).status === 0 ? false : 'needs prlimit of util-linux';
const DEPOSIT_MICRO = 1_000_000_000;
const SHARD_0 = 'journal-0.db-wal';
const SHARD_1 = 'journal-1.db-wal';
const CONTROL = 'control.db-wal';
const READ_MODEL = 'read.db-wal';

const server = await startServer(fileScope);
/** Shard 0 has `failing`, shard 1 has `other`. */
const [failing, other] = (await marketPerShard(server, 2)) as [OrderMarket, OrderMarket];

function newTrader(): Promise<Trader> {
  return makeTrader(server, { depositMicro: DEPOSIT_MICRO });
}

function sizeOf(name: string): number {
  return statSync(join(server.dataDir, name)).size;
}

/**
 * Places one order after the other until `name` is half as long again as the others. A look at the history after each
 * gives it a transaction of its own in the read model, which otherwise takes many at once.
 */
async function placeUntilLonger(
  trader: Trader,
  market: OrderMarket,
  name: string,
  others: string[],
): Promise<PlacementResponse[]> {
  const placed: PlacementResponse[] = [];
  while (others.some((other) => sizeOf(name) < 1.5 * sizeOf(other))) {
    placed.push(await trader.place(market, { price: '0.1', size: '10' }));
    if (name === READ_MODEL) await trader.send('GET', '/v1/user/orders/v2');
  }
  return placed;
}

function limitFiles(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:`]);
}

/**
 * From its next commit on shard 0 fails, and shard 1 not for many commits.
 * @returns the orders that were placed to get there.
 */
async function failShard0(trader: Trader): Promise<PlacementResponse[]> {
  const placed = await placeUntilLonger(trader, failing, SHARD_0, [SHARD_1, CONTROL]);
  limitFiles(sizeOf(SHARD_0));
  return placed;
}

async function readiness(): Promise<{ status: string; reason?: string }> {
  return (await server.request('GET', '/ready')).body;
}

function isReady(): Promise<boolean> {
  return eventually('a server that is ready', async () => (await readiness()).status === 'ready');
}

async function assertAllThere(trader: Trader, placed: PlacementResponse[], markets: OrderMarket[]): Promise<void> {
  const open = (await Promise.all(markets.map((market) => trader.client.openOrders(market.id)))).flat();
  assert.deepEqual(new Set(open.map(({ id }) => id)), new Set(placed.map(({ order_id }) => order_id)));
  const reserved = open.reduce((sum, order) => sum + BigInt(order.remaining), 0n);
  const { usdc } = await trader.client.balances();
  assert.equal(usdc.reserved, String(reserved));
  assert.equal(BigInt(usdc.available) + reserved, BigInt(DEPOSIT_MICRO));
}

test('a shard that cannot write is rebuilt while the other trades on, and nothing acknowledged is lost', {
  skip,
}, async () => {
  const trader = await newTrader();
  const placed = await failShard0(trader);

  const bodies = Array.from({ length: 8 }, () => trader.body(failing, { price: '0.2', size: '10' }));
  const failed = await Promise.all(bodies.map((body) => trader.post(body)));
  for (const { status, body, headers } of failed) {
    assert.equal(status, 503, JSON.stringify(body));
    assert.ok(['OUTCOME_UNKNOWN', 'ENGINE_BUSY'].includes(body.code), body.code);
    assert.ok(Number(headers.get('retry-after')) >= 1);
  }
  assert.ok(failed.some(({ body }) => body.code === 'OUTCOME_UNKNOWN'));
  for (let i = 0; i < 20; i++) placed.push(await trader.place(other, { price: '0.3', size: '10' }));

  limitFiles('unlimited');
  await isReady();
  for (const body of bodies) placed.push(await trader.client.placeOrder(body));
  for (const body of bodies) assertRefused(await trader.post(body), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
  await assertAllThere(trader, placed, [failing, other]);
  await assertBalanced(server);

  // Funds that the lost thread had reserved for orders it never journaled are available again, to the micro and in
  // every shard.
  const available = Number((await trader.client.balances()).usdc.available);
  assert.equal((await spend(trader, other, available + 1)).body.code, 'INSUFFICIENT_BALANCE');
  assert.equal((await spend(trader, other, available)).status, 200);
  assert.ok(server.stdout.some((line) => line.includes('thread ended; it is rebuilt from its journal')));

  await server.kill();
  await server.start();
  await assertBalanced(server);
});

/** A BUY at 0.01 that reserves exactly so much. */
function spend(trader: Trader, market: OrderMarket, micro: number): Promise<Answer> {
  return trader.post(trader.bodyOf(market, { price: '0.01', size: '1' }, micro, 100 * micro));
}

test('trading goes on without the projector, which catches up when it can write again', { skip }, async () => {
  const trader = await newTrader();
  const { order_hash } = await trader.place(failing, { price: '0.2', size: '10' });
  await placeUntilLonger(trader, failing, READ_MODEL, [SHARD_0, SHARD_1, CONTROL]);
  limitFiles(sizeOf(READ_MODEL));
  await trader.client.cancelOrder(order_hash);
  // A query waits for the events its account was notified of, and then fails.
  assertRefused(await trader.send('GET', `/v1/orders/${order_hash}`), 503, 'ENGINE_BUSY', 'the engine is busy');
  await trader.place(failing, { price: '0.3', size: '10' });
  assert.deepEqual(await readiness(), { status: 'ready' });

  limitFiles('unlimited');
  const record = await eventually('the cancelled order', async () => {
    const { status, body } = await trader.send('GET', `/v1/orders/${order_hash}`);
    return status === 200 && body;
  });
  assert.equal(record.status, 'cancelled');
});

test('reads of own writes wait two seconds for a projector that hangs, and are busy then', async () => {
  const trader = await newTrader();
  const { order_hash } = await trader.place(other, { price: '0.2', size: '10' });
  assert.equal((await trader.send('GET', `/v1/orders/${order_hash}`)).status, 200);
  const stranger = await newTrader();
  assert.equal((await stranger.send('GET', '/v1/user/orders/v2')).status, 200);
  // The projector waits for this lock, too.
  const lock = new Database(join(server.dataDir, 'read.db'));
  lock.exec('BEGIN IMMEDIATE');
  try {
    await trader.client.cancelOrder(order_hash);
    const startedMs = performance.now();
    const refused = await trader.send('GET', `/v1/orders/${order_hash}`);
    assertRefused(refused, 503, 'ENGINE_BUSY', 'the engine is busy');
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/);
    assert.ok(performance.now() - startedMs >= 1900, 'not before the two seconds are over');
    assert.equal((await stranger.send('GET', '/v1/user/orders/v2')).status, 200, 'who wrote nothing does not wait');
    await trader.place(other, { price: '0.3', size: '10' });
    await eventually('a lag of two seconds', async () => {
      const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
      const [, records] = /^exchange_projector_lag_records\{shard="1"\} (\S+)$/m.exec(text) ?? [];
      const [, seconds] = /^exchange_projector_lag_seconds\{shard="1"\} (\S+)$/m.exec(text) ?? [];
      return Number(records) >= 1 && Number(seconds) >= 1.5;
    });
  } finally {
    lock.exec('ROLLBACK');
    lock.close();
  }
  await eventually('the cancelled order', async () => {
    return (await trader.send('GET', `/v1/orders/${order_hash}`)).body?.status === 'cancelled';
  });
});

/** Overwrites the pages of a database, or of a write-ahead log, whose frames have a header. */
function spoil(path: string, from: number, headerBytes: number): void {
  const file = openSync(path, 'r+');
  const garbage = new Uint8Array(4096).fill(0xa5);
  const end = fstatSync(file).size;
  for (let at = from + headerBytes; at < end; at += 4096 + headerBytes) writeSync(file, garbage, 0, 4096, at);
  closeSync(file);
}

test('a read.db that is damaged while the exchange runs is made again, and trading goes on', async () => {
  const trader = await newTrader();
  const hashes = new Set<string>();
  const place = async (): Promise<void> => {
    hashes.add((await trader.place(other, { price: '0.2', size: '10' })).order_hash);
  };
  for (let order = 0; order < 5; order++) await place();
  await trader.client.userOrders({ limit: 100 });
  const path = join(server.dataDir, 'read.db');
  spoil(path, 4096, 0);
  spoil(`${path}-wal`, 32, 24);
  await eventually('the orders', async () => {
    await place();
    const { status, body } = await trader.send('GET', '/v1/user/orders/v2?limit=100');
    return status === 200 && existsSync(`${path}.damaged`) && body.total === hashes.size;
  });
  assert.deepEqual(await readiness(), { status: 'ready' });
});

test('a shard whose journal is damaged stays down, the others trade on, and without any the process ends', {
  skip,
}, async () => {
  const trader = await newTrader();
  const placed = await failShard0(trader);
  rmSync(join(server.dataDir, 'journal-0.mark'));
  const body = trader.body(failing, { price: '0.2', size: '10' });
  assertRefused(await trader.post(body), 503, 'OUTCOME_UNKNOWN', 'the outcome is unknown; retry with the same request');
  limitFiles('unlimited');

  const reason = 'shard 0 is down, the log says why';
  await eventually(reason, async () => (await readiness()).reason === reason);
  assert.deepEqual(await readiness(), { status: 'degraded', reason });
  const logged = await eventually('its log', async () => server.stdout.find((line) => line.includes('shard is down')));
  assert.match(logged, /journal-0\.db: its high-water mark is missing or damaged/);

  assertRefused(await trader.post(body), 503, 'ENGINE_BUSY', 'the engine is busy');
  assert.equal((await trader.client.openOrders(failing.id)).length, placed.length, 'what is known stays to be read');
  await trader.place(other, { price: '0.3', size: '10' });
  // Everybody may leave where there is a shard to leave; the answer says that it is not all.
  assertRefused(
    await trader.send('DELETE', '/v1/orders/cancel-all'),
    503,
    'OUTCOME_UNKNOWN',
    'the outcome is unknown; retry with the same request',
  );
  assert.deepEqual(await trader.client.openOrders(other.id), []);

  const ended = server.expectEnd();
  rmSync(join(server.dataDir, 'journal-1.mark'));
  limitFiles(0);
  await trader.post(trader.body(other, { price: '0.3', size: '10' })).catch(() => undefined);
  limitFiles('unlimited');
  assert.equal(await ended, 70);

  server.stdout.length = 0;
  const start = server.start();
  server.mayEnd();
  await assert.rejects(start, /journal-[01]\.db: its high-water mark is missing or damaged/);
});
