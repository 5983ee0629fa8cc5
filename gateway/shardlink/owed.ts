/**
 * Commands that a shard is owed: when they were due it was not READY or had no room, or it ended before it answered.
 *
 * Invariant:
 *   OWED-1  Owed commands are sent in order, before every later command: an order that is placed after the shard is
 *           back is not cancelled because of an earlier event.
 */

/** Sends a command. @returns false if it could not be sent */
type Send = () => boolean;

export class Owed {
  readonly #waiting: Send[] = [];
  #isSending = false;

  add(send: Send): void {
    this.#waiting.push(send);
  }

  /**
   * Sends as many as possible. Commands sent from here call it again, which does nothing.
   * @returns true if a later command may be sent
   */
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
