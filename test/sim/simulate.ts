/** One world from a seed, in a directory of its own; a failure says how to see it again. */
import { existsSync, rmSync } from 'node:fs';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type Totals, World } from './world.ts';

export type { Totals };

/** Where files live in memory: what a disk may lose is simulated, so its speed is of no use here. */
const MEMORY_DISK = '/dev/shm';

/** @throws with the seed, what happened last and the difference as its cause. */
export async function simulate(seed: number, commands: number): Promise<Totals> {
  const directory = temporaryDirectory(existsSync(MEMORY_DISK) ? MEMORY_DISK : undefined);
  const world = new World(seed, directory, await createKeccak());
  try {
    return world.run(commands);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message.split('\n', 1)[0] : cause;
    const again = `node test/sim/main.ts --seed ${seed} --steps ${commands}`;
    const lines = [`${what} (after ${world.totals.commands} commands; again: ${again})`, ...world.log];
    throw new Error(lines.join('\n'), { cause });
  } finally {
    // A long run makes thousands of worlds.
    rmSync(directory, { recursive: true, force: true });
  }
}
