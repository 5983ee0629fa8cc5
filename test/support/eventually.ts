/**
 * For real processes, whose threads take the time they take: looks again until it holds. The longer it has waited, the
 * longer it waits between two looks, by a tenth: looks take time of the processor from what they wait for.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
const PAUSE_SHARE = 0.1;
/** Far above anything a server needs: it only turns waiting without end into a failure. Planted runs wait less. */
const LIMIT_MS = Number(process.env['EVENTUALLY_MS'] ?? 120_000);

export async function eventually<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waitedMs = performance.now() - start;
    if (waitedMs > LIMIT_MS) throw new Error(`never came: ${what}`);
    await sleep(Math.min(Math.max(waitedMs * PAUSE_SHARE, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}
