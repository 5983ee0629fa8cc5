/**
 * Faults in the middle of a copy for a member that joins, with real members under load: whoever gives it, leads, joins,
 * or has the log, ends or is cut off, and the member joins all the same and may lead (RULES.md 18.8). What happens to
 * the copy itself is in joinInterrupted.test.ts.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/joiningFaults.test.ts
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_126);
const COMMANDS = 120;
const FAULT_AFTER = 10;
/** Pieces of the copy take this long, so that a fault comes in the middle of it. */
const SLOW_MS = 250;
const MISSED = /the copy waits for the log|the copy is begun anew|the replicated log cannot be read/;
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes half a minute';
const options = { skip: NO_POSTGRES || IS_LONG };

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];
type World = {
  readonly cluster: Cluster;
  readonly postgres: Awaited<ReturnType<typeof startPostgres>>;
  readonly line: LogLine;
  readonly giver: Member;
  readonly joining: Member;
};

const FAULTS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  'the member that gives it is killed': async ({ cluster, giver }) => {
    await giver.kill();
    await cluster.rejoin(giver);
  },
  'the leader is killed': async ({ cluster, giver }) => {
    const killed = cluster.leader;
    await killed.kill();
    await cluster.awaitLeader([giver]);
  },
  'the member itself is killed': async ({ joining }) => {
    await joining.kill();
    begin(joining);
  },
  'its network loses everything': async ({ line, joining }) => {
    line.lose('toLog', 'toMember');
    // On a slow machine the copy may be whole by now, and the member reads the log.
    await eventually('a log that is missed', async () => joining.stdout.some((text) => MISSED.test(text)));
    line.heal();
  },
  'its connections end': async ({ line }) => line.cut(),
  'the primary of the database is killed, and another is promoted': ({ postgres }) => postgres.promote(),
};

function begin(member: Member): void {
  member.begin().catch(() => {});
}

for (const [fault, inflict] of Object.entries(FAULTS)) {
  test(`${fault} in the middle of a copy: the member joins, and may lead (SEED=${SEED})`, options, async (t) => {
    const postgres = await startPostgres(t);
    const ports = Object.values(postgres.nodes).map(({ port }) => port);
    const line = await LogLine.start(t, ports);
    const cluster = await startCluster(t, ['a', 'b', 'c'], { JOURNAL_URL: await postgres.database() }, { c: line });
    const witness = await Witness.create(cluster, SEED);
    await witness.trade({ commands: COMMANDS });
    const [, giver, joining] = cluster.members as [Member, Member, Member];
    await joining.kill();
    rmSync(joining.dataDir, { recursive: true });
    mkdirSync(joining.dataDir);
    line.delayMs = () => SLOW_MS;
    begin(joining);
    await eventually('the first part', async () => existsSync(join(joining.dataDir, 'joining', 'journal.key')));
    assert.ok(!existsSync(join(joining.dataDir, 'control.db')), 'it is in the middle of it');
    let inflicting: Promise<void> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) inflicting = inflict({ cluster, postgres, line, giver, joining });
      },
    });
    assert.ok(inflicting !== undefined, 'the load got as far as its fault');
    await inflicting;
    line.heal();
    await cluster.awaitLeader();
    await cluster.awaitStandby(joining);
    for (const { dataDir } of [giver, joining]) {
      assert.ok(!existsSync(join(dataDir, 'joining')) && !existsSync(join(dataDir, 'giving')), 'nothing is left of it');
    }
    await witness.check();

    for (const member of cluster.members) if (member !== joining) await member.kill();
    assert.equal(await cluster.awaitLeader([joining]), joining);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  });
}
