/**
 * Remembers lists that are longer than the limit of counting. For a list that only grows (trades, movements of funds,
 * closed orders), this has to be found out only once. One object for each kind of list; runs in a thread of the query
 * pool.
 */
import { MAX_COUNTED } from '../base/page.ts';

/** About a hundred bytes each; beyond this number, lists are counted again. */
const MOST_LISTS = 20_000;

export class LongLists {
  readonly #lists = new Set<string>();

  /**
   * At most MAX_COUNTED + 1.
   * @param list an account and the filters of a list that only grows; null if the list may shrink
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
