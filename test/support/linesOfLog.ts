/** Lines of a process's log about one cause that stays. */
import assert from 'node:assert/strict';

const MINUTE_MS = 60_000;
const NUMBERS = /\d+/g;

/**
 * For each start: a fault is logged at once, and then once a minute, however often it is retried. Slow requests have
 * other causes, such as a busy machine, and a line each.
 */
export function assertSaidOnceAMinute(lines: readonly string[]): void {
  const said = new Map<string, number>();
  for (const { level, time, msg, err } of lines.map((line) => JSON.parse(line))) {
    if (msg === 'signatures') said.clear();
    if (!['warn', 'error'].includes(level) || msg === 'slow request') continue;
    const what = `${msg} ${err?.message ?? ''}`.replaceAll(NUMBERS, '#');
    const before = said.get(what) ?? Number.NEGATIVE_INFINITY;
    assert.ok(Date.parse(time) - before >= MINUTE_MS, `again after ${Date.parse(time) - before} ms: ${what}`);
    said.set(what, Date.parse(time));
  }
}
