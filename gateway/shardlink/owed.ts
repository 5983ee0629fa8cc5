/**
 * Commands that a shard is owed: when they were due it was not READY or had no room, or it ended before it answered.
 *
 * Invariants:
 *   OWED-1  Owed commands are sent in order, before every later command: an order that is placed after the shard is
 *           back is not cancelled because of an earlier event.
 *   OWED-2  A shard is owed one command about a subject at a time, so what waits for a shard that stays away is
 *           bounded by the number of subjects.
 */

/** Sends a command. @returns false if it could not be sent */
type Send = () => boolean;

export class Owed {
  /** By subject, in the order of sending. */
  readonly #waiting = new Map<string, Send>();
  /** True while owed commands are written. */
  isSending = false;

  /** OWED-2. */
  add(subject: string, send: Send): void {
    this.#waiting.delete(subject);
    this.#waiting.set(subject, send);
  }

  drop(subject: string): void {
    this.#waiting.delete(subject);
  }

  /**
   * Sends as many as possible. Commands sent from here call it again, which does nothing.
   * @returns true if a later command may be sent
   */
  pay(): boolean {
    if (this.#waiting.size === 0 || this.isSending) return true;
    this.isSending = true;
    try {
      for (const [subject, send] of this.#waiting) {
        if (!send()) break;
        this.#waiting.delete(subject);
      }
    } finally {
      this.isSending = false;
    }
    return this.#waiting.size === 0;
  }
}
