/**
 * Priorities of threads whose work can wait: when processors are short, orders come first. Only Linux has a priority
 * for each thread; on other systems the whole process would get it, so nothing is changed there.
 */
import { setPriority } from 'node:os';

/** A third of the share of a shard's thread: enough to keep up, too little to delay orders. */
export const NICE_FOLLOWER = 5;
/** A tenth, for work that no client waits for. */
export const NICE_IDLER = 10;

/** Sets the priority of the calling thread. If the system refuses, orders are only slower. */
export function stepBack(nice: typeof NICE_FOLLOWER | typeof NICE_IDLER): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, nice);
  } catch {
    // A sandbox may forbid it.
  }
}
