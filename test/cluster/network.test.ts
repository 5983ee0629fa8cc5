/**
 * The network between a leader and its log fails, in every way in which one can, while clients trade: nothing
 * acknowledged is lost and nothing is there twice (RULES.md 18.2 to 18.6).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/network.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_125);
const COMMANDS = 80;
const FAULT_AFTER = 20;
/** The exit code of a member that has lost its lead. */
const AGAIN = 75;

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes a quarter of a minute';
const skip = NO_POSTGRES || IS_LONG;

/** After these another member leads. */
const PARTITIONS: Readonly<Record<string, (line: LogLine) => void>> = {
  'nothing gets through': (line) => line.lose('toLog', 'toMember'),
  'nothing gets to the log': (line) => line.lose('toLog'),
  'nothing gets back from the log': (line) => line.lose('toMember'),
  'connections end, and none is accepted': (line) => {
    line.isRefusing = true;
    line.cut();
  },
};

/** After these the leader goes on. */
const DISTURBANCES: Readonly<Record<string, (line: LogLine, random: () => number) => void>> = {
  'each piece takes 100 ms': (line) => {
    line.delayMs = () => 100;
  },
  'pieces take up to 0.2 s': (line, random) => {
    line.delayMs = () => 200 * random() ** 3;
  },
  'connections end': (line) => line.cut(),
  'connections are reset in the middle of commits': (line) => line.resetAtAppends(5),
};

async function start(t: Parameters<typeof startCluster>[0]) {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const ports = Object.values(postgres.nodes).map(({ port }) => port);
  const lines = { a: await LogLine.start(t, ports), b: await LogLine.start(t, ports) };
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url }, lines);
  return { cluster, line: lines.a, witness: await Witness.create(cluster, SEED) };
}

for (const [fault, inflict] of Object.entries(PARTITIONS)) {
  test(`${fault} for longer than the lease: another leads (SEED=${SEED})`, { skip }, async (t) => {
    const { cluster, line, witness } = await start(t);
    const former = cluster.leader;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) inflict(line);
      },
    });
    await cluster.awaitLeader(cluster.standbys);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    const ended = former.expectEnd();
    line.heal();
    assert.equal(await ended, AGAIN);
    await witness.check();
    await cluster.rejoin(former);
  });
}

for (const [fault, inflict] of Object.entries(DISTURBANCES)) {
  test(`${fault}: the leader goes on (SEED=${SEED})`, { skip }, async (t) => {
    const { cluster, line, witness } = await start(t);
    const { leader } = cluster;
    const random = seededRandom(SEED);
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) inflict(line, random);
      },
    });
    line.heal();
    assert.equal(await cluster.awaitLeader(), leader);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  });
}
