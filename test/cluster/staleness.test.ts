/**
 * A standby never says that it is newer than it is (RULES.md 18.4), also while it catches up: one that stood still for
 * a while, as a machine that is paused, has more rows to read than one look at the log brings, and its views are behind
 * its journals.
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/staleness.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes half a minute';
const options = { skip: NO_POSTGRES || IS_LONG };
/** Each is a row of the log: more than one look at it brings. */
const MISSED = 1500;
const READERS = 4;
/** Of a standby that has caught up. */
const FRESH_MS = 300;
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
    const reads = await Promise.all(Array.from({ length: READERS }, reader));
    t.diagnostic(`${reads} reads until it had caught up`);
  } finally {
    isOver = true;
    await trading;
  }
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
