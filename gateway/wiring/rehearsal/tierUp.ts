/**
 * The number of calls after which V8 compiles a function. V8 has one number for all threads of a process, and reads it
 * whenever a function begins anew: when it is called first, and when its compiled code was thrown away. While the
 * number is small a rehearsal has the same effect with a third of the orders. These are enough to show V8 what there
 * is, because every kind comes in every turn.
 */
import { setFlagsFromString } from 'node:v8';

/** V8's own number. */
export const USUAL_CALLS = 3000;
/** Fewer than the last act has of the rarest kind that is to be fast. The acts before it compile as well. */
export const EARLY_CALLS = 400;

export function compileAfter(calls: typeof USUAL_CALLS | typeof EARLY_CALLS): void {
  setFlagsFromString(`--invocation-count-for-turbofan=${calls}`);
}
