/**
 * The markets of one shard, which of them the current command changed, and when time alone changes one next.
 * Owner: the shard thread.
 */
import type { Market } from './market.ts';

export class Markets {
  /** Those the current command changed, for the MARKET events. */
  readonly touched: Market[] = [];
  /** When the next market starts or closes by itself, or Infinity. */
  nextTransitionMs = Number.POSITIVE_INFINITY;
  readonly #byIndex = new Map<number, Market>();
  #commandNumber = 0;

  get(index: number): Market | undefined {
    return this.#byIndex.get(index);
  }

  add(market: Market): void {
    this.#byIndex.set(market.index, market);
  }

  /** In order of opening: the same at every replay. */
  all(): IterableIterator<Market> {
    return this.#byIndex.values();
  }

  beginCommand(): void {
    this.#commandNumber++;
    this.touched.length = 0;
  }

  /** Status, rules or collateral changed: readers are told how the market stands after the command. */
  touch(market: Market): void {
    if (market.touched === this.#commandNumber) return;
    market.touched = this.#commandNumber;
    this.touched.push(market);
  }

  /** To be called when a status or a time changed. */
  plan(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const market of this.#byIndex.values()) next = Math.min(next, market.nextTransitionMs());
    this.nextTransitionMs = next;
  }
}
