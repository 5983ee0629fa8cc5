/** RULES.md 2.12 on a real server with little memory for orders: they move to the disk, and are refused from there. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { flipByte } from '../support/journaledShard.ts';
import { startServer, TestServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

/** A megabyte is for 10,000 orders, and the next snapshot after that many moves them. */
const ORDERS = 14_500;
const ROWS = 15;
const AT_ONCE = 4;
const SETTINGS = {
  ORDER_MEMORY_MB: '1',
  SNAPSHOT_EVERY: '3000',
  SHARDS: '1',
  RATE_LIMITS: 'off',
  MAX_OPEN_ORDERS: '100000',
  MAX_OPEN_ORDERS_PER_MARKET: '100000',
};

async function admin({ dataDir }: TestServer, ...args: string[]): Promise<void> {
  const { status, stdout, stderr } = await runAdminHere(args, { DATA_DIR: dataDir });
  assert.equal(status, 0, stdout + stderr);
}

/** Orders of the only shard that are in memory. */
async function remembered({ adminUrl, adminToken }: TestServer): Promise<number> {
  const answer = await fetch(`${adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  return Number(/_used\{bound="orders in memory of shard 0"\} (\d+)/.exec(await answer.text())?.[1]);
}

/** Pages of runs that the exchange has found damaged. */
async function damagesIn({ adminUrl, adminToken }: TestServer): Promise<number> {
  const answer = await fetch(`${adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  return Number(/exchange_fallbacks_total\{kind="order_hashes"\} (\d+)/.exec(await answer.text())?.[1]);
}

/** Flips a bit in the entry of this order. */
function damagePageOf(orderHash: string, directory: string): void {
  const entry = Buffer.from(orderHash.slice(2, 34), 'hex');
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.run'))) {
    const path = join(directory, name);
    const at = readFileSync(path).indexOf(entry);
    if (at > 0) flipByte(path, at + 16);
  }
}

async function refuses(trader: Trader, bodies: readonly ReturnType<Trader['body']>[]): Promise<void> {
  for (const body of bodies) {
    assertRefused(await trader.post(body), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
  }
}

test('2.12 orders beyond the memory for them are refused from the disk, after a restart or restore too', async () => {
  const server = await startServer({ after }, SETTINGS);
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const order = () => alice.body(market, { price: '0.01', size: '5' });
  const [first, last] = [order(), order()];
  const placed = await alice.post(first);
  assert.equal(placed.status, 200);
  for (let placed = 0; placed < ORDERS; ) {
    const batches = Array.from({ length: AT_ONCE }, () =>
      alice.client.placeOrders(Array.from({ length: ROWS }, order)),
    );
    for (const { succeeded } of await Promise.all(batches)) placed += succeeded;
  }
  await eventually('the shard has given memory up', async () => (await remembered(server)) < ORDERS / 2);
  assert.ok(readdirSync(server.dataDir).some((name) => /^hashes-0-[0-9a-f]{16}\.run$/.test(name)));
  assert.equal((await alice.post(last)).status, 200);
  await refuses(alice, [first, last]);
  await server.restart();
  assert.ok((await remembered(server)) < ORDERS / 2, 'a start leaves them on the disk');
  await refuses(alice, [first, last]);

  const [target, place] = [join(temporaryDirectory(), 'backups'), join(temporaryDirectory(), 'restored')];
  await admin(server, 'backup', target, '--rate', '0');
  await server.stop();
  await admin(server, 'restore', target, '--data', place, '--as-it-was');
  const restored = new TestServer(place, SETTINGS.SHARDS);
  after(() => restored.kill());
  damagePageOf(placed.body.order_hash, place);
  await restored.start(SETTINGS);
  assert.ok((await remembered(restored)) < ORDERS / 2, 'a backup has them on the disk');
  await refuses(alice.on(restored), [first, last]);
  await eventually('the damage is named', async () => (await damagesIn(restored)) === 1);
  assert.equal((await alice.on(restored).post(order())).status, 200, 'everything else goes on');

  await restored.stop();
  const again = join(temporaryDirectory(), 'restored');
  await admin(server, 'restore', target, '--data', again, '--as-it-was');
  for (const name of readdirSync(again).filter((each) => each.endsWith('.run')))
    cpSync(join(again, name), join(place, name));
  await restored.start(SETTINGS);
  await refuses(alice.on(restored), [first, last]);
  assert.equal(await damagesIn(restored), 0, 'files of the backup heal it');
});
