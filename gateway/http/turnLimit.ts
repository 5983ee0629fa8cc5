/**
 * Limits how much of one sender is handled in a turn of the event loop: frames of one socket, or requests of all
 * connections together. uWebSockets.js keeps reading from a connection that has filled its buffer before it reads from
 * any other. A client that sends faster than it is served would block the thread, and nothing due later, not even the
 * end of that connection, would happen.
 * Owner: the thread that serves the connections.
 */

/** More than the requests that may be in flight on a socket: a client that waits for answers never has this many. */
export const MOST_PER_TURN = 2048;

/** Detecting the end of a turn costs the loop another round, so it is done once for this many. */
const LOOK_EVERY = 64;

export class TurnLimit {
  /** Counts of this turn, plus fewer than `LOOK_EVERY` of earlier turns. */
  readonly #counts = new Map<object, number>();
  #all = 0;

  /** @returns false if the limit is exceeded. */
  admits(sender: object): boolean {
    const count = (this.#counts.get(sender) ?? 0) + 1;
    this.#counts.set(sender, count);
    if (++this.#all === LOOK_EVERY) setImmediate(this.#end);
    return count <= MOST_PER_TURN;
  }

  readonly #end = (): void => {
    this.#all = 0;
    this.#counts.clear();
  };
}
