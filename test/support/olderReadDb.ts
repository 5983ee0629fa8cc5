/** SQL that takes a read.db back to the tables of an older version: their content follows from its trades. */
export const BEFORE_CANDLES = `
  DROP TABLE candles; CREATE TABLE market_hours (market); CREATE TABLE market_days (market);
  CREATE TABLE price_points (market); ALTER TABLE cursors DROP COLUMN time_ms;
  ALTER TABLE market_stats ADD COLUMN minutes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE market_stats ADD COLUMN five_minutes INTEGER NOT NULL DEFAULT 0;`;
