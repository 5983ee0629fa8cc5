/**
 * kill -9 of the leader under load: a standby takes over, everything acknowledged is there, and what was not
 * acknowledged is there whole or not at all (RULES.md 18.2, 18.3).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/takeover.test.ts
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { listShards } from '../../engine/admin/directory.ts';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import type { HistoryState } from '../../shared/base/historyTables.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { historyState, historySums } from '../support/historyFiles.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import type { TestServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const CYCLES = timesOf({ suite: 1, soak: 10 });
const SEED = seedOr(20_261_123);
const COMMANDS = 120;
const DAY_MS = 86_400_000;

test(`nothing acknowledged is lost over ${CYCLES} takeovers (SEED=${SEED})`, { skip: NO_POSTGRES }, async (t) => {
  const random = seededRandom(SEED);
  const historyDir = temporaryDirectory();
  const cluster = await startCluster(t, ['a', 'b'], { HISTORY_DIR: historyDir });
  const [standby] = cluster.standbys;
  const read = await standby!.request('GET', '/v1/markets');
  assert.deepEqual([read.status, read.headers.get('x-svc-role')], [200, 'standby']);
  assert.equal(read.headers.get('x-svc-leader'), cluster.leader.baseUrl);
  const write = await standby!.adminRequest('POST', '/admin/platform/pause', {});
  assert.deepEqual([write.status, write.body.code], [503, 'NOT_MATCHING_LEADER']);
  assert.deepEqual(write.body.details, { leader: cluster.leader.baseUrl });

  const witness = await Witness.create(cluster, SEED);
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const killed = cluster.leader;
    const killAfter = 20 + Math.floor(random() * (COMMANDS - 60));
    let taking: Promise<number> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === killAfter) taking = takeoverMs(cluster);
      },
    });
    assert.ok(taking !== undefined, 'the cycle got as far as its kill');
    t.diagnostic(`takeover ${cycle + 1}: ${(await taking).toFixed()} ms`);
    await cluster.awaitLeader(cluster.standbys);
    await witness.check();
    await cluster.rejoin(killed);
  }
  await keepsStages(cluster);
  await haveOneHistory(cluster, historyDir);
});

/** RULES.md 13.15: each member writes the public history of its own journals, leading or not, and it is the same. */
async function haveOneHistory(cluster: Awaited<ReturnType<typeof startCluster>>, historyDir: string): Promise<void> {
  const { members } = cluster;
  for (const member of members) if (!member.isRunning) await cluster.rejoin(member);
  const states = () => members.map(({ name }) => historyState(join(historyDir, name)));
  await eventually('histories of both members, up to the same records', async () => {
    const [one, other] = states();
    return one!.behind_records + other!.behind_records === 0 && isDeepStrictEqual(recordsOf(one!), recordsOf(other!));
  });
  const [one, other] = await Promise.all(
    members.map(async (member) => {
      await member.kill();
      process.env['MASTER_KEY'] = member.env['MASTER_KEY'];
      const directory = join(historyDir, member.name);
      await writeHistory(await listShards(member.dataDir), directory, Date.now() + 2 * DAY_MS);
      return historySums(directory);
    }),
  );
  assert.ok(Object.keys(one!).length > 0);
  assert.deepEqual(one, other);
}

function recordsOf({ shards }: HistoryState): number[] {
  return shards.map(({ record }) => record);
}

/** Kills the leader. @returns how long after it another one accepts orders, as looks now and then see it */
async function takeoverMs(cluster: Awaited<ReturnType<typeof startCluster>>): Promise<number> {
  const { leader, standbys } = cluster;
  const startMs = performance.now();
  await leader.kill();
  await eventually('another leader', async () => {
    const answers = await Promise.all(standbys.map((member) => member.readiness()));
    return answers.some((answer) => answer?.status === 200);
  });
  return performance.now() - startMs;
}

/** A standby shows the stage of a halt, and a takeover keeps it (RULES.md 9.70). */
async function keepsStages(cluster: Awaited<ReturnType<typeof startCluster>>): Promise<void> {
  const killed = cluster.leader;
  const stagesOf = async (server: TestServer): Promise<string> => {
    const config = (await server.request('GET', '/v1/platform/config')).body;
    const { markets } = (await server.request('GET', '/v1/markets')).body as { markets: { stage: string }[] };
    return [config.stage, ...new Set(markets.map(({ stage }) => stage))].join(' ');
  };
  await killed.admin.stepPlatform({ stage: 'cancel_only' });
  for (const server of [killed, ...cluster.standbys]) {
    await eventually('the stage of the halt', async () => (await stagesOf(server)) === 'cancel_only cancel_only');
  }
  await killed.kill();
  await cluster.awaitLeader(cluster.standbys);
  assert.equal(await stagesOf(cluster.leader), 'cancel_only cancel_only');
  assert.equal((await cluster.leader.admin.stepPlatform({ stage: 'open', expected: 'cancel_only' })).stage, 'open');
}
