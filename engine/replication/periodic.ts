/**
 * Tasks that a member repeats periodically, or until they succeed. A failed task is a problem of the log until it
 * succeeds.
 */
import { errorMessage } from '../../shared/base/thrown.ts';
import type { Timing } from './timing.ts';

export class Periodic {
  readonly #timing: Pick<Timing, 'every'>;
  /** Each of these ends a timer. */
  readonly #timers: (() => void)[] = [];
  /** For each task, the reason why its last run failed. */
  readonly #failures = new Map<object, string>();

  constructor(timing: Pick<Timing, 'every'>) {
    this.#timing = timing;
  }

  /** The reason of a task whose last run failed; null if there is none. */
  get problem(): string | null {
    return this.#failures.values().next().value ?? null;
  }

  /** Runs never overlap: a run begins only after the previous one has ended. */
  every(periodMs: number, run: () => unknown): void {
    let isRunning = false;
    const turn = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      try {
        await run();
        this.#failures.delete(run);
      } catch (error) {
        this.#failures.set(run, errorMessage(error));
      }
      isRunning = false;
    };
    this.#timers.push(this.#timing.every(periodMs, () => void turn()));
  }

  end(): void {
    for (const end of this.#timers) end();
  }
}

/** Retries until it succeeds, with a pause after each failure. @param onFailure may throw to end the retries */
export async function insist<T>(run: () => Promise<T>, onFailure: (error: unknown) => Promise<void>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      await onFailure(error);
    }
  }
}
