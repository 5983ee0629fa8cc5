/**
 * A takeover keeps more than orders and money, and each is made at a leader that is killed and asked of the next one:
 * armed switches, trading timeouts, order groups and expiry. A request that one leader has accepted is refused by the
 * next (RULES.md 18.3, 18.7).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/promises.test.ts
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import type { Json } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeTrader, marketPerShard, type Trader } from '../support/traders.ts';
import { streamHeaders } from '../support/witnessReads.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: windows of a switch take time';
const options = { skip: NO_POSTGRES || IS_LONG };
const SHARDS = 2;
const GROUP = 'all';
type Cluster = Awaited<ReturnType<typeof startCluster>>;

function newTrader(cluster: Cluster): Promise<Trader> {
  return makeTrader(cluster, {
    scopes: ['read:account', 'trade:orders', 'trade:bulk', 'manage:account', 'stream:user'],
    depositMicro: 1_000_000_000,
  });
}

/** Kills the leader. Resolves once the other member leads, and the killed one follows it. */
async function takeOver(cluster: Cluster): Promise<void> {
  const killed = cluster.leader;
  await killed.kill();
  await cluster.awaitLeader(cluster.standbys);
  await cluster.rejoin(killed);
}

async function openOf(trader: Trader, markets: readonly OrderMarket[]): Promise<number> {
  const { client } = trader.reconnected();
  const open = await Promise.all(markets.map(({ id }) => client.openOrders(id)));
  return open.flat().length;
}

/** The reasons with which the orders of the account were closed, by the id of the order. */
async function closedOf(t: TestContext, cluster: Cluster, trader: Trader): Promise<Map<string, string>> {
  const client = await StreamClient.openSigned(t, cluster.baseUrl, () => streamHeaders(trader));
  await client.subscribe({ user: true, user_since: 0 });
  await client.settle();
  const reasons = new Map<string, string>();
  for (const { data } of client.of('order_status') as Json[]) {
    if (data.reason === 'placed') continue;
    assert.ok(!reasons.has(data.order_id), 'an order is closed once');
    reasons.set(data.order_id, data.reason);
  }
  client.end();
  return reasons;
}

test('an armed switch fires at the next leader, once, and cancels nothing that comes after it', options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const markets = await marketPerShard(cluster, SHARDS);
  const [alice, eve] = [await newTrader(cluster), await newTrader(cluster)];
  for (const market of markets) await alice.place(market, { price: '0.40', size: '5' });
  await alice.client.heartbeat();
  await takeOver(cluster);
  assert.equal(await openOf(alice, markets), SHARDS, 'its window is a full one, from the takeover on');
  await eventually('the end of the window', async () => (await openOf(alice, markets)) === 0);
  const closed = await closedOf(t, cluster, alice);
  assert.deepEqual([...closed.values()], Array(SHARDS).fill('heartbeat'));

  // Alice is no longer armed; Eve is, from the same moment on.
  for (const market of markets) {
    await alice.reconnected().place(market, { price: '0.40', size: '5' });
    await eve.reconnected().place(market, { price: '0.40', size: '5' });
  }
  await eve.reconnected().client.heartbeat();
  await takeOver(cluster);
  await eventually("the end of Eve's window", async () => (await openOf(eve, markets)) === 0);
  assert.equal(await openOf(alice, markets), SHARDS);
  assert.deepEqual(await closedOf(t, cluster, alice), closed);
});

test(
  'the end of a leader is none of a connection, behind front threads too, and one at a standby is none',
  options,
  async (t) => {
    const cluster = await startCluster(t, ['a', 'b'], { GATEWAYS: '3' });
    const markets = await marketPerShard(cluster, SHARDS);
    const connect = async (trader: Trader, baseUrl: string): Promise<StreamClient> => {
      const client = await StreamClient.openSigned(t, baseUrl, () => streamHeaders(trader));
      await client.subscribe({ user: true, cancel_on_disconnect: true });
      return client;
    };
    for (const end of ['kill', 'stop'] as const) {
      const trader = await newTrader(cluster);
      for (const market of markets) await trader.place(market, { price: '0.40', size: '5' });
      const ended = cluster.leader;
      const atStandby = await connect(trader, cluster.standbys[0]!.baseUrl);
      atStandby.end();
      const atLeader = await connect(trader, ended.baseUrl);
      await ended[end]();
      await atLeader.closed;
      await cluster.awaitLeader(cluster.standbys);
      assert.equal(await openOf(trader, markets), SHARDS, end);
      await cluster.rejoin(ended);
      const again = await connect(trader.reconnected(), cluster.baseUrl);
      again.end();
      await eventually('the cancels of a connection that has ended', async () => (await openOf(trader, markets)) === 0);
      assert.deepEqual([...(await closedOf(t, cluster, trader)).values()], Array(SHARDS).fill('user'));
    }
  },
);

test('timeouts, groups and expiry go on, and no request is carried out by two leaders', options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const markets = await marketPerShard(cluster, SHARDS);
  const [first, second] = markets as [OrderMarket, OrderMarket];
  const traders = {
    paused: await newTrader(cluster),
    maker: await newTrader(cluster),
    taker: await newTrader(cluster),
  };
  const { paused, maker, taker } = traders;

  await paused.client.gaming.startTimeout({ duration_label: '24h' });
  await maker.client.setOrderGroup(GROUP, { window_seconds: 3600, max_token_quantity_atomic: '10000000' });
  for (const market of markets) await maker.place(market, { price: '0.40', size: '20', orderGroup: GROUP });
  await taker.place(first, { side: 'BUY', outcomeIndex: 1, price: '0.60', size: '6' });
  const expirationSec = Math.floor(Date.now() / 1000) + 8;
  const expiring = await taker.place(second, { price: '0.30', size: '5', timeInForce: 'GTD', expirationSec });
  const kept = await maker.place(second, { price: '0.20', size: '5' });
  // For this long nothing changes that signatures would pass if only the log said which requests were accepted.
  const changedMs = Date.now();
  await eventually('two quiet seconds', async () => Date.now() - changedMs > 2000);
  // It finds nothing to cancel, so the log has nothing of it.
  const idle = paused.client.prepareSigned('DELETE', '/v1/orders/cancel-all');
  assert.equal((await cluster.request('DELETE', '/v1/orders/cancel-all', undefined, idle.headers)).status, 200);
  await takeOver(cluster);

  const again = await cluster.request('DELETE', '/v1/orders/cancel-all', undefined, idle.headers);
  assert.equal(again.status, 401, 'its signature was used at the former leader');
  const refused = await paused.reconnected().post(paused.body(first, { price: '0.40', size: '5' }));
  assert.deepEqual([refused.status, refused.body.code], [423, 'TRADING_TIMEOUT_ACTIVE']);
  assert.ok(Number(refused.headers.get('retry-after')) > 23 * 3600);
  await paused.reconnected().client.gaming.cancelTimeout();

  // 6 tokens at the former leader and 4 here reach the maximum of 10; the group trips in both shards.
  await taker.reconnected().place(first, { side: 'BUY', outcomeIndex: 1, price: '0.60', size: '4' });
  await eventually('the group', async () => (await openOf(maker, markets)) === 1);
  const ofMaker = await closedOf(t, cluster, maker);
  assert.deepEqual([...ofMaker.values()], Array(SHARDS).fill('group_limit'));
  assert.ok(!ofMaker.has(kept.order_id));
  await eventually('the expiry', async () => (await closedOf(t, cluster, taker)).get(expiring.order_id) === 'expired');
  await takeOver(cluster);
  assert.deepEqual(await closedOf(t, cluster, maker), ofMaker);
  assert.equal((await closedOf(t, cluster, taker)).get(expiring.order_id), 'expired');
});
