/** Tasks that a member does now and then, or until they succeed. A failure is a problem of the log, which may pass. */
import type { Timing } from './timing.ts';

export class Periodic {
  readonly #timing: Pick<Timing, 'every'>;
  readonly #onFailure: (error: Error) => void;
  /** Each of these ends a timer. */
  readonly #timers: (() => void)[] = [];

  constructor(timing: Pick<Timing, 'every'>, onFailure: (error: Error) => void) {
    this.#timing = timing;
    this.#onFailure = onFailure;
  }

  /** One run after the other: none begins while the one before goes on. */
  every(periodMs: number, run: () => unknown): void {
    let isRunning = false;
    const turn = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      await Promise.resolve().then(run).catch(this.#onFailure);
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
