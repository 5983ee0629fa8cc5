/**
 * The events of the catalogue, for lists: one row each, from control.db. The order of creation is that of the primary
 * key.
 */
import { column, INTEGER, INTEGER_KEY, NULLABLE_INTEGER, NULLABLE_TEXT, searchTable, table } from './table.ts';

const TEXT = column<string>('TEXT NOT NULL');

export const OPEN_STATUSES = ['live', 'upcoming'] as const;
/** The condition of the indexes by volume, which trades in open events do not change; a query has to repeat it. */
export const IS_OVER = `status NOT IN ('${OPEN_STATUSES.join("', '")}')`;
const BY_VOLUME = `volume_micro DESC, start_ms, event) WHERE ${IS_OVER}`;

export const CATALOG_EVENTS = table(
  'catalog_events',
  {
    event: INTEGER_KEY,
    status: TEXT,
    category: TEXT,
    sport_league: NULLABLE_TEXT,
    title: TEXT,
    /** A JSON array of names. */
    teams: TEXT,
    start_ms: INTEGER,
    /** The number of its markets that a shard has opened... */
    markets: INTEGER,
    /** ...and the number of those that are active, locked or resolving. */
    live_markets: INTEGER,
    /** Over all of its markets. It follows theirs (engine/projector/catalogVolumes.ts). */
    volume_micro: column<bigint>('INTEGER NOT NULL DEFAULT 0'),
    /** When the first of those that are active, locked or resolving ends; null without one. */
    ends_ms: NULLABLE_INTEGER,
  },
  {
    indexes: [
      'INDEX catalog_events_status ON catalog_events (status)',
      'INDEX catalog_events_category ON catalog_events (category)',
      'INDEX catalog_events_category_status ON catalog_events (category, status)',
      // Pages of browse are sorted by the start, and most show only events with live markets.
      'INDEX catalog_events_by_start ON catalog_events (status, start_ms, event, live_markets)',
      'INDEX catalog_events_category_by_start ON catalog_events (category, status, start_ms, event, live_markets)',
      'INDEX catalog_events_league_by_start ON catalog_events (sport_league, status, start_ms, event, live_markets)',
      // The newest first: an index ends with the key of the table, as those of category and status do.
      'INDEX catalog_events_league_status ON catalog_events (sport_league, status)',
      // Of events that are over few have a market that has not ended.
      'INDEX catalog_events_by_end ON catalog_events (status, ends_ms, start_ms, event) WHERE ends_ms IS NOT NULL',
      `INDEX catalog_events_by_volume ON catalog_events (status, ${BY_VOLUME}`,
      `INDEX catalog_events_category_by_volume ON catalog_events (category, status, ${BY_VOLUME}`,
      `INDEX catalog_events_league_by_volume ON catalog_events (sport_league, status, ${BY_VOLUME}`,
    ],
  },
);

/** The number of events of each status: by category, and over all categories under ALL_CATEGORIES. */
export const EVENT_COUNTS = table(
  'event_counts',
  { category: TEXT, status: TEXT, events: column<number>('INTEGER NOT NULL CHECK (events >= 0)') },
  { primaryKey: 'category, status', withoutRowid: true },
);

/** Leagues and their teams, by the category of the events that have them. */
export const SPORT_TEAMS = table(
  'sport_teams',
  {
    category: TEXT,
    league: TEXT,
    /** Empty for the league itself. */
    team: TEXT,
    events: column<number>('INTEGER NOT NULL CHECK (events >= 0)'),
  },
  { primaryKey: 'category, league, team', withoutRowid: true },
);

/** The words of titles and descriptions, by event. */
export const EVENT_SEARCH = searchTable('event_search', ['title', 'description']);

/** The words of the names of events, of their teams, and of their markets and outcomes, by event. */
export const EVENT_NAMES = searchTable('event_names', ['title', 'teams', 'markets']);
