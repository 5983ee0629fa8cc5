/** For real processes, whose threads take the time they take: looks again until it holds. */
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;
/** Far above anything a server needs: it only turns waiting without end into a failure. */
const LIMIT_MS = 120_000;

export async function eventually<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`never came: ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}
