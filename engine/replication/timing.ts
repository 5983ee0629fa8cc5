/** Time as a member sees it: the thread's clock, or one that a test moves. */
import { steadyMs } from '../../shared/base/clock.ts';

export type Timing = {
  /** A clock that only grows, shared by all threads of a process. */
  nowMs(): number;
  /** As `Date.now()`. */
  timeMs(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `run` periodically. @returns a function that stops it */
  every(periodMs: number, run: () => void): () => void;
};

export const THREAD_TIMING: Timing = {
  nowMs: steadyMs,
  timeMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  every: (periodMs, run) => {
    const timer = setInterval(run, periodMs);
    return () => clearInterval(timer);
  },
};
