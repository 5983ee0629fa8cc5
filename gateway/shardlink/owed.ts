/**
 * Commands that a shard is owed: it was not READY or had no room when they were due, or ended before it answered.
 *
 * Invariant:
 *   OWED-1  What a shard is owed is sent before every command that comes later, in the order in which it came: an order
 *           that is placed once the shard is back is not cancelled for what happened before it.
 */

/** Sends a command. @returns false where it could not be sent. */
type Send = () => boolean;

export class Owed {
  readonly #waiting: Send[] = [];
  #isSending = false;

  add(send: Send): void {
    this.#waiting.push(send);
  }

  /** Sends what it can. What it sends calls this again, and passes. @returns whether a later command may be sent */
  pay(): boolean {
    if (this.#waiting.length === 0 || this.#isSending) return true;
    this.#isSending = true;
    try {
      const left = this.#waiting.findIndex((send) => !send());
      this.#waiting.splice(0, left < 0 ? this.#waiting.length : left);
    } finally {
      this.#isSending = false;
    }
    return this.#waiting.length === 0;
  }
}
