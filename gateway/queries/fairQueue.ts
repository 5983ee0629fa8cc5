/**
 * The queries of accounts that wait for a thread of the pool. Accounts take turns, so what one asks for never waits for
 * more than one query of each other account. One whose last query was slow is slow for a while: such accounts leave one
 * thread to all others, who therefore never wait for a slow query that could be foreseen.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FAIRQUEUE-1  At most `threads` queries run, of one account at most one, of slow accounts at most threads - 1.
 *   FAIRQUEUE-2  An account is in the map of those that wait exactly while it has a query that waits.
 */
import { assert } from '../../shared/base/assert.ts';

/** As many as one request can ask at once: a batch of 200 keyed cancels asks for each row. */
const WAITING_PER_ACCOUNT = 256;
const WAITING = 2048;
const SLOW_FROM_MS = 20;
const SLOW_FOR_MS = 10_000;

type Waiting = { readonly run: () => void };

export class FairQueue {
  readonly #threads: number;
  readonly #nowMs: () => number;
  /** First come, first served inside an account; the account that waits longest for its turn is first. */
  readonly #waiting = new Map<number, Waiting[]>();
  readonly #running = new Set<number>();
  /** When accounts stop being slow. */
  readonly #slowUntilMs = new Map<number, number>();
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
  run<T>(account: number, query: () => Promise<T>): Promise<T> | null {
    const ofAccount = this.#waiting.get(account) ?? [];
    if (ofAccount.length >= WAITING_PER_ACCOUNT || this.#waitingCount >= WAITING) return null;
    return new Promise<T>((resolve, reject) => {
      ofAccount.push({ run: () => void this.#run(account, query).then(resolve, reject) });
      this.#waiting.set(account, ofAccount);
      this.#waitingCount++;
      this.#start();
    });
  }

  /** Starts as many queries as may run. */
  #start(): void {
    while (this.#running.size < this.#threads) {
      const account = this.#next();
      if (account === null) return;
      const ofAccount = this.#waiting.get(account)!;
      const next = ofAccount.shift()!;
      this.#waitingCount--;
      if (ofAccount.length === 0) this.#waiting.delete(account);
      next.run();
    }
  }

  /** The first account whose query may run now; null when there is none. */
  #next(): number | null {
    for (const account of this.#waiting.keys()) {
      const mayRun = !this.#isSlow(account) || this.#slowRunning < this.#threads - 1;
      if (mayRun && !this.#running.has(account)) return account;
    }
    return null;
  }

  async #run<T>(account: number, query: () => Promise<T>): Promise<T> {
    const isSlow = this.#isSlow(account);
    const startedMs = this.#nowMs();
    this.#running.add(account);
    if (isSlow) this.#slowRunning++;
    try {
      return await query();
    } finally {
      const nowMs = this.#nowMs();
      if (nowMs - startedMs >= SLOW_FROM_MS) this.#slowUntilMs.set(account, nowMs + SLOW_FOR_MS);
      if (isSlow) this.#slowRunning--;
      this.#running.delete(account);
      this.#toEnd(account);
      this.#start();
    }
  }

  /** The account has had its turn. */
  #toEnd(account: number): void {
    const ofAccount = this.#waiting.get(account);
    if (ofAccount === undefined) return;
    this.#waiting.delete(account);
    this.#waiting.set(account, ofAccount);
  }

  #isSlow(account: number): boolean {
    const untilMs = this.#slowUntilMs.get(account);
    if (untilMs === undefined) return false;
    if (this.#nowMs() < untilMs) return true;
    this.#slowUntilMs.delete(account);
    return false;
  }
}
