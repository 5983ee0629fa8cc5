/**
 * Steps from one version of read.db to the next, by the version that they start from: SQL that makes the new form of
 * the rows out of the old one. They are taken only where journals were trimmed, for then read.db cannot be made again
 * with all its history (RULES.md 10.22); otherwise it is, which needs no step.
 *
 * New tables are created without one; they begin empty, unless the step fills them from others. A version has no step
 * when what it writes cannot be had from the old rows: read.db then begins with the state of a snapshot.
 */
export const READ_DB_STEPS: Readonly<Record<number, string>> = {
  24: `
    ALTER TABLE exchange_shards ADD COLUMN counted_atomic INTEGER NOT NULL DEFAULT 0;
    UPDATE exchange_shards SET counted_atomic = ifnull((
      SELECT sum(lots * ticks_per_unit) FROM trades JOIN markets USING (market) JOIN market_stats USING (market)
      WHERE market_stats.shard = exchange_shards.shard), 0)`,
  // The words of the catalogue are folded: the gateway describes all of it again.
  25: 'DELETE FROM catalog_cursor',
  // The time of the n-th fill less n is the greatest so far of that of its record less n (shared/base/fillTimes.ts).
  26: `
    ALTER TABLE trades ADD COLUMN after_us INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE market_stats ADD COLUMN last_fill_us INTEGER NOT NULL DEFAULT 0;
    UPDATE trades SET after_us = timed.filled_us - matched_ms * 1000 FROM (
      SELECT id AS timed_id, n + max(record_us - n) OVER (PARTITION BY market ORDER BY id) AS filled_us FROM (
        SELECT id, market, matched_ms * 1000 AS record_us, row_number() OVER (PARTITION BY market ORDER BY id) AS n
        FROM trades)) AS timed
      WHERE id = timed_id AND timed.filled_us <> matched_ms * 1000;
    UPDATE market_stats SET last_fill_us = ifnull((
      SELECT max(matched_ms * 1000 + after_us) FROM trades WHERE trades.market = market_stats.market), 0)`,
};
