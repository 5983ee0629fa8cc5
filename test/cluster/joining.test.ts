/**
 * Members that join, and join anew: with an empty directory while the others trade, after their rows were trimmed from
 * the log, and a leader whose files have what the log never held (RULES.md 18.2, 18.8). Each has processes of its own.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/joining.test.ts
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { makeTrader } from '../support/traders.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_125);
const COMMANDS = timesOf({ suite: 60, soak: 1500 });
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes half a minute';
const options = { skip: NO_POSTGRES || IS_LONG };

test(`a member joins empty while the others trade, and leads after a kill -9 (SEED=${SEED})`, options, async (t) => {
  const cluster = await startCluster(t, ['a', 'b', 'c']);
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: COMMANDS });
  const joining = cluster.members[2]!;
  const other = cluster.members[1]!;
  assert.equal(cluster.leader, cluster.members[0]);
  await joining.kill();
  rmSync(joining.dataDir, { recursive: true });
  let begun: Promise<void> | undefined;
  let isOver = false;
  // The others trade until it is there, or has failed.
  while (!isOver) {
    await witness.trade({
      commands: COMMANDS,
      onAnswer: () => {
        begun ??= joining.begin().finally(() => {
          isOver = true;
        });
        begun.catch(() => {});
      },
    });
    // Answers that were checked are not kept, so the clients stay as fast as they were.
    await witness.check();
  }
  await begun;
  await cluster.awaitStandby(joining);
  const names = readdirSync(joining.dataDir);
  assert.ok(!names.includes('joining') && names.includes('control.db'), 'its copy is in its place');
  assert.ok(!existsSync(join(other.dataDir, 'giving')), 'nothing is left where the copy was made');

  await other.stop();
  let killing: Promise<void> | undefined;
  const killed = cluster.leader;
  await witness.trade({
    commands: COMMANDS,
    onAnswer: (answered) => {
      if (answered === 20) killing = killed.kill();
    },
  });
  await killing;
  assert.equal(await cluster.awaitLeader([joining]), joining);
  await witness.check();
  await witness.trade({ commands: 60 });
  await witness.check();
  await cluster.rejoin(killed);
});

test(`a member whose rows were trimmed says so and joins anew (SEED=${SEED})`, options, async (t) => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: 60 });
  const [member] = cluster.standbys;
  await member!.kill();
  await witness.trade({ commands: 60 });
  // The rows that a member who is gone for a day does not keep in the log.
  const trimmed = await postgres.primary.query(
    `DELETE FROM exchange_log AS old WHERE position < (SELECT max(position) - 5 FROM exchange_log) AND EXISTS (
       SELECT FROM exchange_log AS later WHERE later.stream = old.stream AND later.sequence > old.sequence
     ) RETURNING 1`,
    url.slice(url.lastIndexOf('/') + 1),
  );
  assert.ok(trimmed.length > 20);
  await member!.begin();
  await cluster.awaitStandby(member!);
  assert.match(member!.stdout.join('\n'), /this member joins anew: .*(?:between was trimmed|the log holds shard)/);
  const names = readdirSync(member!.dataDir);
  const [left] = names.filter((name) => name.startsWith('left-'));
  assert.ok(left !== undefined && existsSync(join(member!.dataDir, left, 'control.db')), 'its files are kept');
  assert.ok(!names.includes('join-anew'));
  await cluster.leader.kill();
  await cluster.awaitLeader([member!]);
  await witness.check();
});

test(`a leader killed between control.db and the log comes back by itself (SEED=${SEED})`, options, async (t) => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const line = await LogLine.start(
    t,
    Object.values(postgres.nodes).map(({ port }) => port),
  );
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url }, { a: line });
  const [killed, other] = cluster.members;
  assert.equal(cluster.leader, killed);
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: 60 });
  const trader = await makeTrader(cluster);
  // From now on nothing that it sends arrives: control.db has the change, and the log never gets it.
  line.lose('toLog');
  const asking = trader.client.account.markAllRead().catch(() => null);
  await eventually('the change in control.db', async () => {
    const { status, body } = await killed!.request('GET', '/ready');
    return status === 503 && /log/.test(String(body.reason)) && 'it waits for the log';
  });
  await killed!.kill();
  assert.equal(await asking, null, 'it was never acknowledged');
  await cluster.awaitLeader([other!]);
  await makeTrader(cluster);
  await makeTrader(cluster);
  line.cut();
  line.heal();
  await cluster.rejoin(killed!);
  const output = [...killed!.stdout, ...killed!.stderr].join('\n');
  assert.match(output, /control\.db: records? \d+.* on this machine only and never acknowledged \(.*\): set aside in/);
  await other!.kill();
  await cluster.awaitLeader([killed!]);
  await witness.check();
});
