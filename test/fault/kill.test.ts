/**
 * kill -9 under load: after a restart on the same directory everything acknowledged is there, and what was not
 * acknowledged is there whole or not at all. One kill in five hits the process that is recovering from the last one.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/kill.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { fileScope } from '../support/fileScope.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const CYCLES = timesOf({ suite: 1, soak: 15 });
const SEED = seedOr(20_261_120);
const COMMANDS = 200;
const RECOVERY_KILL_EVERY = 5;
/** A start takes about this long, so the kill can hit any part of it. */
const START_MS = 1000;
/** Snapshots and trimming run too: recovery starts from a file most of the time. */
const ENVIRONMENT = { SNAPSHOT_EVERY: '250', JOURNAL_KEEP: '100' };

const server = await startServer(fileScope, ENVIRONMENT);
const random = seededRandom(SEED);

test(`nothing acknowledged is lost over ${CYCLES} kills (SEED=${SEED})`, async () => {
  const witness = await Witness.create(server, SEED);
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const killAfter = 20 + Math.floor(random() * (COMMANDS - 60));
    let killing: Promise<void> | undefined;
    const onAnswer = (answered: number): void => {
      if (answered === killAfter) killing = server.kill();
    };
    await witness.trade({ commands: COMMANDS, onAnswer });
    assert.ok(killing !== undefined, 'the cycle got as far as its kill');
    await killing;
    if (cycle % RECOVERY_KILL_EVERY === 0) await killWhileStarting(random() * START_MS);
    await server.start(ENVIRONMENT);
    await witness.check();
  }
});

async function killWhileStarting(afterMs: number): Promise<void> {
  const starting = server.start(ENVIRONMENT).catch(() => {});
  await passed(afterMs);
  await server.kill();
  await starting;
}
