/**
 * Records how far the clocks of clients are ahead of this machine's: of each account, the last request of the past
 * minute or two with a valid signature. Metrics show the median, so that no account counts more than another, however
 * much it sends.
 * Owner: the gateway thread.
 */

/** The most accounts recorded in a minute; more would not move the median. */
const MOST_ACCOUNTS = 1000;
/** Timestamps are whole seconds: on average they are half a second old when they are written. */
const ROUNDED_SEC = 0.5;

export class ClientOffsets {
  #current = new Map<number, number>();
  #before = new Map<number, number>();

  note(account: number, aheadSec: number): void {
    if (this.#current.size < MOST_ACCOUNTS || this.#current.has(account)) this.#current.set(account, aheadSec);
  }

  /** Starts a new minute. Called once a minute. */
  turn(): void {
    this.#before = this.#current;
    this.#current = new Map();
  }

  /** The number of accounts that have sent a request. */
  get accounts(): number {
    return this.#all().size;
  }

  /** The median. Null if no account has sent a request. */
  get middleSec(): number | null {
    const sorted = [...this.#all().values()].sort((a, b) => a - b);
    if (sorted.length === 0) return null;
    return sorted[(sorted.length - 1) >> 1] + ROUNDED_SEC;
  }

  #all(): Map<number, number> {
    return new Map([...this.#before, ...this.#current]);
  }
}
