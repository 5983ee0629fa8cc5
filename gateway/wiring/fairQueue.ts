/**
 * The queries that wait for a thread of the pool. Accounts take turns, and so do the addresses of those without
 * credentials, so what one asks for never waits for more than one query of each other. One whose last query was slow is
 * slow for a while: they leave one thread to all others, who therefore never wait for a slow query that could be
 * foreseen. A query whose callers have all gone is not run.
 *
 * No lane has a thread for long: it may take BURST_MS at once and SHARE of a thread from then on, also where no other
 * lane asks. One that has had more rests, and its reads wait; what cancels rest on is not held up.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FAIRQUEUE-1  At most `threads` queries run, of one lane at most one, of slow lanes at most threads - 1.
 *   FAIRQUEUE-2  A lane is in the map of those that wait exactly while it has a query that waits.
 *   FAIRQUEUE-3  A query waits in the lane of everyone who waits for it, and runs once.
 *   FAIRQUEUE-4  A read starts in a lane whose reads have taken less than BURST_MS more than SHARE of the time: of
 *                the processor, so that none rests for the work of others.
 */
import { assert } from '../../shared/base/assert.ts';
import { type Asker, Askers, type Lane } from '../base/askers.ts';

/** As many as one request can ask at once: a batch of 200 keyed cancels asks for each row. */
const WAITING_PER_LANE = 256;
export const MOST_WAITING = 2048;
const SLOW_FROM_MS = 20;
const SLOW_FOR_MS = 10_000;
/** Far more than can be slow in the time for which it is remembered. */
const MAX_SLOW = 10_000;
/**
 * Of one thread: what an account or an address may take of it for as long as it likes. To write the answers takes at
 * most as much again of the gateway thread, so a tenth of a core is the bound of both (data/docs/tables.md).
 */
const SHARE = 0.05;
/** A statement of a million lines. */
const BURST_MS = 10_000;
/** Reads that wait in a lane that rests. */
const RESTING_PER_LANE = 16;
const MAX_TAKEN = 10_000;
/** Between two looks at lanes that rest. */
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
  /** First come, first served inside a lane; the lane that waits longest for its turn is first. */
  readonly #waiting = new Map<Lane, Waiting[]>();
  readonly #running = new Set<Lane>();
  /** When lanes stop being slow, the one that was slow longest ago first. */
  readonly #slowUntilMs = new Map<Lane, number>();
  readonly #paces: boolean;
  /** When a lane has paid back what its reads have taken, the one that read longest ago first. */
  readonly #paidMs = new Map<Lane, number>();
  #waking: NodeJS.Timeout | null = null;
  #waitingCount = 0;
  #slowRunning = 0;

  /** @param paces false: no lane rests, as where nothing is limited */
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
   * Runs the query in its turn. @returns null if too many wait.
   * @param query says what it took of the processor; one that does not counts by the clock
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

  /** The first lane with a query that may run now; null when there is none. */
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

  /** One timer for all lanes that rest. */
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
