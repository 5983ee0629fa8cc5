/** The administrator's bearer token, compared by digest: in constant time, and without revealing its length. */
import { hash, timingSafeEqual } from 'node:crypto';

const SCHEME = 'bearer ';

export class AdminToken {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = hash('sha256', token, 'buffer');
  }

  /** `header` is the Authorization header as sent, empty when absent. */
  accepts(header: string): boolean {
    if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return false;
    return timingSafeEqual(hash('sha256', header.slice(SCHEME.length), 'buffer'), this.#digest);
  }
}
