/**
 * Cashing in and out against a naive state machine: random interleavings of customers, the provider, the rail, crashes
 * and restarts, on real code and a real SQLite. Money is never made, lost or paid twice, and states only go forward.
 */
import { test } from 'node:test';
import { seedOr, timesOf } from '../support/seeds.ts';
import { assertTrue } from './fiatTruth.ts';
import { FiatWorld } from './fiatWorld.ts';

const seed = seedOr(1);
const runs = timesOf({ suite: 40, soak: 100_000 });

test(`${runs} worlds of cashing in and out keep their money (seed ${seed})`, async () => {
  for (let number = 0; number < runs; number++) {
    const world = new FiatWorld(seed + number);
    try {
      await world.run();
      assertTrue(world);
    } catch (error) {
      const story = world.log.slice(-60).join('\n');
      throw new Error(`SEED=${seed + number}: ${(error as Error).stack}\n${story}`);
    } finally {
      world.close();
    }
  }
});
