/**
 * Records threads that have ended without having been asked to. Each end is counted in `exchange_thread_ends_total`. A
 * lasting cause, such as a full disk, ends a thread again soon after each start: it is logged at once, and then once a
 * minute with the number of times.
 * Owner: the gateway thread; a process has one of these.
 */
import type { Logger } from './log.ts';

const SAY_EVERY_MS = 60_000;
const NUMBERS = /\d+/g;

type Cause = { saidMs: number; unsaid: number };

export class ThreadEnds {
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  /** By thread and error. Numbers in an error, such as a sequence number, make no difference. */
  readonly #causes = new Map<string, Cause>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** By the name of the thread. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The thread exists: its metric begins with 0. */
  expect(thread: string): void {
    if (!this.#counts.has(thread)) this.#counts.set(thread, 0);
  }

  /** @param then what happens next, for the log */
  note(
    log: Pick<Logger, 'error'>,
    thread: string,
    error: Error,
    then = 'it is started again',
    facts: object = {},
  ): void {
    this.#counts.set(thread, (this.#counts.get(thread) ?? 0) + 1);
    const nowMs = this.#nowMs();
    const key = `${thread}: ${String(error).replace(NUMBERS, '#')}`;
    const cause = this.#causes.get(key) ?? { saidMs: Number.NEGATIVE_INFINITY, unsaid: 0 };
    cause.unsaid++;
    this.#causes.set(key, cause);
    if (nowMs - cause.saidMs < SAY_EVERY_MS) return;
    const times = cause.unsaid === 1 ? {} : { times: cause.unsaid };
    log.error({ err: error, ...facts, ...times }, `the ${thread} thread ended; ${then}`);
    Object.assign(cause, { saidMs: nowMs, unsaid: 0 });
    this.#forget(nowMs);
  }

  /** Forgets causes that are over. */
  #forget(nowMs: number): void {
    for (const [key, { saidMs, unsaid }] of this.#causes) {
      if (unsaid === 0 && nowMs - saidMs >= SAY_EVERY_MS) this.#causes.delete(key);
    }
  }
}

export const threadEnds = new ThreadEnds();
