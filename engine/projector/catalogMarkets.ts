/**
 * Projection of the catalogue's markets: a row for each market in control.db; it is listed once the journals show that
 * its shard has opened it (shared/tables/catalogMarkets.ts). The two sources are followed independently, so either may
 * know a market first. Owner: the projector thread.
 *
 * Invariants:
 *   CATALOGROWS-1  A row has a facet exactly when `markets` has its index with its UUID. Its status and times are then
 *                  those in `markets` after every `refresh`; its volume follows later (catalogVolumes.ts).
 *   CATALOGROWS-2  market_counts has the number of rows of each facet, by category and in all of them.
 *   CATALOGROWS-3  market_search has the words of exactly the markets that have a row.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { DEPLOY_STATUS_NAMES, MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import { foldToSearch } from '../../shared/base/folding.ts';
import {
  ALL_CATEGORIES,
  CATALOG_MARKETS,
  deployStatusOfFacet,
  FACET_SQL,
  MARKET_COUNTS,
  statusOfFacet,
} from '../../shared/tables/catalogMarkets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import type { CatalogMarket } from '../../shared/wire/catalogPage.ts';
import { Counts } from './catalogCounts.ts';

const COUNTED = select(CATALOG_MARKETS, 'category', 'facet', 'event', 'title', 'outcomes');
type Counted = SelectedBy<typeof COUNTED>;
type Written = Omit<CatalogMarket, 'description' | 'outcomes'> & { readonly outcomes: string };

const STATUS_NAMES = MARKET_STATUS_NAMES.map((name, code) => `WHEN ${code} THEN '${name}'`).join(' ');
const STATUS_NAME = `CASE m.status ${STATUS_NAMES} END`;

for (const [status, name] of MARKET_STATUS_NAMES.entries()) {
  const facet = (status << 3) | (DEPLOY_STATUS_NAMES.length - 1);
  assert(statusOfFacet(facet) === name, 'catalog markets: a facet has its status');
  assert(deployStatusOfFacet(facet) === DEPLOY_STATUS_NAMES.at(-1), 'catalog markets: a facet has its deploy status');
}

/** Follows the changes of markets that belong to an event: how many it lists, and their names. */
type EventChanges = { marketsChanged(event: number): void; namesChanged(event: number): void };

export class CatalogMarkets {
  readonly #events: EventChanges;
  readonly #counts: Counts;
  readonly #counted: Database.Statement<[number], Counted>;
  readonly #write: Database.Statement<[Written]>;
  readonly #list: Database.Statement<[{ market: number }]>;
  readonly #addWords: Database.Statement<[number, string, string]>;
  readonly #beyond: Database.Statement<[number], number>;
  readonly #remove: Database.Statement<[number]>;
  readonly #forget: Database.Statement<[number]>;

  constructor(db: Database.Database, events: EventChanges) {
    this.#events = events;
    this.#counts = new Counts(db, MARKET_COUNTS);
    this.#counted = db.prepare(`SELECT ${COUNTED.sql} FROM catalog_markets WHERE market = ?`);
    this.#write = db.prepare<[Written]>(`
      INSERT INTO catalog_markets (market, uuid, event, title, outcomes, category, deploy_status, updated_ms)
      VALUES (@index, @uuid, @event, @title, @outcomes, @category, @deployStatus, @updatedMs)
      ON CONFLICT DO UPDATE SET uuid = excluded.uuid, event = excluded.event, title = excluded.title,
        outcomes = excluded.outcomes, category = excluded.category, deploy_status = excluded.deploy_status,
        updated_ms = excluded.updated_ms`);
    this.#list = db.prepare(`
      UPDATE catalog_markets SET (facet, status, start_ms, end_ms, volume_micro) = (
        SELECT ${FACET_SQL('m.status', 'deploy_status')}, ${STATUS_NAME}, m.start_ms, m.end_ms, m.volume_micro
        FROM markets AS m WHERE m.market = @market AND m.uuid = catalog_markets.uuid)
      WHERE market = @market`);
    this.#addWords = db.prepare('INSERT INTO market_search (rowid, title, description) VALUES (?, ?, ?)');
    this.#beyond = db.prepare<[number], number>('SELECT market FROM catalog_markets WHERE market >= ?').pluck();
    this.#remove = db.prepare('DELETE FROM catalog_markets WHERE market = ?');
    this.#forget = db.prepare('DELETE FROM market_search WHERE rowid = ?');
  }

  /** Takes the catalogue's description of a market. */
  describe({ description, ...given }: CatalogMarket): void {
    const market = { ...given, outcomes: given.outcomes.filter(isName).join('\n') };
    const before = this.#counted.get(market.index);
    this.#write.run(market);
    if (before !== undefined) this.#forget.run(market.index);
    this.#addWords.run(market.index, foldToSearch(`${market.title}\n${market.outcomes}`), foldToSearch(description));
    this.#list.run({ market: market.index });
    this.#move(before, this.#counted.get(market.index));
  }

  /** The shard of the market has changed its status or its times, or has opened it. */
  refresh(market: number): void {
    const before = this.#counted.get(market);
    if (before === undefined) return;
    this.#list.run({ market });
    this.#move(before, this.#counted.get(market));
  }

  /** Indexes from `marketCount` on belong to no market: those markets were removed before a shard opened them. */
  removeFrom(marketCount: number): void {
    for (const market of this.#beyond.all(marketCount)) {
      this.#move(this.#counted.get(market), undefined);
      this.#remove.run(market);
      this.#forget.run(market);
    }
  }

  #move(before: Counted | undefined, after: Counted | undefined): void {
    const isListed = (row: Counted | undefined): boolean => row !== undefined && row.facet !== null;
    const hasOtherNames =
      isListed(before) !== isListed(after) ||
      (['event', 'title', 'outcomes'] as const).some((name) => before?.[name] !== after?.[name]);
    for (const [row, change] of [[before, 'subtract'] as const, [after, 'add'] as const]) {
      if (row === undefined || row.facet === null) continue;
      this.#counts[change]([row.category, row.facet]);
      this.#counts[change]([ALL_CATEGORIES, row.facet]);
      if (row.event === null) continue;
      this.#events.marketsChanged(row.event);
      if (hasOtherNames) this.#events.namesChanged(row.event);
    }
  }
}

/** Nearly all markets have these two: they would say nothing in a search. */
function isName(outcome: string): boolean {
  return !/^(?:yes|no)$/i.test(outcome);
}
