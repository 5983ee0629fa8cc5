/**
 * The database of a cluster's log fails while clients trade: nothing acknowledged is lost and nothing is there twice
 * (RULES.md 18.1, 18.2, 18.6). Its network does in network.test.ts.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/database.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promote } from '../../engine/admin/cluster.ts';
import { startCluster } from '../support/cluster.ts';
import { interruptCommits } from '../support/commitFaults.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, sharedPostgres, startPostgres } from '../support/postgres.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_126);
const COMMANDS = 120;
const FAULT_AFTER = 20;

type Postgres = Awaited<ReturnType<typeof startPostgres>>;

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes a quarter of a minute';
const options = { skip: NO_POSTGRES || IS_LONG };

const FAULTS: Readonly<Record<string, (postgres: Postgres) => Promise<void>>> = {
  'commits are cancelled while they wait for the standbys': (postgres) =>
    interruptCommits(postgres, 'pg_cancel_backend', 3),
  'connections end while their commits wait for the standbys': (postgres) =>
    interruptCommits(postgres, 'pg_terminate_backend', 3),
  'one standby is killed': async ({ standbys }) => standbys[0]!.stop('SIGKILL'),
  'both standbys are killed, and come back': async ({ standbys }) => {
    await Promise.all(standbys.map((standby) => standby.stop('SIGKILL')));
    await Promise.all(standbys.map((standby) => standby.start()));
  },
  'the primary is killed, and the standby with the most is promoted': (postgres) => postgres.promote(),
  'the primary hangs, and the standby with the most is promoted': async (postgres) => {
    postgres.primary.hang();
    await postgres.promote(false);
  },
};

for (const [fault, inflict] of Object.entries(FAULTS)) {
  test(`${fault}: nothing acknowledged is lost (SEED=${SEED})`, options, async (t) => {
    const postgres = await startPostgres(t);
    const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
    const witness = await Witness.create(cluster, SEED);
    let inflicting: Promise<void> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) inflicting = inflict(postgres);
      },
    });
    assert.ok(inflicting !== undefined, 'the load got as far as its fault');
    await inflicting;
    // Without a quorum no lease is renewed: afterwards the faster member leads.
    const former = cluster.leader;
    await cluster.awaitLeader();
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
    if (cluster.leader !== former && !former.isRunning) await cluster.rejoin(former);
  });
}

test(
  `the disk of the leader is full: another goes on with what was acknowledged (SEED=${SEED})`,
  options,
  async (t) => {
    const disk = SmallDisk.mount(t, 60);
    if (disk === null) {
      t.skip('mounting a small disk needs the rights of root');
      return;
    }
    const postgres = await startPostgres(t);
    // Its own limit would refuse changes before the disk does.
    const env = { JOURNAL_URL: await postgres.database(), DISK_RESERVE_MB: '1' };
    const cluster = await startCluster(t, ['a', 'b'], env, {}, { a: disk.path });
    const witness = await Witness.create(cluster, SEED);
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) disk.fill();
      },
    });
    const [other] = cluster.standbys;
    const former = cluster.leader;
    // It hands the lead over, or ends if nothing can be written any more.
    await cluster.awaitLeader([other!]);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
    disk.clear();
    if (former.isRunning) await former.expectEnd();
    await cluster.rejoin(former);
  },
);

test(`a leader whose disk is nearly full hands the lead over (18.19, SEED=${SEED})`, options, async (t) => {
  const disk = SmallDisk.mount(t, 60);
  if (disk === null) {
    t.skip('mounting a small disk needs the rights of root');
    return;
  }
  const url = await (await sharedPostgres()).database();
  const env = { JOURNAL_URL: url, DISK_RESERVE_MB: '6' };
  const cluster = await startCluster(t, ['a', 'b'], env, {}, { a: disk.path });
  const witness = await Witness.create(cluster, SEED);
  const [b] = cluster.standbys;
  const former = cluster.leader;
  const ended = former.expectEnd();
  await witness.trade({
    commands: COMMANDS,
    onAnswer: (answered) => {
      if (answered === FAULT_AFTER) disk.fill(4_000_000);
    },
  });
  assert.equal(await ended, 75, 'npm start begins it anew as a standby');
  await cluster.awaitLeader([b!]);
  await witness.check();
  await cluster.rejoin(former);
  // The member removes files, and so may leave itself room at any moment.
  const filling = setInterval(() => disk.fill(4_000_000), 20);
  t.after(() => clearInterval(filling));
  await eventually('others know of its disk', async () => {
    return (await cluster.admin.cluster()).members.some(({ member, disk_low }) => member === 'a' && disk_low);
  });
  await assert.rejects(promote({ JOURNAL_URL: url }, 'a', false), /^AdminError: the disk of a is nearly full/);
  clearInterval(filling);
  disk.clear();
  await eventually('it has room again', async () => {
    return (await cluster.admin.cluster()).members.every(({ disk_low }) => !disk_low);
  });
  assert.match((await promote({ JOURNAL_URL: url }, 'a', false))[0]!, /^a leads/);
  await cluster.awaitLeader([former]);
  await witness.check();
});
