/**
 * Threads whose work can wait: when processors are short, orders go first. Only Linux gives each thread a priority of
 * its own; elsewhere it would be the whole process that steps back, so nothing is changed there.
 */
import { setPriority } from 'node:os';

/** A third of the share of a thread that trades: enough to keep up, too little to be in the way. */
export const NICE_FOLLOWER = 5;
/** A tenth: for what nobody waits for. */
export const NICE_IDLER = 10;

/** Of the calling thread. What the system refuses is done without: it is only slower. */
export function stepBack(nice: typeof NICE_FOLLOWER | typeof NICE_IDLER): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, nice);
  } catch {
    // A sandbox may forbid it.
  }
}
