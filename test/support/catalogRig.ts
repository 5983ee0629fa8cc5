/** A catalogue in control.db, a journal that opens its markets, and the projector that brings both into read.db. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { CatalogSource } from '../../engine/projector/catalog.ts';
import { Projector } from '../../engine/projector/projector.ts';
import { type ControlDatabase, openControlDatabase } from '../../gateway/base/database.ts';
import {
  Catalog,
  type EventDetails,
  type EventEntry,
  type MarketDetails,
  type MarketEntry,
} from '../../gateway/markets/catalog.ts';
import { completeEventDetails, completeMarketDetails } from '../../gateway/markets/marketDetails.ts';
import { catalogPage } from '../../gateway/wiring/catalogFeed.ts';
import { MARKET_STATUS, type MarketStatus, SIDE } from '../../shared/base/codes.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { temporaryDirectory } from './directory.ts';
import { TEST_KEY } from './journalKey.ts';
import { JournalScript } from './records.ts';

export const CATALOG_T0 = Date.UTC(2026, 0, 1);

type MarketTerms = { readonly status: MarketStatus; readonly startMs: number; readonly endMs: number };

/** Answers the projector's questions as the gateway does, at once. */
function sourceOf(catalog: Catalog): CatalogSource {
  let asked: number | null = null;
  return {
    ask: ({ after }) => {
      asked = after;
    },
    receive: () => {
      if (asked === null || asked === catalog.revisions.current) return null;
      const page = catalogPage(catalog, asked);
      asked = null;
      return page;
    },
  };
}

export class CatalogRig {
  readonly catalog: Catalog;
  readonly progressMemory = Progress.create(1);
  readonly progress = new Progress(this.progressMemory);
  readonly readDbPath: string;
  readonly script: JournalScript;
  readonly #database: ControlDatabase;
  readonly #journalPath: string;
  #projector: Projector | null = null;
  #nowMs = CATALOG_T0;

  constructor(folder = temporaryDirectory()) {
    this.#database = openControlDatabase(join(folder, 'control.db'));
    this.catalog = new Catalog(this.#database, 1);
    this.#journalPath = join(folder, 'journal.db');
    this.script = new JournalScript(this.#journalPath);
    this.readDbPath = join(folder, 'read.db');
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /** In control.db only: no shard has opened it. */
  describe(details: Partial<MarketDetails>, eventId: string | null = null): MarketEntry {
    const given = { title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather', ...details };
    return this.catalog.createMarket(
      {
        eventId,
        ticksPerUnit: 100,
        minOrderAtomic: 1_000_000,
        tokenIds: null,
        opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: CATALOG_T0, endMs: CATALOG_T0 + 1 },
        details: completeMarketDetails(given),
      },
      ++this.#nowMs,
    );
  }

  /** The shard opens the market, or changes it. */
  setTerms(market: MarketEntry, terms: Partial<MarketTerms> = {}): void {
    const { status = MARKET_STATUS.ACTIVE, startMs = CATALOG_T0, endMs = CATALOG_T0 + 1000 } = terms;
    const all = { status, startMs, endMs };
    this.script.record(++this.#nowMs, (events) => events.market(market.index, market.id, 100, all));
  }

  open(
    details: Partial<MarketDetails> = {},
    eventId: string | null = null,
    terms: Partial<MarketTerms> = {},
  ): MarketEntry {
    const market = this.describe(details, eventId);
    this.setTerms(market, terms);
    return market;
  }

  change(market: MarketEntry, details: Partial<MarketDetails>, eventId = market.eventId): void {
    this.catalog.updateMarket(market, eventId, { ...market.details, ...details }, ++this.#nowMs);
  }

  event(details: Partial<EventDetails> = {}): EventEntry {
    const nowMs = ++this.#nowMs;
    const given = { title: `Event ${nowMs}`, ...details };
    return this.catalog.createEvent(`event-${nowMs}`, completeEventDetails(given, nowMs), nowMs);
  }

  changeEvent(event: EventEntry, details: Partial<EventDetails>): void {
    this.catalog.updateEvent(event, { ...event.details, ...details }, ++this.#nowMs);
  }

  /** `lots` change hands at half a unit, so the market's volume grows by 50 times as much. */
  trade(market: MarketEntry, lots: number): void {
    this.script.record(++this.#nowMs, (events) => {
      events.place({ slot: 0, account: 1, market: market.index, limitTicks: 50, lots, side: SIDE.SELL });
      events.order({ slot: 1, account: 2, market: market.index, limitTicks: 50, lots });
      events.fill({ maker: 0, taker: 1, yesTicks: 50, lots });
      events.filled(0);
      events.filled(1);
    });
  }

  newProjector(readDbPath = this.readDbPath): Projector {
    return new Projector(this.#optionsOf(readDbPath), sourceOf(this.catalog));
  }

  /** A projector that does not see the catalogue. */
  projectorOfJournals(readDbPath: string): Projector {
    return new Projector(this.#optionsOf(readDbPath));
  }

  #optionsOf(readDbPath: string) {
    const { progressMemory: progress } = this;
    return { journalPaths: [this.#journalPath], keys: [TEST_KEY], readDbPath, progress };
  }

  /** The next `project` is by a projector that has just started. */
  restart(): void {
    this.#projector?.close();
    this.#projector = null;
  }

  /** Until read.db has everything. */
  project(): void {
    this.#projector ??= this.newProjector();
    this.commit();
    while (this.#projector.step(true));
  }

  commit(): void {
    this.progress.setCommitted(0, this.script.journal.lastSequence);
  }

  read<R>(sql: string, path = this.readDbPath): R[] {
    const db = new Database(path, { readonly: true });
    try {
      return db.prepare<[], R>(sql).all();
    } finally {
      db.close();
    }
  }

  /** Everything that lists are made of. */
  dump(path = this.readDbPath): unknown {
    const tables = [
      'catalog_cursor',
      'catalog_markets',
      'category_days',
      'market_counts',
      'catalog_events',
      'event_counts',
      'sport_teams',
    ];
    const rows = tables.map((table) => this.read(`SELECT * FROM ${table} ORDER BY 1, 2`, path));
    const words = ['market_search', 'event_search', 'event_names'].map((table) => this.#words(table, path));
    return [...rows, ...words];
  }

  /** Every word of a full-text index, and where it is. */
  #words(table: string, path: string): unknown {
    const db = new Database(path, { readonly: true });
    try {
      db.exec(`CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', '${table}', 'instance')`);
      return db.prepare('SELECT * FROM words ORDER BY doc, col, offset').all();
    } finally {
      db.close();
    }
  }

  close(): void {
    this.#projector?.close();
    this.script.journal.close();
    this.#database.close();
  }
}
