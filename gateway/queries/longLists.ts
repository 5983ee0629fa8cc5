/**
 * Lists that are longer than what is counted. A list without filters only grows, so that it is long has to be found out
 * once. One object for each kind of list; runs in a thread of the query pool.
 */
import { MAX_COUNTED } from './page.ts';

/** A few bytes each; afterwards they are found out again. */
const MOST_ACCOUNTS = 100_000;

export class LongLists {
  readonly #accounts = new Set<number>();

  /**
   * At most MAX_COUNTED + 1.
   * @param isWhole the list has no filters
   */
  counted(account: number, isWhole: boolean, count: () => number): number {
    if (isWhole && this.#accounts.has(account)) return MAX_COUNTED + 1;
    const counted = count();
    if (isWhole && counted > MAX_COUNTED) {
      if (this.#accounts.size >= MOST_ACCOUNTS) this.#accounts.clear();
      this.#accounts.add(account);
    }
    return counted;
  }
}
