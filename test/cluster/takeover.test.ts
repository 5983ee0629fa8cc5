/**
 * kill -9 of the leader under load: a standby takes over, everything acknowledged is there, and what was not
 * acknowledged is there whole or not at all (RULES.md 18.2, 18.3).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/takeover.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const CYCLES = timesOf({ suite: 1, soak: 10 });
const SEED = seedOr(20_261_123);
const COMMANDS = 120;

test(`nothing acknowledged is lost over ${CYCLES} takeovers (SEED=${SEED})`, { skip: NO_POSTGRES }, async (t) => {
  const random = seededRandom(SEED);
  const cluster = await startCluster(t, ['a', 'b']);
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
    let killing: Promise<void> | undefined;
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === killAfter) killing = killed.kill();
      },
    });
    assert.ok(killing !== undefined, 'the cycle got as far as its kill');
    await killing;
    await cluster.awaitLeader(cluster.standbys);
    await witness.check();
    await cluster.rejoin(killed);
  }
});
