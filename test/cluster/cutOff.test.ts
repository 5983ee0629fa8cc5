/**
 * A leader that is cut off from its log (RULES.md 18.6, 18.14): it refuses changes over HTTP and on sockets, answers
 * reads and says how stale they may be, streams go on, and it works again when the log does.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiError } from '../../shared/client/http.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { LogLine } from '../support/logLine.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';
import { streamHeaders } from '../support/witnessReads.ts';

const SCOPES = [
  'read:account',
  'trade:orders',
  'trade:bulk',
  'manage:account',
  'stream:market',
  'stream:user',
] as const;
const BUSY = [503, 'ENGINE_BUSY'];

test('a leader without its log refuses every change, and marks what it shows', { skip }, async (t) => {
  const postgres = await sharedPostgres();
  const ports = Object.values(postgres.nodes).map(({ port }) => port);
  const line = await LogLine.start(t, ports);
  const cluster = await startCluster(t, ['a'], { JOURNAL_URL: await postgres.database() }, { a: line });
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster, { scopes: [...SCOPES], retry: false });
  const resting = await trader.place(market, { price: '0.20', size: '10' });
  const socket = await StreamClient.openSigned(t, cluster.baseUrl, () => streamHeaders(trader));
  await socket.subscribe({ markets: [market.id], user: true });
  const read = () => cluster.request('GET', `/v1/orders/book/${market.id}`);
  assert.equal((await read()).headers.get('x-svc-stale-ms'), null);

  line.lose('toLog', 'toMember');
  // Nothing waits for the log: that it does not answer is known by the lease alone.
  await eventually('a leader that is not ready', async () => {
    const { status, body } = await cluster.request('GET', '/ready');
    return status === 503 && body.reason === 'the replicated log takes no rows';
  });
  const body = () => trader.body(market, { price: '0.30', size: '10' });
  assertRefused(await trader.post(body()), 503, 'ENGINE_BUSY', 'the engine is busy');
  const { client } = trader;
  for (const change of [
    () => client.cancelOrder(resting.order_hash),
    () => client.cancelAll(),
    () => client.split(market.id, 1_000_000),
    () => cluster.leader.admin.deposit(trader.userId, { amount_usdc_micro: '1' }),
    () => cluster.leader.admin.createUser({ wallet_address: `0x${'77'.repeat(20)}` }),
  ]) {
    await assert.rejects(change(), ({ status, code }: ApiError) => {
      assert.deepEqual([status, code], BUSY);
      return true;
    });
  }
  for (const data of [
    { action: 'place', ...body() },
    { action: 'cancel', order_hash: resting.order_hash },
  ]) {
    const answer = await socket.ask('order', data);
    assert.deepEqual([answer.data.status, answer.data.body.code], BUSY);
  }

  const book = await read();
  assert.deepEqual([book.status, book.headers.get('x-svc-role')], [200, 'leader']);
  assert.ok(Number(book.headers.get('x-svc-stale-ms')) > 0);
  assert.equal((await trader.client.getOrder(resting.order_hash)).status, 'open');
  await socket.settle();
  const late = await StreamClient.open(t, cluster.baseUrl);
  assert.deepEqual((await late.subscribe({ markets: [market.id] })).markets, [market.id]);

  line.heal();
  await cluster.awaitLeader();
  const placed = await trader.post(body());
  assert.equal(placed.status, 200);
  // On a slow machine the lease may lapse for a moment.
  await eventually('reads without the mark', async () => (await read()).headers.get('x-svc-stale-ms') === null);
  assert.equal((await trader.client.openOrders(market.id)).length, 2, 'what was refused was not carried out');
  await socket.until(({ channel, data }) => channel === 'order_status' && data.order_id === placed.body.order_id);
});
