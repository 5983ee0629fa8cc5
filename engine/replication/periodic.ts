/** Tasks that a member does now and then, or until they succeed. A failure is a problem of the log, until a success. */
import type { Timing } from './timing.ts';

export class Periodic {
  readonly #timing: Pick<Timing, 'every'>;
  /** Each of these ends a timer. */
  readonly #timers: (() => void)[] = [];
  /** Of each task, why its last run has failed. */
  readonly #failures = new Map<object, string>();

  constructor(timing: Pick<Timing, 'every'>) {
    this.#timing = timing;
  }

  /** Why a task has failed that has not succeeded since; null: none has. */
  get problem(): string | null {
    return this.#failures.values().next().value ?? null;
  }

  /** One run after the other: none begins while the one before goes on. */
  every(periodMs: number, run: () => unknown): void {
    let isRunning = false;
    const turn = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      try {
        await run();
        this.#failures.delete(run);
      } catch (error) {
        this.#failures.set(run, (error as Error).message);
      }
      isRunning = false;
    };
    this.#timers.push(this.#timing.every(periodMs, () => void turn()));
  }

  end(): void {
    for (const end of this.#timers) end();
  }
}

/** Tries until it succeeds, with a pause after each failure. @param onFailure may throw, which ends it */
export async function insist<T>(run: () => Promise<T>, onFailure: (error: unknown) => Promise<void>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      await onFailure(error);
    }
  }
}
