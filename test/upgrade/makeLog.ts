/**
 * `node shared/run.mjs test/upgrade/makeLog.ts OUT`, in a checkout of a release: stores in OUT what a cluster of two
 * members leaves behind, packed: the database of its log and both data directories; and answers about it.
 * test/cluster/keptLog.test.ts goes on with it. This file is copied into the checkout if the release does not have it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startCluster } from '../support/cluster.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { PROGRAMS } from '../support/postgresFiles.ts';
import { makeTrader } from '../support/traders.ts';

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('usage: makeLog.ts OUT');

const ends: (() => unknown)[] = [];
const url = await (await sharedPostgres()).database();
const cluster = await startCluster({ after: (end) => ends.push(end) }, ['a', 'b'], { JOURNAL_URL: url });
const privateKey = `0x${'9'.repeat(64)}` as const;
const trader = await makeTrader(cluster, { privateKey });
const { id } = await cluster.admin.createMarket({
  title: 'Will it rain?',
  description: 'By the gauge.',
  category: 'Weather',
  trading_ends_at: '2099-01-01T00:00:00.000Z',
});
const market = await trader.client.orderMarket(id);
for (const price of ['0.40', '0.41', '0.42']) await trader.place(market, { side: 'BUY', price, size: '3' });
await trader.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.58', size: '2' });
const { order_hash } = await trader.place(market, { side: 'BUY', price: '0.10', size: '4', clientOrderId: 'kept' });
await trader.client.cancelOrder(order_hash);
const paths = ['/v1/user/balances', '/v1/user/orders/v2?limit=100', `/v1/orders/book/${market.id}`];
const answers: { path: string; body: unknown }[] = [];
for (const path of paths) answers.push({ path, body: (await trader.send('GET', path)).body });
const [b] = cluster.standbys;
await cluster.awaitStandby(b!);
await b!.stop();
await cluster.leader.stop();

mkdirSync(out, { recursive: true });
for (const { name, dataDir } of cluster.members) {
  execFileSync('tar', ['-czf', join(out, `${name}.tar.gz`), '-C', dataDir, '.']);
}
// The first server of several is the one that is written to.
const dump = execFileSync(join(PROGRAMS!, 'pg_dump'), ['--no-owner', '--inserts', `--dbname=${url}`]);
writeFileSync(join(out, 'log.sql.gz'), gzipSync(dump, { level: 9 }));
const { userId, credentials } = trader;
const kept = { userId, privateKey, ...credentials, marketId: market.id, answers };
writeFileSync(join(out, 'answers.json'), `${JSON.stringify(kept)}\n`);
for (const end of ends) await end();
