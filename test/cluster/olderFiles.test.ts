/**
 * Files and a log of a version that had no marks of what was held, no ids of logs and no runs of the database: members
 * with and without them are in one cluster, and nothing acknowledged is lost (RULES.md 18.22, 18.26).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/olderFiles.test.ts
 */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_129);
const COMMANDS = 80;
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes half a minute';
/** An older version has none of these tables and columns in the database of the log. */
const NEWER_FACTS = [
  "DELETE FROM exchange_fact WHERE name IN ('log', 'founded on')",
  "UPDATE exchange_leader SET run = ''",
  "UPDATE exchange_lead SET run = ''",
  "UPDATE exchange_member SET run = ''",
];

test(`members with marks and without are in one cluster, and lose nothing (SEED=${SEED})`, {
  skip: NO_POSTGRES || IS_LONG,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
  const witness = await Witness.create(cluster, SEED);
  const markOf = ({ dataDir }: typeof a): string => join(dataDir, 'held.mark');
  const tradeAndCheck = async (): Promise<void> => {
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  };
  await tradeAndCheck();

  // The standby alone has older files, and was away for a while.
  await b.stop();
  rmSync(markOf(b));
  await tradeAndCheck();
  await cluster.rejoin(b);
  assert.ok(existsSync(markOf(b)), 'it has a mark from then on');
  await a.kill();
  rmSync(markOf(a));
  await cluster.awaitLeader([b]);
  await tradeAndCheck();
  await cluster.rejoin(a);

  // Both and the log are of an older version, as at the first start after an upgrade of all at once.
  await a.stop();
  await b.stop();
  for (const each of [a, b]) rmSync(markOf(each));
  const log = await openLog(t, url, 'observer');
  for (const [at, text] of NEWER_FACTS.entries()) await log.write({ name: `older ${at}`, text }, []);
  await a.begin();
  await cluster.awaitLeader([a]);
  await witness.check();
  await cluster.rejoin(b);
  const { id } = await log.history();
  assert.match(String(id), /^[0-9a-f-]{36}$/, 'the log has an id from then on');
  await tradeAndCheck();
  await a.kill();
  await cluster.awaitLeader([b]);
  await tradeAndCheck();
  await cluster.rejoin(a);
});
