/**
 * Heartbeats on a real server (RULES.md 7.8). test/unit/gateway/trading/deadMansSwitch.test.ts tests the window itself,
 * on a clock that the test moves.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import { WINDOW_MS } from '../../gateway/trading/deadMansSwitch.ts';
import { CLOSE_REASON, ORDER_STATUS } from '../../shared/base/codes.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const HEARTBEAT = '/v1/orders/heartbeat';
const server = await sharedServer();

test('it is for keys that trade, with no fields', async () => {
  const alice = await makeTrader(server);
  const reader = await makeTrader(server, { scopes: ['read:account'] });
  assertRefused(
    await reader.send('POST', HEARTBEAT, {}),
    403,
    'INSUFFICIENT_SCOPE',
    'API key lacks the required scope',
  );
  assertRefused(await alice.send('POST', HEARTBEAT, { at: 1 }), 400, 'VALIDATION_ERROR', 'unknown field: at');
  assert.equal((await server.request('POST', HEARTBEAT, {})).status, 401);
  assert.equal((await alice.send('POST', HEARTBEAT)).status, 200, 'no body is the empty object');
});

test('an account that falls silent loses all open orders, and no other does, over a restart and a pause', async (t) => {
  const markets = [await makeMarket(server), await makeMarket(server), await makeMarket(server)];
  let [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  const hashes: Buffer[] = [];
  for (const market of markets) {
    const { order_hash } = await alice.place(market, { price: '0.40', size: '5' });
    hashes.push(Buffer.from(order_hash.slice(2), 'hex'));
    await bob.place(market, { price: '0.41', size: '5' });
  }
  await server.admin.pause();
  const { server_time, ...rest } = await alice.client.heartbeat();
  assert.deepEqual(rest, { status: 'ok' });
  assert.ok(Number.isInteger(server_time) && Math.abs(server_time - Date.now() / 1000) < 30);

  const restartedMs = Date.now();
  await server.restart();
  [alice, bob] = [alice.reconnected(), bob.reconnected()];
  const open = async (trader: typeof alice) => {
    const answers = await Promise.all(markets.map(({ id }) => trader.send('GET', `/v1/orders/open/${id}`)));
    return answers.reduce((sum, { body }) => sum + body.length, 0);
  };
  const cancelled = () => alice.send('GET', '/v1/user/orders/v2?status=cancelled');
  await eventually('the window ends', async () => (await cancelled()).body.orders.length === 3);
  assert.equal(await open(alice), 0);
  assert.equal(await open(bob), 3);
  assert.equal((await alice.holdings(markets[0])).reserved, 0);
  await assertBalanced(server);

  await server.admin.resume();
  await server.stop();
  const readDb = new Sqlite(join(server.dataDir, 'read.db'), { readonly: true });
  t.after(() => readDb.close());
  type Row = { readonly reason: number; readonly updated_ms: number };
  const row = readDb.prepare<[Buffer, number], Row>('SELECT * FROM orders WHERE hash = ? AND status = ?');
  for (const hash of hashes) {
    const { reason, updated_ms } = row.get(hash, ORDER_STATUS.CANCELLED)!;
    assert.equal(reason, CLOSE_REASON.HEARTBEAT);
    assert.ok(updated_ms >= restartedMs + WINDOW_MS, 'the window begins again with the start');
  }
});
