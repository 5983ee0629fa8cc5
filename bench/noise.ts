/**
 * How much of the machine did others use during a measurement? The host's part is stolen time; other programs' part is
 * the busy time of all processors that the bench's processes did not use. Of several rounds the quietest counts.
 */

import { processSeconds } from './processStat.ts';
import { readProcessorTicks } from './report.ts';

const TICK_SECONDS = 0.01;

/** Per cent of the time of all processors; NaN where the system does not report it. */
export type Noise = { readonly stolen: number; readonly others: number };

type Pids = readonly number[];

export class NoiseMeter {
  readonly #ticks = readProcessorTicks();
  /** Processor time of each process at the start. */
  readonly #ownSeconds: ReadonlyMap<number, number>;

  /** @param pids the processes of the bench; one that ends in the meantime counts as another program */
  constructor(pids: Pids) {
    this.#ownSeconds = secondsOf(pids);
  }

  /** The noise since this object was made. */
  read(): Noise {
    const before = this.#ticks;
    const after = readProcessorTicks();
    if (before === undefined || after === undefined) return { stolen: Number.NaN, others: Number.NaN };
    const total = after.total - before.total;
    const ownTicks = this.usedSeconds() / TICK_SECONDS;
    const others = after.busy - before.busy - ownTicks;
    // The two are counted at different moments, so a small difference may be negative.
    return { stolen: share(after.stolen - before.stolen, total), others: share(Math.max(0, others), total) };
  }

  /** Processor time of the bench itself, since this object was made. */
  usedSeconds(): number {
    const now = secondsOf([...this.#ownSeconds.keys()]);
    return [...now].reduce((sum, [pid, seconds]) => sum + seconds - this.#ownSeconds.get(pid)!, 0);
  }
}

function share(part: number, total: number): number {
  return total === 0 ? 0 : (100 * part) / total;
}

/** Sums up the processes that run. */
function secondsOf(pids: readonly number[]): Map<number, number> {
  const seconds = new Map<number, number>();
  for (const pid of pids) {
    try {
      seconds.set(pid, processSeconds(pid));
    } catch {
      // The process has ended.
    }
  }
  return seconds;
}
