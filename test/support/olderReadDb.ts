/** SQL that takes a read.db back to the tables of version 28: what they lack follows from the catalogue. */
export const BEFORE_OUTCOMES = `
  ALTER TABLE catalog_markets DROP COLUMN outcomes; ALTER TABLE catalog_events DROP COLUMN volume_micro;
  ALTER TABLE catalog_events DROP COLUMN ends_ms;`;

/** To those of version 27: what these lack follows from its trades. */
export const BEFORE_CANDLES = `${BEFORE_OUTCOMES}
  DROP TABLE candles; CREATE TABLE market_hours (market); CREATE TABLE market_days (market);
  CREATE TABLE price_points (market); ALTER TABLE cursors DROP COLUMN time_ms;
  ALTER TABLE market_stats ADD COLUMN minutes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE market_stats ADD COLUMN five_minutes INTEGER NOT NULL DEFAULT 0;`;
