/**
 * Counts things that were found damaged, cut or lost, and that the exchange goes on without: a file that something else
 * serves in place of, records of the audit log, frames of private streams. Each is a line of the log and is counted for
 * `exchange_fallbacks_total`.
 * Owner: the gateway thread; a process has one.
 */
import type { Logger } from './log.ts';

export const FALLBACKS = [
  'snapshot',
  'read_model',
  'kept_answers',
  'audit_log',
  'private_frames',
  'control_log',
  'held_mark',
] as const;
type Fallback = (typeof FALLBACKS)[number];

class Fallbacks {
  readonly counts: Readonly<Record<Fallback, number>>;
  readonly #counts: Record<Fallback, number>;

  constructor() {
    this.#counts = Object.fromEntries(FALLBACKS.map((kind) => [kind, 0])) as Record<Fallback, number>;
    this.counts = this.#counts;
  }

  /** @param text what was damaged, and what serves in its place */
  note(log: Pick<Logger, 'error'>, kind: Fallback, text: string, facts: object = {}): void {
    this.#counts[kind]++;
    log.error({ fallback: kind, ...facts }, text);
  }
}

export const fallbacks = new Fallbacks();
