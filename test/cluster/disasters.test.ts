/**
 * Disasters of a whole cluster: its log is lost, restored from an older state, or taken over by a server that lags, and
 * a directory becomes the first of another cluster. Each acknowledged order is there afterwards, or each start is
 * refused and says what the log lacks, over any number of starts (RULES.md 18.22, 18.23).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/disasters.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes a minute';
const options = { skip: NO_POSTGRES || IS_LONG };
const ORDERS = 40;

type Member = Awaited<ReturnType<typeof startCluster>>['leader'];

async function place(trader: Trader, market: Awaited<ReturnType<typeof makeMarket>>, count: number): Promise<string[]> {
  const hashes: string[] = [];
  for (let order = 0; order < count; order++) {
    hashes.push((await trader.place(market, { price: '0.20', size: '1' })).order_hash);
  }
  return hashes;
}

/** A start that is refused ends the process with one line, and so does the next one. */
async function assertRefused(member: Member, reason: RegExp): Promise<void> {
  for (let start = 0; start < 2; start++) {
    await assert.rejects(member.begin(), ({ message }: Error) => {
      assert.match(message, /the server ended with code 1/);
      assert.match(message, reason);
      return true;
    });
  }
}

test('a new database under another name is founded by no member by itself', options, async (t) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  const market = await makeMarket(cluster);
  await place(await makeTrader(cluster), market, ORDERS);
  for (const member of cluster.members) await member.kill();
  const fresh = { JOURNAL_URL: await postgres.database(), CLUSTER_NAME: 'another' };
  for (const member of cluster.members) {
    Object.assign(member.env, fresh);
    await assertRefused(member, /those of another log: .* the database has no log yet under this name/);
  }
});
