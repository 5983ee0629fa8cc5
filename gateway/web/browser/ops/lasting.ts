/**
 * Remembers for how long each problem has lasted. An alert rings when its condition has held for a while (`lastsSec` in
 * alerts.ts): until then the page says when it will, and is neither red nor amber for it.
 *
 * Invariants:
 *   LASTING-1  A problem that the first report of the tab has counts as old: a person whom it has woken sees it red.
 *   LASTING-2  A problem that was away for a moment begins anew, as its alert does.
 */
import { type Problem, worstFirst } from './problem.ts';

/** When each problem was first seen, by its alert and what it concerns. */
export type Seen = ReadonlyMap<string, number>;

type Lasted = { readonly problems: Problem[]; readonly seen: Seen };

/** @param before null for the first report of the tab */
export function lasting(before: Seen | null, problems: readonly Problem[], nowMs: number): Lasted {
  const seen = new Map<string, number>();
  const shown = problems.map((problem): Problem => {
    const { key, lastsMs } = problem;
    const sinceMs = before === null ? Number.NEGATIVE_INFINITY : (before.get(key) ?? nowMs);
    seen.set(key, sinceMs);
    const leftMs = sinceMs + lastsMs - nowMs;
    return leftMs > 0 ? { ...problem, level: 'soon', leftMs } : problem;
  });
  return { problems: worstFirst(shown), seen };
}
