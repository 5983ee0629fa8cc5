/**
 * Projection of the catalogue's events (shared/tables/catalogEvents.ts), with what their markets add to them.
 * Owner: the projector thread.
 *
 * Invariants:
 *   EVENTROWS-1  event_counts has the number of events of each status, by category and in all of them.
 *   EVENTROWS-2  sport_teams has every league, and every team of it, that an event of the category names.
 *   EVENTROWS-3  After `flush` an event has the numbers of its listed markets, and event_names their titles and the
 *                names of their outcomes.
 */
import type Database from 'better-sqlite3';
import { MARKET_STATUS, MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import { foldToSearch } from '../../shared/base/folding.ts';
import { CATALOG_EVENTS, EVENT_COUNTS, SPORT_TEAMS } from '../../shared/tables/catalogEvents.ts';
import { ALL_CATEGORIES } from '../../shared/tables/catalogMarkets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import type { CatalogEvent } from '../../shared/wire/catalogPage.ts';
import { Counts } from './catalogCounts.ts';

const COUNTED = select(CATALOG_EVENTS, 'status', 'category', 'sport_league', 'teams');
type Counted = SelectedBy<typeof COUNTED>;

const LIVE = [MARKET_STATUS.ACTIVE, MARKET_STATUS.LOCKED, MARKET_STATUS.RESOLVING];
const LIVE_NAMES = LIVE.map((status) => `'${MARKET_STATUS_NAMES[status]}'`).join(', ');

export class CatalogEvents {
  readonly #counts: Counts;
  readonly #teams: Counts;
  /** Events whose markets have changed since the last flush... */
  readonly #changed = new Set<number>();
  /** ...and those whose names have. */
  readonly #renamed = new Set<number>();
  readonly #counted: Database.Statement<[number], Counted>;
  readonly #write;
  readonly #index: Database.Statement<[number, string, string]>;
  readonly #countMarkets: Database.Statement<[{ event: number }]>;
  readonly #indexNames: Database.Statement<[{ event: number }]>;

  constructor(db: Database.Database) {
    this.#counts = new Counts(db, EVENT_COUNTS);
    this.#teams = new Counts(db, SPORT_TEAMS);
    this.#counted = db.prepare(`SELECT ${COUNTED.sql} FROM catalog_events WHERE event = ?`);
    this.#write = db.prepare<[Omit<CatalogEvent, 'description' | 'teams'> & { teams: string }]>(`
      INSERT INTO catalog_events (event, status, category, sport_league, title, teams, start_ms, markets, live_markets)
      VALUES (@index, @status, @category, @league, @title, @teams, @startMs, 0, 0)
      ON CONFLICT DO UPDATE SET status = excluded.status, category = excluded.category, title = excluded.title,
        sport_league = excluded.sport_league, teams = excluded.teams, start_ms = excluded.start_ms`);
    this.#index = db.prepare('INSERT OR REPLACE INTO event_search (rowid, title, description) VALUES (?, ?, ?)');
    db.function('folded', { deterministic: true }, (text) => (text === null ? null : foldToSearch(text)));
    const listed = 'catalog_markets WHERE event = @event AND status IS NOT NULL';
    this.#countMarkets = db.prepare(`
      UPDATE catalog_events SET (markets, live_markets, volume_micro, ends_ms) = (
        SELECT count(*), count(*) FILTER (WHERE status IN (${LIVE_NAMES})), ifnull(sum(volume_micro), 0),
          min(end_ms) FILTER (WHERE status IN (${LIVE_NAMES})) FROM ${listed})
      WHERE event = @event`);
    this.#indexNames = db.prepare(`
      INSERT OR REPLACE INTO event_names (rowid, title, teams, markets)
      SELECT event, folded(title), folded(teams),
        folded((SELECT group_concat(title || char(10) || outcomes, char(10) ORDER BY market) FROM ${listed}))
      FROM catalog_events WHERE event = @event`);
  }

  /** Takes the catalogue's description of an event. */
  describe({ description, ...event }: CatalogEvent): void {
    const before = this.#counted.get(event.index);
    this.#write.run({ ...event, teams: JSON.stringify(event.teams) });
    this.#index.run(event.index, foldToSearch(event.title), foldToSearch(description));
    if (before !== undefined) count(before, this.#counts, this.#teams, 'subtract');
    count(this.#counted.get(event.index)!, this.#counts, this.#teams, 'add');
    this.#changed.add(event.index);
    this.#renamed.add(event.index);
  }

  marketsChanged(event: number): void {
    this.#changed.add(event);
  }

  namesChanged(event: number): void {
    this.#renamed.add(event);
  }

  /** An event whose row has not arrived yet is updated by its description. */
  flush(): void {
    for (const event of this.#changed) this.#countMarkets.run({ event });
    for (const event of this.#renamed) this.#indexNames.run({ event });
    this.#changed.clear();
    this.#renamed.clear();
  }
}

function count(event: Counted, counts: Counts, sportTeams: Counts, change: 'add' | 'subtract'): void {
  const { status, category, sport_league, teams } = event;
  counts[change]([category, status]);
  counts[change]([ALL_CATEGORIES, status]);
  if (sport_league === null) return;
  const names = new Set<string>(['', ...JSON.parse(teams)]);
  for (const team of names) sportTeams[change]([category, sport_league, team]);
}
