/**
 * The full disk of a standby (RULES.md 10.11, 18.19): with the room that it keeps it begins and follows, after a stop
 * and a kill; without any it ends with the cause and a code after which its unit starts it again, and follows when
 * there is room.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip } from '../support/postgres.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DISK_MB = 200;
const RESERVE_MB = 4;
const ORDERS = 40;
const FULL = /the disk of \S+ is full \(\d+ bytes are free\): make room/;
/** The exit code of a member that has to be started again. */
const AGAIN = 75;
const FILL_MS = 20;

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];
type Scope = Parameters<typeof startCluster>[0];

async function traded(cluster: Cluster): Promise<void> {
  const [markets, trader] = [[await makeMarket(cluster), await makeMarket(cluster)], await makeTrader(cluster)];
  for (const market of markets) {
    for (let order = 0; order < ORDERS; order++) await trader.place(market, { price: '0.20', size: '1' });
  }
}

/** A cluster of two that has traded; the standby has the disk. */
async function clusterOn(scope: Scope, disk: SmallDisk, reserveMb: number) {
  const settings = { JOURNAL_RESERVE_MB: String(reserveMb), DISK_RESERVE_MB: '16' };
  const cluster = await startCluster(scope, ['a', 'b'], settings, {}, { b: join(disk.path, 'data') });
  const [standby] = cluster.standbys as [Member];
  await traded(cluster);
  await cluster.awaitStandby(standby);
  return { cluster, standby };
}

/** On a standby reads go on, and requests with a key are refused as usual: it stores no answers itself. */
async function assertAsked(cluster: Cluster, standby: Member): Promise<void> {
  const [market, trader] = [await makeMarket(cluster), await makeTrader(cluster)];
  await eventually('a read of an account that is new', async () => {
    const { headers, path } = trader.client.prepareSigned('GET', '/v1/user/balances');
    return (await standby.request('GET', path, undefined, { ...headers })).status === 200;
  });
  const orders = [trader.body(market, { price: '0.20', size: '1' })];
  for (const [method, payload] of [
    ['POST', { orders }],
    ['DELETE', { order_hashes: [] }],
  ] as const) {
    const { body, headers } = trader.client.prepareSigned(method, '/v1/orders/batch', payload);
    const keyed = { ...headers, 'idempotency-key': randomUUID() };
    const answer = await standby.request(method, '/v1/orders/batch', body, keyed);
    assert.deepEqual([answer.status, answer.body.code], [503, 'NOT_MATCHING_LEADER']);
  }
}

async function assertReserve({ baseUrl }: Member): Promise<void> {
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  const samples = [...metrics.matchAll(/^exchange_(?:journal|control)_reserve_bytes\S* (\d+)$/gm)];
  assert.equal(samples.length, 3);
  for (const [sample, bytes] of samples) assert.ok(Number(bytes) >= RESERVE_MB * 1_000_000, sample);
}

test('a standby begins on a disk without a byte free, follows, and keeps its room', { skip }, async (t) => {
  const disk = SmallDisk.mount(t, DISK_MB);
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const { cluster, standby } = await clusterOn(t, disk, RESERVE_MB);
  for (const end of ['stop', 'kill'] as const) {
    await standby[end]();
    disk.fill();
    await standby.begin();
    disk.fill();
    await traded(cluster);
    await cluster.awaitStandby(standby);
    await assertReserve(standby);
    await assertAsked(cluster, standby);
  }
});

test('a standby that can write nothing ends with the cause, and follows when there is room', { skip }, async (t) => {
  const disk = SmallDisk.mount(t, DISK_MB);
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const { cluster, standby } = await clusterOn(t, disk, 0);
  const filling = setInterval(() => disk.fill(), FILL_MS);
  t.after(() => clearInterval(filling));
  const [code] = await Promise.all([standby.expectEnd(), traded(cluster)]);
  assert.equal(code, AGAIN);
  assert.match(standby.stdout.join('\n'), FULL);
  const restarted = await standby.begin().then(
    async () => `code ${await standby.expectEnd()}`,
    (error: Error) => error.message,
  );
  assert.match([restarted, ...standby.stdout].join('\n'), FULL);
  assert.doesNotMatch(restarted, /code 78/, 'its unit starts it again');
  clearInterval(filling);
  disk.clear();
  await standby.begin();
  await cluster.awaitStandby(standby);
});
