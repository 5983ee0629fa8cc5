/** Some worlds of the fiat simulator (test/sim/fiat.test.ts) on a real EVM, with its token, its forks and its clock. */
import { test } from 'node:test';
import { assertTrue } from '../sim/fiatTruth.ts';
import { FiatWorld, WORLD_START_MS } from '../sim/fiatWorld.ts';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { EvmWorldRail, FreshChain } from './fiatWorldRail.ts';

/** In the first of these worlds a customer cashes out, in the other a customer cashes in. */
const IN_SUITE = new Set([seedOr(7), seedOr(10)]);
const WORLDS = isLongSoak ? 20 : 5;
const IN_SOAK = Array.from({ length: WORLDS }, (_, number) => seedOr(1) + number);

for (const seed of timesOf<Iterable<number>>({ suite: IN_SUITE, soak: IN_SOAK })) {
  test(`a world of cashing in and out keeps its money on an EVM (seed ${seed})`, {
    skip: NO_ANVIL,
  }, async () => {
    const chain = await FreshChain.start(WORLD_START_MS);
    const world = new FiatWorld(seed, (options) => new EvmWorldRail(chain, options));
    try {
      await world.run();
      assertTrue(world);
    } catch (error) {
      throw new Error(`SEED=${seed}: ${(error as Error).stack}\n${world.log.slice(-60).join('\n')}`);
    } finally {
      world.close();
      await chain.anvil.stop();
    }
  });
}
