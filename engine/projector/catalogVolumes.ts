/**
 * The volumes by which the catalogue lists markets and events. Each volume of a market is in two indexes in random
 * order, so it is not updated with every trade: volumes are written when the thread has nothing else to do, and
 * otherwise at intervals, a slice of the markets at a time. Owner: the projector thread.
 *
 * Invariants:
 *   CATALOGVOLUMES-1  A listed market whose volume differs from `markets` waits here. The waiting list is not stored: a
 *                     start finds it by comparing the two.
 *   CATALOGVOLUMES-2  The volume of an event is the sum of those at which its markets are listed.
 *   CATALOGVOLUMES-3  Nothing waits longer than LONGEST_WAIT_MS and a few steps.
 */
import type Database from 'better-sqlite3';

/** Lists are cached for a minute. */
const LONGEST_WAIT_MS = 30_000;
/** Markets in one transaction: a few tens of milliseconds. */
const MARKETS_PER_STEP = 2000;

export class CatalogVolumes {
  readonly #traded: Set<number>;
  readonly #ofEvent: Database.Statement<[{ market: number }]>;
  readonly #set: Database.Statement<[{ market: number }]>;
  /** Of those, the ones being listed now, the last first. */
  #listing: number[] = [];
  #startedMs = performance.now();

  constructor(db: Database.Database) {
    this.#ofEvent = db.prepare(`
      UPDATE catalog_events SET volume_micro = catalog_events.volume_micro + added.micro
      FROM (
        SELECT event, markets.volume_micro - catalog_markets.volume_micro AS micro
        FROM catalog_markets JOIN markets USING (market)
        WHERE market = @market AND facet IS NOT NULL) AS added
      WHERE catalog_events.event = added.event`);
    this.#set = db.prepare(`
      UPDATE catalog_markets SET volume_micro = (SELECT volume_micro FROM markets WHERE market = @market)
      WHERE market = @market AND facet IS NOT NULL`);
    const others = db.prepare<[], number>(`
      SELECT market FROM catalog_markets JOIN markets USING (market)
      WHERE facet IS NOT NULL AND catalog_markets.volume_micro <> markets.volume_micro`);
    this.#traded = new Set(others.pluck().all());
  }

  traded(market: number): void {
    this.#traded.add(market);
  }

  isDue(isIdle: boolean): boolean {
    if (this.#listing.length > 0) return true;
    return this.#traded.size > 0 && (isIdle || performance.now() - this.#startedMs >= LONGEST_WAIT_MS);
  }

  /** @returns true if there are more to list */
  list(): boolean {
    if (this.#listing.length === 0) {
      // In the order of the table, so that neighbours share its pages.
      this.#listing = [...this.#traded].sort((a, b) => b - a);
      this.#traded.clear();
      this.#startedMs = performance.now();
    }
    for (const market of this.#listing.splice(-MARKETS_PER_STEP)) {
      this.#ofEvent.run({ market });
      this.#set.run({ market });
    }
    return this.#listing.length > 0;
  }
}
