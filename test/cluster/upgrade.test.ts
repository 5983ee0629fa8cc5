/**
 * Two versions of the exchange meet in a cluster while clients trade, and have other tables in control.db: the standby
 * is upgraded, leads, the former leader follows it and leads again, is upgraded, and the formats are raised. Nothing
 * acknowledged is lost and nothing is there twice (RULES.md 18.15 to 18.17). The steps of an operator are in
 * data/docs/cluster.md.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/upgrade.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterStatus, promote, raiseFormats } from '../../engine/admin/cluster.ts';
import { JOURNAL_ROW, JOURNAL_VERSION } from '../../engine/journal/row.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { startCluster } from '../support/cluster.ts';
import { NEXT_CONTROL, NEXT_JOURNAL, NEXT_SETTLEMENT, nextVersion } from '../support/nextVersion.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { makeTrader } from '../support/traders.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_125);
const COMMANDS = 60;
const files = FORMATS.files.newest;
/** The number of files is the sum of the others. */
const NEXT = [
  ['control', NEXT_CONTROL - 1, NEXT_CONTROL],
  ['files', files, files + 3],
  ['journal', NEXT_JOURNAL - 1, NEXT_JOURNAL],
  ['settlement', NEXT_SETTLEMENT - 1, NEXT_SETTLEMENT],
] as const;
const MORE = NEXT.map(([name, from, to]) => `${name} ${from} to ${to}`).join(', ');
const UNKNOWN = NEXT.map(([name, from, to]) => `${name} ${to} \\(${from} at most\\)`).join(', ');
const inSoakOnly = skip || (timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes two minutes');

test(`a cluster of two is upgraded under load and loses nothing (SEED=${SEED})`, { skip: inSoakOnly }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const env = { JOURNAL_URL: url };
  const witness = await Witness.create(cluster, SEED);
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
  const next = nextVersion();
  /** Clients trade as long as it takes; the leader stays. */
  const during = async (work: () => Promise<void>): Promise<void> => {
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    do {
      await witness.trade({ commands: COMMANDS });
      // An API key is a row of a table to which the next version adds a column.
      await makeTrader(cluster);
    } while (!isDone);
    await working;
    await witness.check();
  };
  /** In the middle of the clients' requests. */
  const handOver = async (from: typeof a, to: typeof a): Promise<void> => {
    const ended = from.expectEnd();
    let promoting: Promise<string[]> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === COMMANDS / 3) promoting = promote(env, to.name, false);
      },
    });
    assert.match((await promoting)![0]!, new RegExp(`^${to.name} leads in epoch \\d+`));
    assert.equal(await ended, 75);
    await cluster.awaitLeader([to]);
    await witness.check();
  };
  const log = await openLog(t, url, 'observer');

  await b.stop();
  b.project = next;
  await during(() => cluster.rejoin(b));
  assert.ok((await clusterStatus(env)).includes(`b knows more: ${MORE}`));
  await assert.rejects(
    raiseFormats(env),
    new RegExp(`^AdminError: a does not know ${MORE}: install the newer version`),
  );

  await handOver(a, b);
  await during(() => cluster.rejoin(a));
  // The way back, and forth again: the older version has followed, and leads.
  await handOver(b, a);
  await during(() => cluster.rejoin(b));
  await handOver(a, b);
  a.project = next;
  await during(() => cluster.rejoin(a));
  assert.deepEqual(await versionsOf(log), new Set([JOURNAL_VERSION]), 'both know more, and nothing is raised yet');

  const [raised] = await raiseFormats(env);
  assert.equal(raised, `the next lead writes ${MORE}`);
  await handOver(b, a);
  await during(() => cluster.rejoin(b));
  assert.deepEqual(await versionsOf(log), new Set([NEXT_JOURNAL]));

  const refusal = `this version does not read what the cluster writes: ${UNKNOWN}; install that of a`;
  await assert.rejects(openLog(t, url, 'c'), new RegExp(refusal));
});

/** The formats of the journals in the newest rows of the present lead. */
async function versionsOf(log: Awaited<ReturnType<typeof openLog>>): Promise<ReadonlySet<number>> {
  const { end } = await log.facts();
  const { rows } = await log.readAfter(Math.max(0, end - 200), 1 << 20);
  const { epoch } = await log.lease();
  const ofLead = rows.filter((row) => row.epoch === epoch && row.stream < STREAM.CONTROL);
  return new Set(ofLead.map(({ bytes }) => new DataView(bytes.buffer).getUint32(JOURNAL_ROW.version * 4, true)));
}
