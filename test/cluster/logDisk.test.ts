/**
 * The disk of a server of the log fails while clients trade: a write or a sync fails, it is slow, or it says that it
 * has written what it has not, and its machine loses its power. Nothing acknowledged is lost and nothing is there
 * twice (RULES.md 18.1, 18.6).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/logDisk.test.ts
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { attachStrace, skipWithoutStrace, straceEnded } from '../support/strace.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_129);
const COMMANDS = 120;
const FAULT_AFTER = 20;
/** A server of PostgreSQL whose sync fails ends all its processes, and restarts. */
const FAILS_ONCE = 'error=EIO:when=3';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;
type Node = Postgres['primary'];

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes a quarter of a minute';
const skip = NO_POSTGRES || IS_LONG;

const FAILURES: Readonly<Record<string, string>> = {
  'a sync fails': `fdatasync:${FAILS_ONCE}`,
  'a write fails': `pwrite64:${FAILS_ONCE}`,
  'each sync takes 0.3 s': 'fdatasync:delay_enter=300000',
};

for (const [failure, inject] of Object.entries(FAILURES)) {
  for (const whose of ['the primary', 'a standby'] as const) {
    const title = `${failure} on the disk of ${whose} of the log: nothing acknowledged is lost (SEED=${SEED})`;
    test(title, { skip: skip || skipWithoutStrace }, async (t) => {
      const { postgres, witness, cluster } = await start(t);
      const node = whose === 'the primary' ? postgres.primary : postgres.standbys[0]!;
      await tradeWith(witness, () => tracing(node, inject));
      await node.goesOn();
      await cluster.recover();
      await witness.check();
      await witness.trade({ commands: COMMANDS });
      await witness.check();
    });
  }
}

test(`a standby of the log loses what it said it had synced: nothing is lost (SEED=${SEED})`, { skip }, async (t) => {
  const { postgres, witness, cluster } = await start(t);
  const [standby] = postgres.standbys;
  standby!.lieAboutSyncs();
  await tradeWith(witness, async () => {
    await standby!.losePower();
    await standby!.start();
    return undefined;
  });
  await cluster.recover();
  await witness.check();
  await witness.trade({ commands: COMMANDS });
  await witness.check();
});

test(`the primary does, and a standby is promoted: nothing is lost (SEED=${SEED})`, { skip }, async (t) => {
  const { postgres, witness, cluster } = await start(t);
  const { primary } = postgres;
  primary.lieAboutSyncs();
  await tradeWith(witness, async () => {
    await primary.losePower();
    await postgres.promote();
    return undefined;
  });
  await postgres.rejoin(primary);
  await cluster.recover();
  await witness.check();
  await witness.trade({ commands: COMMANDS });
  await witness.check();
});

async function start(t: Parameters<typeof startCluster>[0]) {
  const postgres = await startPostgres(t, { isSynced: true });
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  return { postgres, cluster, witness: await Witness.create(cluster, SEED) };
}

/** Trades, with a fault in the middle. */
async function tradeWith(witness: Witness, inflict: () => Promise<ChildProcess | undefined>): Promise<void> {
  let inflicting: Promise<ChildProcess | undefined> | undefined;
  await witness.trade({
    commands: COMMANDS,
    mayHang: true,
    onAnswer: (answered) => {
      if (answered === FAULT_AFTER) inflicting = inflict();
    },
  });
  assert.ok(inflicting !== undefined, 'the load got as far as its fault');
  const tracer = await inflicting;
  if (tracer === undefined) return;
  tracer.kill('SIGTERM');
  await straceEnded(tracer);
}

function tracing(node: Node, inject: string): Promise<ChildProcess> {
  const [call] = inject.split(':');
  return attachStrace(node.pids(), ['-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${inject}`]);
}
