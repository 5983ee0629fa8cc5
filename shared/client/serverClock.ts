/**
 * The clock of the exchange, as far as this machine knows it: its own clock and the difference that the exchange has
 * stated. Requests are signed with it, so that a machine whose clock is wrong still trades.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { memberOf } from '../base/memberOf.ts';
import { ApiError } from './http.ts';

const UNAUTHORIZED = 401;
/** The exchange states its time in whole seconds, and an answer takes a moment: less than this is no difference. */
const LEAST_OFFSET_MS = 2000;

export class ServerClock implements Clock {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs() + this.#offsetMs;
  }

  /** Milliseconds that the exchange's clock is ahead of this machine's; 0 until a difference is known. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** @param sentMs by this machine's clock; the answer has arrived now. @returns what the exchange is ahead now */
  measured(serverSec: number, sentMs: number): number {
    const nowMs = this.#clock.nowMs();
    // The exchange cut its time off to a second, and read it about half way: together right to about half a second.
    const offsetMs = Math.round(serverSec * 1000 + 500 - (sentMs + nowMs) / 2);
    this.#offsetMs = Math.abs(offsetMs) < LEAST_OFFSET_MS ? 0 : offsetMs;
    return offsetMs;
  }

  /**
   * @returns true if a request was refused for its time, and another one with the time that is known now may not be.
   */
  learns(error: unknown, sentMs: number): boolean {
    if (!(error instanceof ApiError) || error.status !== UNAUTHORIZED) return false;
    const serverTime = memberOf(error.details, 'server_time');
    if (memberOf(error.details, 'step') !== 'timestamp') return false;
    if (typeof serverTime !== 'number' || !Number.isSafeInteger(serverTime)) return false;
    const before = this.#offsetMs;
    this.measured(serverTime, sentMs);
    return Math.abs(this.#offsetMs - before) >= LEAST_OFFSET_MS;
  }

  /** The clock that this one is built on. */
  get ownMs(): number {
    return this.#clock.nowMs();
  }
}
