/**
 * A bound on what each sender has handled in a turn of the event loop: the frames of a socket, or the requests of all
 * connections together. uWebSockets.js reads on from a connection that has filled its buffer before it looks at any
 * other: one that sends faster than it is served would have the thread for itself, and nothing that is due later, not
 * even the end of that connection, would come.
 * Owner: the thread that has the connections.
 */

/** More than the requests that may be in flight on a socket: a client that waits for answers never has so many. */
export const MOST_PER_TURN = 2048;

/** Looking for the end of a turn costs the loop another round, so it is done once for so many. */
const LOOK_EVERY = 64;

export class TurnLimit {
  /** In this turn, and fewer than `LOOK_EVERY` in turns before it. */
  readonly #counts = new Map<object, number>();
  #all = 0;

  /** @returns false when it is one too many. */
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
