/** One world from a seed, in a directory of its own; a failure says how to see it again. */
import { existsSync, rmSync } from 'node:fs';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type ClusterTotals, ClusterWorld } from './clusterWorld.ts';
import { type Totals, World } from './world.ts';

export type { ClusterTotals, Totals };

/** Files live in memory: losses of a disk are simulated, so its speed would be of no use here. */
const MEMORY_DISK = '/dev/shm';

/** @throws with the seed, what happened last and the difference as its cause. */
export async function simulate(seed: number, commands: number): Promise<Totals> {
  return inMemory(async (directory) => {
    const world = new World(seed, directory, await createKeccak());
    return report(world, `--seed ${seed} --steps ${commands}`, () => world.run(commands));
  });
}

/** The same of a cluster. */
export async function simulateCluster(seed: number, commands: number): Promise<ClusterTotals> {
  return inMemory(async (directory) => {
    const world = new ClusterWorld(seed, directory, await createKeccak());
    return report(world, `--cluster --seed ${seed} --steps ${commands}`, () => world.run(commands));
  });
}

type Reporting = { readonly log: readonly string[]; readonly totals: { readonly commands: number } };

async function report<T>({ log, totals }: Reporting, options: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    const what = cause instanceof Error ? cause.message.split('\n', 1)[0] : cause;
    const lines = [`${what} (after ${totals.commands} commands; again: node test/sim/main.ts ${options})`, ...log];
    throw new Error(lines.join('\n'), { cause });
  }
}

async function inMemory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = temporaryDirectory(existsSync(MEMORY_DISK) ? MEMORY_DISK : undefined);
  try {
    return await use(directory);
  } finally {
    // A long run makes thousands of worlds.
    rmSync(directory, { recursive: true, force: true });
  }
}
