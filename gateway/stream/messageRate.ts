/**
 * The messages of a connection, counted against its limit (RULES.md 8.2). A message over the limit is refused and does
 * not count, so a client that sends too fast is still served at the full rate. Owner: the gateway thread.
 *
 * Invariants:
 *   MESSAGERATE-1  At most MAX_MESSAGES_PER_SECOND are accepted within any second.
 *   MESSAGERATE-2  Answers to refused messages are bounded: at most FLOOD_MESSAGES per second.
 */
import { MAX_MESSAGES_PER_SECOND } from './limits.ts';

const SECOND_MS = 1000;
/** A connection with this many messages in every second is closed after FLOOD_SECONDS. */
const FLOOD_MESSAGES = 10 * MAX_MESSAGES_PER_SECOND;
const FLOOD_SECONDS = 10;

export class MessageRate {
  /** The times of the last accepted messages; the oldest is at the cursor. */
  readonly #acceptedMs = new Float64Array(MAX_MESSAGES_PER_SECOND).fill(Number.NEGATIVE_INFINITY);
  #cursor = 0;
  #secondMs = Number.NEGATIVE_INFINITY;
  #inSecond = 0;
  /** Consecutive seconds with a flood of messages. */
  #floodSeconds = 0;

  /** @returns 0 if the message is accepted, otherwise the milliseconds until one will be */
  count(nowMs: number): number {
    this.#countSecond(nowMs);
    const waitMs = this.#acceptedMs[this.#cursor] + SECOND_MS - nowMs;
    if (waitMs > 0) return Math.ceil(waitMs);
    this.#acceptedMs[this.#cursor] = nowMs;
    this.#cursor = (this.#cursor + 1) % MAX_MESSAGES_PER_SECOND;
    return 0;
  }

  /** MESSAGERATE-2. */
  get isAnswered(): boolean {
    return this.#inSecond <= FLOOD_MESSAGES;
  }

  /** True if the client ignores its refusals. */
  get isFlood(): boolean {
    return this.#floodSeconds >= FLOOD_SECONDS;
  }

  #countSecond(nowMs: number): void {
    const passedMs = nowMs - this.#secondMs;
    if (passedMs >= SECOND_MS) {
      const isFlooded = this.#inSecond >= FLOOD_MESSAGES && passedMs < 2 * SECOND_MS;
      this.#floodSeconds = isFlooded ? this.#floodSeconds + 1 : 0;
      this.#secondMs = nowMs;
      this.#inSecond = 0;
    }
    this.#inSecond++;
  }
}
