/**
 * The frames that each socket has sent in this turn of the event loop. uWebSockets.js reads on from a socket that has
 * filled its buffer before it looks at any other: one that sends faster than its frames are handled would have the
 * thread for itself, and nothing that is due later, not even the end of that socket, would come.
 * Owner: the thread that has the sockets.
 */

/** More than the requests that may be in flight: a client that waits for its answers never has so many. */
export const MAX_FRAMES_PER_TURN = 2048;

export class TurnFrames {
  readonly #counts = new Map<object, number>();
  #isEndDue = false;

  /** @returns false when it is one too many. */
  admits(socket: object): boolean {
    const count = (this.#counts.get(socket) ?? 0) + 1;
    this.#counts.set(socket, count);
    if (!this.#isEndDue) {
      this.#isEndDue = true;
      setImmediate(this.#end);
    }
    return count <= MAX_FRAMES_PER_TURN;
  }

  readonly #end = (): void => {
    this.#isEndDue = false;
    this.#counts.clear();
  };
}
