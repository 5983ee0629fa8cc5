/** The token of the settings, compared by digest: in constant time, and without revealing its length. */
import { hash, timingSafeEqual } from 'node:crypto';

export class AdminToken {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = hash('sha256', token, 'buffer');
  }

  accepts(token: string): boolean {
    return timingSafeEqual(hash('sha256', token, 'buffer'), this.#digest);
  }
}
