/**
 * Projection of the catalogue: applies the gateway's pages of changed markets and events (shared/wire/catalogPage.ts),
 * and joins them with the markets' data from the journals. Owner: the projector thread.
 *
 * Invariants:
 *   CATALOGPAGES-1  Rows and the new revision are one transaction, so whatever ends the thread, the next thread
 *                   continues after them.
 *   CATALOGPAGES-2  One request is in flight at a time, and only its answer is applied.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import {
  CATALOG_EVENTS,
  EVENT_COUNTS,
  EVENT_NAMES,
  EVENT_SEARCH,
  SPORT_TEAMS,
} from '../../shared/tables/catalogEvents.ts';
import { CATALOG_CURSOR, CATALOG_MARKETS, MARKET_COUNTS, MARKET_SEARCH } from '../../shared/tables/catalogMarkets.ts';
import { CATEGORY_DAYS } from '../../shared/tables/categoryDays.ts';
import { insert } from '../../shared/tables/table.ts';
import type { CatalogPage, CatalogQuestion } from '../../shared/wire/catalogPage.ts';
import { CatalogEvents } from './catalogEvents.ts';
import { CatalogMarkets } from './catalogMarkets.ts';
import { CatalogVolumes } from './catalogVolumes.ts';
import { CategoryDays } from './categoryDays.ts';

/** The projector's side of the channel to the gateway. */
export type CatalogSource = {
  ask(question: CatalogQuestion): void;
  /** The next page that has come, or null. */
  receive(): CatalogPage | null;
};

/** Tables that only the catalogue fills. */
const TABLES = [CATALOG_MARKETS, CATEGORY_DAYS, MARKET_COUNTS, CATALOG_EVENTS, EVENT_COUNTS, SPORT_TEAMS];
const INDEXES = [MARKET_SEARCH, EVENT_SEARCH, EVENT_NAMES];
/** Tables that are empty until the gateway has sent the catalogue. */
export const CATALOG_TABLES: ReadonlySet<string> = new Set(
  [CATALOG_CURSOR, ...TABLES, ...INDEXES].map(({ name }) => name),
);

export class CatalogProjection {
  revision: number;
  readonly #db: Database.Database;
  readonly #markets: CatalogMarkets;
  readonly #events: CatalogEvents;
  readonly #volumes: CatalogVolumes;
  readonly #categoryDays: CategoryDays;
  readonly #save: Database.Statement<[{ id: 0; revision: number }]>;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#events = new CatalogEvents(db);
    this.#markets = new CatalogMarkets(db, this.#events);
    this.#volumes = new CatalogVolumes(db);
    this.#categoryDays = new CategoryDays(db);
    this.#save = db.prepare(insert(CATALOG_CURSOR, 'OR REPLACE'));
    this.revision = db.prepare<[], number>('SELECT revision FROM catalog_cursor').pluck().get() ?? 0;
  }

  /** Called in a transaction. A page that answers another request is ignored (CATALOGPAGES-2). */
  apply(page: CatalogPage): void {
    if (page.startsOver) this.#clear();
    if (page.after !== this.revision) return;
    assert(page.revision >= this.revision, 'CATALOGPAGES-1: a page goes on from the revision before it');
    this.#markets.removeFrom(page.marketCount);
    for (const event of page.events) this.#events.describe(event);
    for (const market of page.markets) {
      this.#markets.describe(market);
      this.#categoryDays.describe(market.index, market.category);
    }
    this.#events.flush();
    this.#categoryDays.flush();
    this.#save.run({ id: 0, revision: page.revision });
    this.revision = page.revision;
  }

  traded(market: number, volumeMicro: number, timeMs: number): void {
    this.#categoryDays.traded(market, volumeMicro, timeMs);
  }

  /** Called in the transaction of a batch, once `markets` has these markets' data from the journals. */
  follow(changed: ReadonlySet<number>, traded: Iterable<number>): void {
    for (const market of changed) this.#markets.refresh(market);
    for (const market of traded) this.#volumes.traded(market);
    this.#events.flush();
    this.#categoryDays.flush();
  }

  areVolumesDue(isIdle: boolean): boolean {
    return this.#volumes.isDue(isIdle);
  }

  /** Called in a transaction. @returns true if there are more */
  listVolumes(): boolean {
    return this.#volumes.list();
  }

  #clear(): void {
    for (const { name } of TABLES) this.#db.exec(`DELETE FROM ${name}`);
    for (const { name } of INDEXES) this.#db.exec(`INSERT INTO ${name} (${name}) VALUES ('delete-all')`);
    this.#categoryDays.clear();
    this.revision = 0;
  }
}
