/**
 * The queue of queries that wait for a thread of the pool. Accounts take turns, and so do the addresses of callers
 * without credentials, so a query never waits for more than one query of each other lane. A lane whose last query was
 * slow counts as slow for a while. Slow lanes leave one thread to all others, whose queries therefore never wait for a
 * query that was expected to be slow. A query whose callers have all gone is not run.
 *
 * No lane has a thread for long: it may use BURST_MS at once and after that the SHARE of a thread, even if no other
 * lane asks. A lane that has used more rests, and its reads wait; queries that cancels depend on are not delayed.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FAIRQUEUE-1  At most `threads` queries run: at most one per lane, and at most threads - 1 of slow lanes.
 *   FAIRQUEUE-2  A lane is in the map of waiting lanes exactly while it has a waiting query.
 *   FAIRQUEUE-3  A query waits in the lane of everyone who waits for it, and runs once.
 *   FAIRQUEUE-4  A read starts only in a lane whose reads have used less than BURST_MS more than their SHARE of the
 *                time. This counts processor time, so that no lane rests because of the work of others.
 */
import { assert } from '../../shared/base/assert.ts';
import { type Asker, Askers, type Lane } from '../base/askers.ts';

/** As many queries as one request can make at once: a batch of 200 keyed cancels looks up each row. */
const WAITING_PER_LANE = 256;
export const MOST_WAITING = 2048;
const SLOW_FROM_MS = 20;
const SLOW_FOR_MS = 10_000;
/** Far more lanes than can become slow while slowness is remembered. */
const MAX_SLOW = 10_000;
/**
 * The share of one thread that an account or an address may use for as long as it likes. Writing the answers takes at
 * most as much of the gateway thread again, so both together are bounded by a tenth of a core (data/docs/tables.md).
 */
const SHARE = 0.05;
/** As much as a statement of a million lines takes. */
const BURST_MS = 10_000;
/** The most reads that wait in a resting lane. */
const RESTING_PER_LANE = 16;
const MAX_TAKEN = 10_000;
/** Time between two checks of the resting lanes. */
const LOOKS_MS = 100;

/** The result of a query whose callers have gone. */
export const NOT_RUN = Symbol('not run');

type Query<T> = (took: (ms: number) => void) => Promise<T>;

type Waiting = {
  readonly askers: Askers;
  readonly isRead: boolean;
  readonly run: (lane: Lane) => void;
  readonly drop: () => void;
  readonly join: (lane: Lane) => void;
};

export class FairQueue {
  readonly #threads: number;
  readonly #nowMs: () => number;
  /** A lane's queries run in order of arrival; the lane that has waited longest for its turn is first. */
  readonly #waiting = new Map<Lane, Waiting[]>();
  readonly #running = new Set<Lane>();
  /** When each lane stops being slow; the lane that was slow longest ago is first. */
  readonly #slowUntilMs = new Map<Lane, number>();
  readonly #paces: boolean;
  /** When each lane has paid back what its reads have used; the lane that read longest ago is first. */
  readonly #paidMs = new Map<Lane, number>();
  #waking: NodeJS.Timeout | null = null;
  #waitingCount = 0;
  #slowRunning = 0;

  /** @param paces false: no lane rests, for a server without limits */
  constructor(threads: number, nowMs: () => number = () => performance.now(), paces = true) {
    assert(threads >= 2, 'FAIRQUEUE-1: slow queries leave a thread to the others');
    this.#threads = threads;
    this.#nowMs = nowMs;
    this.#paces = paces;
  }

  /** Queries that wait for their turn. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Runs the query in its turn.
   * @returns null if too many wait.
   * @param query reports the processor time that it took; if it does not, its time by the clock counts
   * @param isRead false: a part of a change, such as a cancel
   */
  run<T>(asker: Asker, query: Query<T>, isRead = true): Promise<T | typeof NOT_RUN> | null {
    const ofLane = this.#waiting.get(asker.lane)?.length ?? 0;
    const most = isRead && this.#rests(asker.lane) ? RESTING_PER_LANE : WAITING_PER_LANE;
    if (ofLane >= most || this.#waitingCount >= MOST_WAITING) return null;
    const askers = Askers.of(asker);
    return new Promise<T | typeof NOT_RUN>((resolve, reject) => {
      const waiting: Waiting = {
        askers,
        isRead,
        run: (lane) => void this.#run(lane, query, isRead).then(resolve, reject),
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
      const found = this.#next();
      if (found === null) return;
      const { lane, next } = found;
      this.#leave(next);
      if (next.askers.isGone) next.drop();
      else next.run(lane);
    }
  }

  /** Removes the query from every lane in which it waits. */
  #leave(waiting: Waiting): void {
    this.#waitingCount--;
    waiting.askers.waiting.delete(waiting.join);
    for (const lane of waiting.askers.lanes) {
      const ofLane = this.#waiting.get(lane)!;
      ofLane.splice(ofLane.indexOf(waiting), 1);
      if (ofLane.length === 0) this.#waiting.delete(lane);
    }
  }

  /** Returns the first lane with a query that may run now; null if there is none. */
  #next(): { readonly lane: Lane; readonly next: Waiting } | null {
    for (const [lane, ofLane] of this.#waiting) {
      const mayRun = !this.#isSlow(lane) || this.#slowRunning < this.#threads - 1;
      if (!mayRun || this.#running.has(lane)) continue;
      const next = this.#rests(lane) ? ofLane.find(({ isRead, askers }) => !isRead || askers.isGone) : ofLane[0];
      if (next !== undefined) return { lane, next };
      this.#wakeLater(lane);
    }
    return null;
  }

  /** FAIRQUEUE-4 */
  #rests(lane: Lane): boolean {
    return this.#restMs(lane) > 0;
  }

  #restMs(lane: Lane): number {
    return (this.#paidMs.get(lane) ?? 0) - this.#nowMs() - BURST_MS / SHARE;
  }

  /** Sets one timer for all resting lanes. */
  #wakeLater(lane: Lane): void {
    this.#waking ??= setTimeout(
      () => {
        this.#waking = null;
        this.#start();
      },
      Math.min(this.#restMs(lane), LOOKS_MS),
    ).unref();
  }

  #noteTaken(lane: Lane, tookMs: number): void {
    const paidMs = Math.max(this.#paidMs.get(lane) ?? 0, this.#nowMs()) + tookMs / SHARE;
    this.#paidMs.delete(lane);
    if (this.#paidMs.size === MAX_TAKEN) this.#paidMs.delete(this.#paidMs.keys().next().value!);
    this.#paidMs.set(lane, paidMs);
  }

  async #run<T>(lane: Lane, query: Query<T>, isRead: boolean): Promise<T> {
    const isSlow = this.#isSlow(lane);
    const startedMs = this.#nowMs();
    this.#running.add(lane);
    if (isSlow) this.#slowRunning++;
    let tookMs: number | null = null;
    try {
      return await query((ms) => {
        tookMs = ms;
      });
    } finally {
      const nowMs = this.#nowMs();
      if (nowMs - startedMs >= SLOW_FROM_MS) this.#noteSlow(lane, nowMs);
      if (isRead && this.#paces) this.#noteTaken(lane, tookMs ?? nowMs - startedMs);
      if (isSlow) this.#slowRunning--;
      this.#running.delete(lane);
      this.#toEnd(lane);
      this.#start();
    }
  }

  /** Moves a lane that has had its turn to the end. */
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
