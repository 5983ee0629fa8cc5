/** Time as a member needs it: that of its thread, or one that a test moves. */
import { steadyMs } from '../../shared/base/clock.ts';

export type Timing = {
  /** It only grows, from a start that all threads of a process share. */
  nowMs(): number;
  /** As `Date.now()`. */
  timeMs(): number;
  sleep(ms: number): Promise<void>;
  /** Calls again and again. @returns what ends that. */
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
