/**
 * Waits with an end: one that fails says what it waited for.
 *
 * `eventually` is for real processes, whose threads take the time they take: it looks again until it holds. The longer
 * it has waited, the longer it waits between two looks, by a tenth: looks take time of the processor from what is
 * awaited. `within` is for one thing that comes by itself, as an exit or an answer does.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
const PAUSE_SHARE = 0.1;
/** Far above anything a server needs: it only turns waiting without end into a failure. Planted runs wait less. */
export const PATIENCE_MS = Number(process.env['EVENTUALLY_MS'] ?? 120_000);

/** Text, or what makes it once the wait has failed: how things stand then. */
type What = string | (() => string);

export async function eventually<T>(what: What, look: () => Promise<T | undefined | false>): Promise<T> {
  const start = performance.now();
  for (;;) {
    // A look that does not end would be without end as well.
    const found = await within(what, look());
    if (found !== undefined && found !== false) return found;
    const waitedMs = performance.now() - start;
    if (waitedMs > PATIENCE_MS) throw neverCame(what);
    await sleep(Math.min(Math.max(waitedMs * PAUSE_SHARE, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}

export async function within<T>(what: What, coming: PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(neverCame(what)), PATIENCE_MS);
  });
  try {
    return await Promise.race([coming, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function neverCame(what: What): Error {
  return new Error(`never came: ${typeof what === 'string' ? what : what()}`);
}
