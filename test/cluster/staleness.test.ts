/**
 * A standby never says that it is newer than it is (RULES.md 18.4), also while it catches up: one that stood still for
 * a while, as a machine that is paused, has more rows to read than one look at the log brings, and its views are behind
 * its journals. Nor does one that reads a server of the log's database which another server has replaced,
 * and lists from read.db are as old as that.
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/staleness.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/eventually.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes half a minute';
const options = { skip: NO_POSTGRES || IS_LONG };
/** Each is a row of the log: more than one look at it brings. */
const MISSED = 1500;
const READERS = 4;
/** The staleness of a standby that has caught up. */
const FRESH_MS = 300;
/** The lease that the replaced server shows has ended by then, and its connections have been doubted. */
const LOOK_MS = 4000;
/** No more than a list shows. */
const TRADES = 30;
const LOOKS = 5;
/** The projector follows within half a second, unless the machine is busy. */
const MOST_BEHIND_MS = 10_000;
/** Each side of a difference of two times is rounded to a millisecond. */
const ROUNDED_MS = 2;

type Acknowledged = { readonly hash: string; readonly atMs: number };

test('a standby that catches up says of every read how old it may be', options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const market = await makeMarket(cluster, {});
  const trader = await makeTrader(cluster, { depositMicro: 1_000_000_000_000 });
  const acknowledged: Acknowledged[] = [];
  const place = async (): Promise<void> => {
    const body = trader.body(market, { price: '0.10', size: '1' });
    const { order_hash: hash } = await trader.client.placeOrder(body);
    acknowledged.push({ hash, atMs: Date.now() });
    await trader.client.cancelOrder(hash);
  };
  await place();
  const [standby] = cluster.standbys;
  process.kill(standby!.pid!, 'SIGSTOP');
  try {
    while (acknowledged.length < MISSED / 2) await place();
  } finally {
    process.kill(standby!.pid!, 'SIGCONT');
  }
  let isOver = false;
  const reader = async (): Promise<number> => {
    for (let reads = 1; ; reads++) {
      const last = acknowledged.at(-1)!;
      const { isThere, askedMs, staleMs } = await read(trader, standby!.baseUrl, last.hash);
      const mustBeThere = last.atMs <= askedMs - staleMs - ROUNDED_MS;
      assert.ok(
        isThere || !mustBeThere,
        `${staleMs} ms stale, and lacks what was held ${askedMs - last.atMs} ms before`,
      );
      if (isThere && staleMs < FRESH_MS) return reads;
    }
  };
  const trading = (async () => {
    while (!isOver) await place();
  })();
  try {
    const reading = Promise.all(Array.from({ length: READERS }, reader));
    const reads = await within('a standby that has caught up', reading);
    t.diagnostic(`${reads} reads until it had caught up`);
  } finally {
    isOver = true;
    await trading;
  }
});

test('a standby that reads a replaced server of the log says how old that is', options, async (t) => {
  const postgres = await startPostgres(t);
  const ports = Object.values(postgres.nodes).map(({ port }) => port);
  const lines = { a: await LogLine.start(t, ports), b: await LogLine.start(t, ports) };
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() }, lines);
  const market = await makeMarket(cluster, {});
  const trader = await makeTrader(cluster, { depositMicro: 1_000_000_000_000 });
  const [standby] = cluster.standbys;
  const { client } = trader;
  const old = await client.placeOrder(trader.body(market, { price: '0.10', size: '1' }));
  await eventually('the order at the standby', async () => {
    return (await read(trader, standby!.baseUrl, old.order_hash)).isThere;
  });

  // The standby keeps its connections to the server that is replaced, and that answers its reads.
  lines.b.isRefusing = true;
  await postgres.promote(false);
  lines.a.cut();
  // Each order is another one: repeating one whose answer was lost would be a duplicate.
  const { order_hash: hash } = await eventually('an order that the new server holds', () =>
    client.placeOrder(trader.body(market, { price: '0.11', size: '1' })).catch(() => false as const),
  );
  const atMs = Date.now();
  let claimedMs = 0;
  while (Date.now() < atMs + LOOK_MS) {
    const { isThere, askedMs, staleMs } = await read(trader, standby!.baseUrl, hash);
    assert.equal(isThere, false, 'it reads the server that lacks the order');
    claimedMs = askedMs - staleMs;
    const claim = `${staleMs} ms stale, and lacks what was held ${askedMs - atMs} ms before`;
    assert.ok(claimedMs < atMs + ROUNDED_MS, claim);
  }
  assert.ok(claimedMs > 0, 'it says how old it is');

  lines.b.isRefusing = false;
  await eventually('the order at the standby', async () => (await read(trader, standby!.baseUrl, hash)).isThere);
  await eventually('a standby that is as new as others', async () => {
    return (await read(trader, standby!.baseUrl, hash)).staleMs < FRESH_MS;
  });
});

test('lists of a standby, also those that clients share, say how old they may be', options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const market = await makeMarket(cluster, {});
  const traders = [await makeTrader(cluster), await makeTrader(cluster)];
  const [standby] = cluster.standbys;
  const paths = { trades: `/v1/markets/${market.id}/trades`, fills: '/v1/markets/fills/recent' };
  const acknowledgedMs: number[] = [];
  let freshestMs = Number.POSITIVE_INFINITY;
  const look = async (name: keyof typeof paths): Promise<number> => {
    const askedMs = Date.now();
    const response = await fetch(standby!.baseUrl + paths[name]);
    if (response.status !== 200) return 0;
    const shown = ((await response.json()) as Record<string, unknown[]>)[name]!.length;
    const stale = response.headers.get('x-svc-stale-ms');
    const staleMs = stale === null ? Number.POSITIVE_INFINITY : Number(stale);
    const least = acknowledgedMs.filter((atMs) => atMs <= askedMs - staleMs - ROUNDED_MS).length;
    assert.ok(shown >= least, `${name}, ${staleMs} ms stale: ${shown} trades, at least ${least}`);
    freshestMs = Math.min(freshestMs, staleMs);
    return shown;
  };
  for (let traded = 0; traded < TRADES; traded++) {
    await traders[0]!.place(market, { price: '0.40', size: '1' });
    await traders[1]!.place(market, { outcomeIndex: 1, price: '0.60', size: '1' });
    acknowledgedMs.push(Date.now());
    for (let looks = 0; looks < LOOKS; looks++) await Promise.all([look('trades'), look('fills')]);
  }
  await eventually('all trades at the standby', async () => (await look('trades')) === TRADES);
  assert.ok(freshestMs < MOST_BEHIND_MS, 'it says how old they are');
});

async function read({ client }: Trader, baseUrl: string, hash: string) {
  const path = `/v1/orders/${hash}`;
  const { headers } = client.prepareSigned('GET', path);
  const askedMs = Date.now();
  const response = await fetch(baseUrl + path, { headers });
  await response.arrayBuffer();
  const stale = response.headers.get('x-svc-stale-ms');
  assert.equal(response.headers.get('x-svc-role'), 'standby');
  const staleMs = stale === null ? Number.POSITIVE_INFINITY : Number(stale);
  return { isThere: response.status === 200, askedMs, staleMs };
}
