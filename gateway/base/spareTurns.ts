/**
 * Turns of the event loop for work that can wait, such as the pieces of a long answer. While orders are on their way
 * through the shards a turn comes a millisecond after the one before, so that their replies find the thread free and
 * the shards a processor; at all other times the turns follow each other at once.
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
