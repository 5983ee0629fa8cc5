/**
 * Gives turns of the event loop to work that can wait, such as the pieces of a long answer. While orders are in flight
 * in the shards, turns are a millisecond apart, so that replies find the thread free and shards find a processor; at
 * other times turns follow each other at once.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SPARETURN-1  At most one turn is due.
 */
const ORDERS_FIRST_MS = 1;

export class SpareTurns {
  readonly #turn: () => void;
  readonly #areOrdersUnderway: () => boolean;
  #isDue = false;

  constructor(turn: () => void, areOrdersUnderway: () => boolean) {
    this.#turn = turn;
    this.#areOrdersUnderway = areOrdersUnderway;
  }

  /** SPARETURN-1. */
  request(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (this.#areOrdersUnderway()) setTimeout(this.#run, ORDERS_FIRST_MS);
    else setImmediate(this.#run);
  }

  readonly #run = (): void => {
    this.#isDue = false;
    this.#turn();
  };
}
