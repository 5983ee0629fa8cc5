/** Processor time and memory of a process, by thread, from Linux' /proc. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Linux counts processor time of a process in hundredths of a second, whatever its timer frequency is. */
const TICK_SECONDS = 0.01;
const UTIME_FIELD = 11;
const PAGE_BYTES = 4096;
/** A server without requests uses less of one core than this; work after a load pauses at most this long. */
const IDLE_SHARE = 0.04;
const IDLE_SECONDS = 0.75;
const MOST_LOOKS = 40;

/**
 * Processor time by thread id, in seconds of one core; the main thread has the id of the process. Exact to the
 * nanosecond for a sleeping thread, and a few milliseconds behind for a running one.
 */
export function threadSeconds(pid: number): Map<number, number> {
  const seconds = new Map<number, number>();
  for (const name of readdirSync(`/proc/${pid}/task`)) {
    try {
      seconds.set(Number(name), scheduledSeconds(`/proc/${pid}/task/${name}`));
    } catch {
      // The thread has ended in the meantime.
    }
  }
  return seconds;
}

export function processSeconds(pid: number): number {
  return usedSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/**
 * Resolves when the process has finished the work that a load leaves for later: following its journals, snapshots. A
 * process that is never idle is measured as it is.
 */
export async function whenIdle(pid: number): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const before = totalSeconds(pid);
    await setTimeout(IDLE_SECONDS * 1000);
    if (totalSeconds(pid) - before < IDLE_SHARE * IDLE_SECONDS) return;
  }
}

function totalSeconds(pid: number): number {
  return [...threadSeconds(pid).values()].reduce((sum, seconds) => sum + seconds, 0);
}

/** Resident memory of the process. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** A kernel without schedstat only has ticks. */
function scheduledSeconds(directory: string): number {
  try {
    return Number(readFileSync(`${directory}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
  } catch {
    return usedSeconds(readFileSync(`${directory}/stat`, 'utf8'));
  }
}

/** The name in parentheses may contain any character, so fields are counted after it. */
function usedSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[UTIME_FIELD]) + Number(fields[UTIME_FIELD + 1])) * TICK_SECONDS;
}
