/**
 * The token of the settings, compared by digest: in constant time, and without revealing its length.
 * Owner: the gateway thread.
 */
import { hash, timingSafeEqual } from 'node:crypto';

export class AdminToken {
  #digest: Buffer;

  constructor(token: string) {
    this.#digest = digestOf(token);
  }

  /** From now on this token is accepted, and the one before is not. @returns false if it is the same. */
  replace(token: string): boolean {
    if (this.accepts(token)) return false;
    this.#digest = digestOf(token);
    return true;
  }

  accepts(token: string): boolean {
    return timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
