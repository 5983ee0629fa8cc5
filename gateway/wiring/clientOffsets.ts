/**
 * Keeps by how much the clocks of clients are ahead of this one, each account with its last request of the past minute
 * or two whose signature was valid. Metrics show the middle of them, so that no account says more than another,
 * whatever it sends.
 * Owner: the gateway thread.
 */

/** Accounts of a minute; more of them would not move the middle. */
const MOST_ACCOUNTS = 1000;
/** Timestamps are whole seconds: on average they are half a second old when they are made. */
const ROUNDED_SEC = 0.5;

export class ClientOffsets {
  #current = new Map<number, number>();
  #before = new Map<number, number>();

  note(account: number, aheadSec: number): void {
    if (this.#current.size < MOST_ACCOUNTS || this.#current.has(account)) this.#current.set(account, aheadSec);
  }

  /** Called once a minute. */
  turn(): void {
    this.#before = this.#current;
    this.#current = new Map();
  }

  /** The accounts that have sent something. */
  get accounts(): number {
    return this.#all().size;
  }

  /** Null while none has. */
  get middleSec(): number | null {
    const sorted = [...this.#all().values()].sort((a, b) => a - b);
    if (sorted.length === 0) return null;
    return sorted[(sorted.length - 1) >> 1] + ROUNDED_SEC;
  }

  #all(): Map<number, number> {
    return new Map([...this.#before, ...this.#current]);
  }
}
