/** Indexes the markets of each series that belong to no event. Owner: the gateway thread. */
import type { MarketEntry } from './catalogEntries.ts';

export class SeriesIndex {
  /** Each list in the order of creation. */
  readonly #bySeries = new Map<string, MarketEntry[]>();

  /** In the order of creation. */
  markets(series: string): readonly MarketEntry[] {
    return this.#bySeries.get(series) ?? [];
  }

  join(market: MarketEntry): void {
    const series = market.details.series_ticker;
    if (series === undefined) return;
    const known = this.#bySeries.get(series);
    if (known === undefined) {
      this.#bySeries.set(series, [market]);
      return;
    }
    const last = known.at(-1)!;
    known.push(market);
    if (last.index > market.index) known.sort((a, b) => a.index - b.index);
  }

  /** Called while the market still has the description with which it joined. */
  leave(market: MarketEntry): void {
    const series = market.details.series_ticker;
    const known = series === undefined ? undefined : this.#bySeries.get(series);
    if (known === undefined) return;
    known.splice(known.indexOf(market), 1);
    if (known.length === 0) this.#bySeries.delete(series!);
  }
}
