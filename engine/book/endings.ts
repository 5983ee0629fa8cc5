/**
 * Markets that are being ended: each record closes a bounded number of their open orders, or pays a bounded number of
 * their holders (core/steps.ts). The markets take turns: one that has used up its turn goes to the end of the list, so
 * a market with a million holders does not delay one with ten. Owner: the shard thread.
 *
 * Invariants (walked by core/invariants.ts):
 *   ENDINGS-1  The list holds every market that is closing or settling, once, and no other.
 */
import { assert } from '../../shared/base/assert.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import type { Market } from './market.ts';

export class Endings {
  /** Dense from `#start` on; the elements before it were removed. */
  #list: Market[] = [];
  #start = 0;

  get isEmpty(): boolean {
    return this.#start === this.#list.length;
  }

  /** The market whose turn it is. */
  get first(): Market {
    assert(!this.isEmpty, 'ENDINGS-1: a market is being ended');
    return this.#list[this.#start];
  }

  add(market: Market): void {
    assert(market.isEnding, 'ENDINGS-1: only a market that is closing or settling is in the list');
    this.#list.push(market);
  }

  /** The first market has had its turn. */
  rotate(): void {
    const { first } = this;
    this.#shift();
    this.#list.push(first);
  }

  /** The market is closed or settled. Usually it is the first one. */
  remove(market: Market): void {
    assert(!market.isEnding, 'ENDINGS-1: a market leaves the list once it is done');
    if (this.first === market) {
      this.#shift();
      return;
    }
    const at = this.#list.indexOf(market, this.#start);
    assert(at >= 0, 'ENDINGS-1: a market that was being ended is in the list');
    this.#list.splice(at, 1);
  }

  /** For the digest: which markets, and whose turn it is. */
  facts(): number[] {
    return this.#list.slice(this.#start).map(({ index }) => index);
  }

  persist(io: SnapshotIo, marketAt: (index: number) => Market | undefined): void {
    const indexes = io.u32(Uint32Array.from(this.facts()));
    if (!this.isEmpty) return;
    for (const index of indexes) {
      const market = marketAt(index);
      assert(market !== undefined, 'ENDINGS-1: a market that is being ended is known');
      this.add(market);
    }
  }

  validate(markets: Iterable<Market>): void {
    const listed = new Set(this.#list.slice(this.#start));
    assert(listed.size === this.#list.length - this.#start, 'ENDINGS-1: a market is in the list once');
    for (const market of markets) {
      assert(market.isEnding === listed.has(market), 'ENDINGS-1: the list holds the markets that are being ended');
    }
  }

  #shift(): void {
    this.#start++;
    if (this.#start * 2 < this.#list.length) return;
    this.#list = this.#list.slice(this.#start);
    this.#start = 0;
  }
}
