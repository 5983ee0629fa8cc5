/**
 * The database of a cluster's log fails while clients trade: nothing acknowledged is lost and nothing is there twice
 * (RULES.md 18.1, 18.2, 18.6). Its network does in network.test.ts.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/database.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { interruptCommits } from '../support/commitFaults.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
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
    // Without a quorum nobody's lease is renewed: whoever is faster afterwards leads.
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
    // A leader that cannot write refuses changes and keeps its lease, or ends.
    if (cluster.leader.isRunning) await cluster.leader.kill();
    await cluster.awaitLeader([other!]);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  },
);
