/** SQL that takes a read.db back to the tables of version 29: what they lack follows from their rows. */
export const BEFORE_HOLDERS = `
  ALTER TABLE market_stats DROP COLUMN holders; DROP INDEX catalog_events_by_end;
  DROP INDEX catalog_events_league_status; DROP INDEX catalog_events_by_volume;
  DROP INDEX catalog_events_category_by_volume; DROP INDEX catalog_events_league_by_volume;`;

/** To those of version 28: what these lack follows from the catalogue. */
export const BEFORE_OUTCOMES = `${BEFORE_HOLDERS}
  ALTER TABLE catalog_markets DROP COLUMN outcomes; ALTER TABLE catalog_events DROP COLUMN volume_micro;
  ALTER TABLE catalog_events DROP COLUMN ends_ms;`;

/** To those of version 27: what these lack follows from its trades. */
export const BEFORE_CANDLES = `${BEFORE_OUTCOMES}
  DROP TABLE candles; CREATE TABLE market_hours (market); CREATE TABLE market_days (market);
  CREATE TABLE price_points (market); ALTER TABLE cursors DROP COLUMN time_ms;
  ALTER TABLE market_stats ADD COLUMN minutes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE market_stats ADD COLUMN five_minutes INTEGER NOT NULL DEFAULT 0;`;
