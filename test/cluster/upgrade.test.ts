/**
 * Two versions of the exchange meet in a cluster while clients trade. Nothing acknowledged is lost and nothing is there
 * twice (RULES.md 18.15 to 18.18). The steps of an operator are in data/docs/cluster.md.
 *
 * First, the newer version has other tables and other rows: the standby is upgraded, leads, the former leader follows
 * it and leads again, is upgraded, and the formats are raised. Then, it has another field in a PLACE and another rule
 * for cancels: each version leads and is killed while it leads, and an upgraded member goes back with its own files.
 * Until the raise every record is one of the older version; afterwards the older version is refused in a line.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/upgrade.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterStatus, promote, raiseFormats } from '../../engine/admin/cluster.ts';
import { JOURNAL_RECORD, JOURNAL_ROW, JOURNAL_VERSION } from '../../engine/journal/row.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { startCluster } from '../support/cluster.ts';
import { auditVersionsIn, LAST_ENGINE, NEXT_AUDIT, nextRules } from '../support/inventedVersions.ts';
import { NEXT_CONTROL, NEXT_JOURNAL, NEXT_SETTLEMENT, nextVersion } from '../support/nextVersion.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import type { Scope } from '../support/server.ts';
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

/** A cluster of two, and what happens to it while clients trade. */
async function underLoad(t: Scope) {
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const env = { JOURNAL_URL: url };
  const witness = await Witness.create(cluster, SEED);
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
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
  const killed = async (from: typeof a, to: typeof a): Promise<void> => {
    let killing: Promise<void> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === COMMANDS / 3) killing = from.kill();
      },
    });
    assert.ok(killing !== undefined, 'clients traded up to the kill');
    await killing;
    await cluster.awaitLeader([to]);
    await witness.check();
  };
  return { url, env, cluster, a, b, during, handOver, killed, log: await openLog(t, url, 'observer') };
}

test(`a cluster of two is upgraded under load and loses nothing (SEED=${SEED})`, { skip: inSoakOnly }, async (t) => {
  const { url, env, cluster, a, b, during, handOver, log } = await underLoad(t);
  const next = nextVersion();

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
  assert.deepEqual((await versionsOf(log)).rows, [JOURNAL_VERSION], 'both know more, and nothing is raised yet');

  const [raised] = await raiseFormats(env);
  assert.equal(raised, `the next lead writes ${MORE}`);
  await handOver(b, a);
  await during(() => cluster.rejoin(b));
  assert.deepEqual((await versionsOf(log)).rows, [NEXT_JOURNAL]);

  const refusal = `this version does not read what the cluster writes: ${UNKNOWN}; install that of a`;
  await assert.rejects(openLog(t, url, 'c'), new RegExp(refusal));
});

const RAISED =
  `audit ${FORMATS.audit.newest} to ${NEXT_AUDIT}, engine ${FORMATS.engine.newest} to ${LAST_ENGINE}, ` +
  `files ${files} to ${files + 3}`;

test(`a new field and a new rule come, go back and come again under kills (SEED=${SEED})`, {
  skip: inSoakOnly,
}, async (t) => {
  const { env, cluster, a, b, during, handOver, killed, log } = await underLoad(t);
  const [today, next] = [a.project, nextRules().root];
  const older = { rows: [JOURNAL_VERSION], records: [FORMATS.engine.newest] };

  await b.stop();
  b.project = next;
  await during(() => cluster.rejoin(b));
  await killed(a, b);
  await during(() => cluster.rejoin(a));
  assert.deepEqual(await versionsOf(log), older, 'the newer version leads, and the older one reads its records');
  await killed(b, a);
  b.project = today;
  await during(() => cluster.rejoin(b));
  await handOver(a, b);
  await during(() => cluster.rejoin(a));

  a.project = next;
  await a.stop();
  await during(() => cluster.rejoin(a));
  await killed(b, a);
  b.project = next;
  await during(() => cluster.rejoin(b));
  assert.deepEqual(await versionsOf(log), older, 'both know more, and nothing is raised yet');
  for (const { dataDir } of [a, b]) assert.deepEqual(auditVersionsIn(dataDir), [FORMATS.audit.newest]);
  assert.equal((await raiseFormats(env))[0], `the next lead writes ${RAISED}`);
  await killed(a, b);
  await during(() => cluster.rejoin(a));
  assert.deepEqual(await versionsOf(log), { rows: [JOURNAL_VERSION], records: [LAST_ENGINE] });
  assert.deepEqual(auditVersionsIn(b.dataDir), [FORMATS.audit.newest, NEXT_AUDIT]);

  await a.stop();
  a.project = today;
  await assert.rejects(
    a.begin(),
    /this version does not read what the cluster writes: audit .*, engine \d+ .*, files .*; install that of b/,
  );
  a.project = next;
  await during(() => cluster.rejoin(a));
  await killed(b, a);
});

/** The versions of the rows of journals in the newest part of the present lead, and of the commands in them. */
async function versionsOf(log: Awaited<ReturnType<typeof openLog>>): Promise<{ rows: number[]; records: number[] }> {
  const { end } = await log.facts();
  const { rows } = await log.readAfter(Math.max(0, end - 200), 1 << 20);
  const { epoch } = await log.lease();
  const ofLead = rows.filter((row) => row.epoch === epoch && row.stream < STREAM.CONTROL);
  const wordsIn = (word: number): Set<number> => {
    return new Set(ofLead.map(({ bytes }) => new DataView(bytes.buffer).getUint32(word * 4, true)));
  };
  const types = wordsIn(JOURNAL_ROW.WORDS + JOURNAL_RECORD.WORDS + ANY_COMMAND.type);
  return {
    rows: [...wordsIn(JOURNAL_ROW.version)].sort(),
    records: [...new Set([...types].map((type) => type >>> 16))].sort(),
  };
}
