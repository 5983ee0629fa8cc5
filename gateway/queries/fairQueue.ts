/**
 * The queries that wait for a thread of the pool. Accounts take turns, and so do the addresses of those without
 * credentials, so what one asks for never waits for more than one query of each other. One whose last query was slow is
 * slow for a while: they leave one thread to all others, who therefore never wait for a slow query that could be
 * foreseen. A query whose callers have all gone is not run.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FAIRQUEUE-1  At most `threads` queries run, of one lane at most one, of slow lanes at most threads - 1.
 *   FAIRQUEUE-2  A lane is in the map of those that wait exactly while it has a query that waits.
 *   FAIRQUEUE-3  A query waits in the lane of everyone who waits for it, and runs once.
 */
import { assert } from '../../shared/base/assert.ts';
import { type Asker, Askers, type Lane } from './askers.ts';

/** As many as one request can ask at once: a batch of 200 keyed cancels asks for each row. */
const WAITING_PER_LANE = 256;
export const MOST_WAITING = 2048;
const SLOW_FROM_MS = 20;
const SLOW_FOR_MS = 10_000;
/** Far more than can be slow in the time for which it is remembered. */
const MAX_SLOW = 10_000;

/** The result of a query whose callers have gone. */
export const NOT_RUN = Symbol('not run');

type Waiting = {
  readonly askers: Askers;
  readonly run: (lane: Lane) => void;
  readonly drop: () => void;
  readonly join: (lane: Lane) => void;
};

export class FairQueue {
  readonly #threads: number;
  readonly #nowMs: () => number;
  /** First come, first served inside a lane; the lane that waits longest for its turn is first. */
  readonly #waiting = new Map<Lane, Waiting[]>();
  readonly #running = new Set<Lane>();
  /** When lanes stop being slow, the one that was slow longest ago first. */
  readonly #slowUntilMs = new Map<Lane, number>();
  #waitingCount = 0;
  #slowRunning = 0;

  constructor(threads: number, nowMs: () => number = () => performance.now()) {
    assert(threads >= 2, 'FAIRQUEUE-1: slow queries leave a thread to the others');
    this.#threads = threads;
    this.#nowMs = nowMs;
  }

  /** Queries that wait for their turn. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /** Runs the query in its turn. @returns null if too many wait. */
  run<T>(asker: Asker, query: () => Promise<T>): Promise<T | typeof NOT_RUN> | null {
    const ofLane = this.#waiting.get(asker.lane)?.length ?? 0;
    if (ofLane >= WAITING_PER_LANE || this.#waitingCount >= MOST_WAITING) return null;
    const askers = Askers.of(asker);
    return new Promise<T | typeof NOT_RUN>((resolve, reject) => {
      const waiting: Waiting = {
        askers,
        run: (lane) => void this.#run(lane, query).then(resolve, reject),
        drop: () => resolve(NOT_RUN),
        join: (lane) => {
          this.#enter(lane, waiting);
          this.#start();
        },
      };
      this.#waitingCount++;
      askers.waiting.add(waiting.join);
      for (const lane of askers.lanes) this.#enter(lane, waiting);
      this.#start();
    });
  }

  #enter(lane: Lane, waiting: Waiting): void {
    const ofLane = this.#waiting.get(lane);
    if (ofLane === undefined) this.#waiting.set(lane, [waiting]);
    else ofLane.push(waiting);
  }

  /** Starts as many queries as may run. */
  #start(): void {
    while (this.#running.size < this.#threads) {
      const lane = this.#next();
      if (lane === null) return;
      const next = this.#waiting.get(lane)![0];
      this.#leave(next);
      if (next.askers.isGone) next.drop();
      else next.run(lane);
    }
  }

  /** The query waits no more, in any lane. */
  #leave(waiting: Waiting): void {
    this.#waitingCount--;
    waiting.askers.waiting.delete(waiting.join);
    for (const lane of waiting.askers.lanes) {
      const ofLane = this.#waiting.get(lane)!;
      ofLane.splice(ofLane.indexOf(waiting), 1);
      if (ofLane.length === 0) this.#waiting.delete(lane);
    }
  }

  /** The first lane whose query may run now; null when there is none. */
  #next(): Lane | null {
    for (const lane of this.#waiting.keys()) {
      const mayRun = !this.#isSlow(lane) || this.#slowRunning < this.#threads - 1;
      if (mayRun && !this.#running.has(lane)) return lane;
    }
    return null;
  }

  async #run<T>(lane: Lane, query: () => Promise<T>): Promise<T> {
    const isSlow = this.#isSlow(lane);
    const startedMs = this.#nowMs();
    this.#running.add(lane);
    if (isSlow) this.#slowRunning++;
    try {
      return await query();
    } finally {
      const nowMs = this.#nowMs();
      if (nowMs - startedMs >= SLOW_FROM_MS) this.#noteSlow(lane, nowMs);
      if (isSlow) this.#slowRunning--;
      this.#running.delete(lane);
      this.#toEnd(lane);
      this.#start();
    }
  }

  /** The lane has had its turn. */
  #toEnd(lane: Lane): void {
    const ofLane = this.#waiting.get(lane);
    if (ofLane === undefined) return;
    this.#waiting.delete(lane);
    this.#waiting.set(lane, ofLane);
  }

  #noteSlow(lane: Lane, nowMs: number): void {
    this.#slowUntilMs.delete(lane);
    if (this.#slowUntilMs.size === MAX_SLOW) this.#slowUntilMs.delete(this.#slowUntilMs.keys().next().value!);
    this.#slowUntilMs.set(lane, nowMs + SLOW_FOR_MS);
  }

  #isSlow(lane: Lane): boolean {
    const untilMs = this.#slowUntilMs.get(lane);
    if (untilMs === undefined) return false;
    if (this.#nowMs() < untilMs) return true;
    this.#slowUntilMs.delete(lane);
    return false;
  }
}
