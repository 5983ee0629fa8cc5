/**
 * Starts that went on without a file that is damaged, because there is another way to what was in it. Each is a line of
 * the log and is counted for `exchange_fallbacks_total`.
 * Owner: the gateway thread; a process has one.
 */
import type { Logger } from './log.ts';

export const FALLBACKS = ['snapshot', 'read_model', 'kept_answers'] as const;
type Fallback = (typeof FALLBACKS)[number];

class Fallbacks {
  readonly counts: Readonly<Record<Fallback, number>>;
  readonly #counts: Record<Fallback, number>;

  constructor() {
    this.#counts = { snapshot: 0, read_model: 0, kept_answers: 0 };
    this.counts = this.#counts;
  }

  /** @param text what was damaged, and what serves in its place */
  note(log: Pick<Logger, 'error'>, kind: Fallback, text: string): void {
    this.#counts[kind]++;
    log.error({ fallback: kind }, text);
  }
}

export const fallbacks = new Fallbacks();
