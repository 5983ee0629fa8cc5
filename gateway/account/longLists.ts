/**
 * Lists that are longer than what is counted. That a list is long has to be found out once, if it only grows: trades
 * and movements of funds stay, and so do orders that are closed. One object for each kind of list; runs in a thread of
 * the query pool.
 */
import { MAX_COUNTED } from '../base/page.ts';

/** About a hundred bytes each; afterwards they are found out again. */
const MOST_LISTS = 20_000;

export class LongLists {
  readonly #lists = new Set<string>();

  /**
   * At most MAX_COUNTED + 1.
   * @param list an account and the filters of a list that only grows; null for one that may get shorter
   */
  counted(list: string | null, count: () => number): number {
    if (list !== null && this.#lists.has(list)) return MAX_COUNTED + 1;
    const counted = count();
    if (list !== null && counted > MAX_COUNTED) {
      if (this.#lists.size >= MOST_LISTS) this.#lists.clear();
      this.#lists.add(list);
    }
    return counted;
  }
}
