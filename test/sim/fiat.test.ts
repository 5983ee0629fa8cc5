/**
 * Cashing in and out against a naive state machine: random interleavings of customers, the provider, the rail, crashes
 * and restarts, on real code and a real SQLite. Money is never made, lost or paid twice, and states only go forward.
 */
import { test } from 'node:test';
import type { Rail } from '../../gateway/fiat/rail.ts';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { assertTrue } from './fiatTruth.ts';
import { FiatWorld } from './fiatWorld.ts';

const seed = seedOr(1);
/**
 * Worlds that have found mistakes: a signature whose repeat was answered before the first was on the disk, a sale that
 * was paid out under the other transaction of its session, and a transfer that ended too early.
 */
const FOUND = [7013, 2118, 219];
/** All of them together take most of an hour. */
const RUNS = {
  ledger: timesOf({ suite: 12, soak: isLongSoak ? 100_000 : 800 }),
  evm: timesOf({ suite: 4, soak: isLongSoak ? 10_000 : 40 }),
};

for (const on of ['ledger', 'evm'] as const) {
  test(`${RUNS[on]} worlds of cashing in and out keep their money (rail ${on}, seed ${seed})`, async () => {
    for (let number = 0; number < RUNS[on]; number++) await keepsItsMoney(seed + number, on);
  });
}

test(`worlds that have found a mistake find it no more (seeds ${FOUND.join(', ')})`, async () => {
  for (const found of FOUND) await keepsItsMoney(found, 'ledger');
});

async function keepsItsMoney(worldSeed: number, on: Rail['name']): Promise<void> {
  const world = new FiatWorld(worldSeed, on);
  try {
    await world.run();
    assertTrue(world);
  } catch (error) {
    const story = world.log.slice(-60).join('\n');
    throw new Error(`SEED=${worldSeed} (rail ${on}): ${(error as Error).stack}\n${story}`);
  } finally {
    world.close();
  }
}
