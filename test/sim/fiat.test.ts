/**
 * Cashing in and out against a naive state machine: random interleavings of customers, the provider, the rail, crashes
 * and restarts, on real code and a real SQLite. Money is never made, lost or paid twice, and states only go forward.
 */
import { test } from 'node:test';
import { seedOr, timesOf } from '../support/seeds.ts';
import { assertTrue } from './fiatTruth.ts';
import { FiatWorld } from './fiatWorld.ts';

const seed = seedOr(1);
/**
 * Worlds that have found a mistake: a signature whose repeat was answered before the disk had the first, and a sale
 * that was paid out under the other transaction of its session; and one that notices a transfer that is over too early.
 */
const FOUND = [7013, 2118, 219];
/** All of them take most of an hour: a soak that is shorter plays fewer, or its first round would not end. */
const isLongSoak = Number(process.env['SOAK_MINUTES'] ?? 60) >= 60;
const runs = timesOf({ suite: 25, soak: isLongSoak ? 100_000 : 3000 });

test(`${runs} worlds of cashing in and out keep their money (seed ${seed})`, async () => {
  for (let number = 0; number < runs; number++) await keepsItsMoney(seed + number);
});

test(`worlds that have found a mistake find it no more (seeds ${FOUND.join(', ')})`, async () => {
  for (const found of FOUND) await keepsItsMoney(found);
});

async function keepsItsMoney(worldSeed: number): Promise<void> {
  const world = new FiatWorld(worldSeed);
  try {
    await world.run();
    assertTrue(world);
  } catch (error) {
    const story = world.log.slice(-60).join('\n');
    throw new Error(`SEED=${worldSeed}: ${(error as Error).stack}\n${story}`);
  } finally {
    world.close();
  }
}
