/**
 * A cluster whose members and whose log fail in other ways than kill -9 (takeover.test.ts): nothing acknowledged is
 * lost and nothing is there twice (RULES.md 18.2 to 18.6). Each needs processes of its own for half a minute.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/faults.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_124);
const COMMANDS = 60;
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes half a minute';
const options = { skip: NO_POSTGRES || IS_LONG };
/** The exit code of a member that has lost its lead. */
const AGAIN = 75;

test(`a leader that hangs longer than its lease has lost it when it wakes up (SEED=${SEED})`, options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: COMMANDS });
  const hung = cluster.leader;
  process.kill(hung.pid!, 'SIGSTOP');
  await cluster.awaitLeader(cluster.standbys);
  await witness.check();
  await witness.trade({ commands: COMMANDS });
  const ended = hung.expectEnd();
  process.kill(hung.pid!, 'SIGCONT');
  assert.equal(await ended, AGAIN);
  await cluster.rejoin(hung);
  await witness.check();
});

test(`a leader that is stopped hands over, and gets the lead back (SEED=${SEED})`, options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const witness = await Witness.create(cluster, SEED);
  for (let turn = 0; turn < 2; turn++) {
    await witness.trade({ commands: COMMANDS });
    const stopped = cluster.leader;
    assert.equal(await stopped.stop(), 0);
    await cluster.awaitLeader(cluster.standbys);
    await witness.check();
    await cluster.rejoin(stopped);
  }
});

test(`without a quorum of the log reads go on and changes are refused (18.6, SEED=${SEED})`, options, async (t) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a'], { JOURNAL_URL: await postgres.database() });
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: COMMANDS });
  const { standbys } = postgres;
  for (const standby of standbys) standby.hang();
  const trading = witness.trade({ commands: COMMANDS });
  await eventually('the refusal of a change', async () => {
    const { status, body } = await cluster.adminRequest('POST', '/admin/platform/resume', {});
    return status === 503 && body.code === 'ENGINE_BUSY';
  });
  assert.equal((await cluster.request('GET', '/v1/markets')).status, 200);
  assert.equal((await cluster.request('GET', '/ready')).body.reason, 'the replicated log takes no rows');
  await trading;
  for (const standby of standbys) standby.goOn();
  await cluster.awaitLeader();
  await witness.check();
});
