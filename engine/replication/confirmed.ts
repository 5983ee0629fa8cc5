/**
 * Knows how new what a standby has read is: the server that it was read from may have been replaced, and still answer.
 * Owner: the replication thread.
 *
 *   asked for a commit ──► server A commits, its standbys have it ──► what A was read to hold is as new as the question
 */
import type { Clock } from '../../shared/base/clock.ts';
import { type ReplicatedLog, TakesNoRowsError } from './log.ts';

export class Confirmed {
  /** Why no server was confirmed when that was last asked for; null: one was. */
  problem: string | null = null;
  /** The database was found to take no rows, and no commit has been confirmed since. */
  #isRefused = false;
  /** When it was last found to take none, or first to take them again after that, by the same clock. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  readonly #log: Pick<ReplicatedLog, 'confirm'>;
  readonly #ages: Clock;
  /** The last one, and when it was asked for. */
  #last: { readonly server: string; readonly atMs: number } | null = null;

  constructor(log: Pick<ReplicatedLog, 'confirm'>, ages: Clock) {
    this.#log = log;
    this.#ages = ages;
  }

  async ask(): Promise<void> {
    const atMs = this.#ages.nowMs();
    try {
      this.#last = { server: await this.#log.confirm(), atMs };
      this.problem = null;
      if (this.#isRefused) this.#refusedMs = this.#ages.nowMs();
      this.#isRefused = false;
    } catch (error) {
      this.problem = (error as Error).message;
      this.note(error);
    }
  }

  /** Of another statement that was to change something. */
  note(error: unknown): void {
    if (!(error instanceof TakesNoRowsError)) return;
    this.#isRefused = true;
    this.#refusedMs = this.#ages.nowMs();
  }

  /** True while the database takes no rows, and for so long after it takes them again. */
  wasRefused(graceMs: number): boolean {
    return this.#isRefused || this.#ages.nowMs() - this.#refusedMs < graceMs;
  }

  /** LOGTAIL-2. Null: what the server had when it was asked, at `askedMs`, may not have been everything. */
  asOfMs(server: string, askedMs: number): number | null {
    return this.#last?.server === server ? Math.min(this.#last.atMs, askedMs) : null;
  }
}
