/**
 * Knows how recent the rows are that a standby has read: the server may have been replaced and may still answer. Owner:
 * the replication thread.
 *
 *   asked for a commit ──► server A commits, its standbys have it ──► rows read from A are as recent as the question
 */
import type { Clock } from '../../shared/base/clock.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { type ReplicatedLog, TakesNoRowsError } from './log.ts';

export class Confirmed {
  /** Why no server was confirmed at the last attempt; null if one was. */
  problem: string | null = null;
  /** The database refused rows, and no commit has been confirmed since. */
  #isRefused = false;
  /** The time at which the database last refused rows, or first accepted them again after that, by the same clock. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  readonly #log: Pick<ReplicatedLog, 'confirm'>;
  readonly #ages: Clock;
  /** The last confirmed server, and the time of the question. */
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
      this.problem = errorMessage(error);
      this.note(error);
    }
  }

  /** Takes the error of another writing statement. */
  note(error: unknown): void {
    if (!(error instanceof TakesNoRowsError)) return;
    this.#isRefused = true;
    this.#refusedMs = this.#ages.nowMs();
  }

  /** True while the database takes no rows, and for so long after it takes them again. */
  wasRefused(graceMs: number): boolean {
    return this.#isRefused || this.#ages.nowMs() - this.#refusedMs < graceMs;
  }

  /** LOGTAIL-2. Null if rows read from the server at `askedMs` may not have been complete. */
  asOfMs(server: string, askedMs: number): number | null {
    return this.#last?.server === server ? Math.min(this.#last.atMs, askedMs) : null;
  }
}
