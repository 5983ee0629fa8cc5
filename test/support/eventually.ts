/**
 * Waits with a limit; the error of a failed wait names what was awaited.
 *
 * `eventually` is for real processes: it checks again until the condition holds. The pause between two checks is a
 * tenth of the time waited so far, because checks take processor time from the awaited process. `within` is for one
 * event that comes by itself, such as an exit or an answer.
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
