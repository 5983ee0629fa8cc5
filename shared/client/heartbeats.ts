/**
 * Heartbeats of a dead man's switch (RULES.md 7.8): while they arrive, the exchange keeps the account's orders; if they
 * stop, because the program or its connection has died, it cancels the orders within 15 seconds.
 *
 * Invariants:
 *   HEARTBEATS-1  At most one beat is under way, and none begins within a second of the one before.
 *   HEARTBEATS-2  After `close` no beat begins. The switch stays armed: orders that are open 15 seconds after the last
 *                 beat are cancelled.
 */
import { isRefusal } from './answers.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';

export type HeartbeatOptions = {
  /** Time from the answer to one beat until the next beat: 1 to 10 seconds, by default 5. */
  readonly everyMs?: number;
  /**
   * Called once if no beat has succeeded for 15 seconds, or none can any more: the orders are or will be cancelled.
   * Unless `isOver`, beats continue and arm the switch again.
   */
  readonly onLapse?: (error: unknown, isOver: boolean) => void;
};

const EVERY_MS = 5000;
const LEAST_MS = 1000;
const MOST_MS = 10_000;
const WINDOW_MS = 15_000;
const FINAL_STATUSES: readonly number[] = [401, 403];

export class Heartbeats {
  readonly #beat: () => Promise<unknown>;
  readonly #everyMs: number;
  readonly #onLapse: (error: unknown, isOver: boolean) => void;
  #lastMs = 0;
  #hasLapsed = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  private constructor(beat: () => Promise<unknown>, { everyMs = EVERY_MS, onLapse = () => {} }: HeartbeatOptions) {
    if (!(everyMs >= LEAST_MS && everyMs <= MOST_MS)) {
      throw new RangeError(`everyMs ${everyMs} is not between ${LEAST_MS} and ${MOST_MS}`);
    }
    this.#beat = beat;
    this.#everyMs = everyMs;
    this.#onLapse = onLapse;
  }

  /** Resolves once the switch is armed; rejects if the first beat fails. */
  static async start(beat: () => Promise<unknown>, options: HeartbeatOptions = {}): Promise<Heartbeats> {
    const heartbeats = new Heartbeats(beat, options);
    await beat();
    heartbeats.#succeeded();
    return heartbeats;
  }

  /** False if beats have failed for longer than the exchange waits, and after the end. */
  get isArmed(): boolean {
    return !this.#isClosed && !this.#hasLapsed;
  }

  [INSPECT](...inspecting: Inspecting): string {
    return shown('Heartbeats', { isArmed: this.isArmed }, inspecting);
  }

  /** HEARTBEATS-2. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #succeeded(): void {
    this.#lastMs = performance.now();
    this.#hasLapsed = false;
    this.#next(this.#everyMs);
  }

  #failed(error: unknown): void {
    if (isRefusal(error) && FINAL_STATUSES.includes(error.status)) {
      this.close();
      this.#onLapse(error, true);
      return;
    }
    this.#next(LEAST_MS);
    if (this.#hasLapsed || performance.now() - this.#lastMs < WINDOW_MS) return;
    this.#hasLapsed = true;
    this.#onLapse(error, false);
  }

  /** The timer does not keep a process alive: a program that has ended no longer watches its orders. */
  #next(ms: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#beat().then(
        () => this.#succeeded(),
        (error) => this.#failed(error),
      );
    }, ms);
    (this.#timer as { unref?: () => void }).unref?.();
  }
}
