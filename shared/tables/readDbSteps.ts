/**
 * Steps from one version of read.db to the next, by the version that they start from: SQL that converts the old form of
 * the rows into the new one. Steps are used only if journals were trimmed, because then read.db cannot be rebuilt with
 * all its history (RULES.md 10.22); otherwise it is rebuilt, which needs no step.
 *
 * New tables are created without a step; they begin empty, unless a step fills them from others. A version has no step
 * if its content cannot be derived from the old rows: then read.db begins with the state of a snapshot.
 */
import { CANDLE_SPANS_MS } from './candles.ts';
import { MOST_COUNTED_ATOMIC } from './statsExchange.ts';

const VOLUMES_OF_EVENTS = [
  ['by_volume', 'status'],
  ['category_by_volume', 'category, status'],
  ['league_by_volume', 'sport_league, status'],
].map(
  ([name, columns]) => `catalog_events_${name}
    ON catalog_events (${columns}, volume_micro DESC, start_ms, event) WHERE status NOT IN ('live', 'upcoming')`,
);

export const READ_DB_STEPS: Readonly<Record<number, string>> = {
  // The words of the catalogue are folded now: the gateway describes the whole catalogue again.
  25: 'DELETE FROM catalog_cursor',
  // The time of the n-th fill, less n, is the maximum so far of its record's time less n (shared/base/fillTimes.ts).
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
  27: `
    ALTER TABLE cursors ADD COLUMN time_ms INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE market_stats DROP COLUMN minutes;
    ALTER TABLE market_stats DROP COLUMN five_minutes;
    ${Object.values(CANDLE_SPANS_MS).map(candlesOfTrades).join('')}
    DROP TABLE market_hours;
    DROP TABLE market_days;
    DROP TABLE price_points;`,
  // The gateway describes the whole catalogue again, with outcomes; each event then sums its markets up.
  28: `
    ALTER TABLE catalog_markets ADD COLUMN outcomes TEXT NOT NULL DEFAULT '';
    ALTER TABLE catalog_events ADD COLUMN volume_micro INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE catalog_events ADD COLUMN ends_ms INTEGER;
    DELETE FROM catalog_cursor;`,
  29: `
    ALTER TABLE market_stats ADD COLUMN holders INTEGER NOT NULL DEFAULT 0;
    UPDATE market_stats SET holders = held.accounts FROM (
      SELECT market AS held_market, count(DISTINCT account) AS accounts
      FROM positions WHERE quantity_atomic > 0 GROUP BY market) AS held
      WHERE market = held_market;
    CREATE INDEX catalog_events_league_status ON catalog_events (sport_league, status);
    CREATE INDEX catalog_events_by_end ON catalog_events (status, ends_ms, start_ms, event) WHERE ends_ms IS NOT NULL;
    ${VOLUMES_OF_EVENTS.map((index) => `CREATE INDEX ${index};`).join('\n')}`,
  // Orders are archived from here on, those that are in the file first.
  30: '',
};

/**
 * The sum before a trade in its shard decides whether the trade adds to volumes. It is computed as a float: beyond its
 * precision there are only trades on credit (RULES.md 13.10).
 */
function candlesOfTrades(spanMs: number): string {
  const counted = `sum(CAST(lots AS REAL) * ticks_per_unit) OVER (PARTITION BY shard ORDER BY id)
          <= ${MOST_COUNTED_ATOMIC} / (SELECT max(1, count(*)) FROM exchange_shards)`;
  const takerTicks = 'iif(taker_outcome = 0, yes_ticks, ticks_per_unit - yes_ticks)';
  return `
    INSERT INTO candles
      SELECT market, ${spanMs}, interval_ms, count(*), sum(counted_lots * ticks_per_unit),
        sum(counted_lots * yes_ticks), sum(counted_lots * ${takerTicks}),
        min(open_ticks), max(yes_ticks), min(yes_ticks), min(close_ticks)
      FROM (
        SELECT *, first_value(yes_ticks) OVER of_interval AS open_ticks,
          last_value(yes_ticks) OVER of_interval AS close_ticks
        FROM (
          SELECT *, iif(${counted}, lots, 0) AS counted_lots,
            (matched_ms + after_us / 1000) - (matched_ms + after_us / 1000) % ${spanMs} AS interval_ms
          FROM trades JOIN markets USING (market) JOIN market_stats USING (market))
        WINDOW of_interval AS (PARTITION BY market, interval_ms ORDER BY id
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
      GROUP BY market, interval_ms;`;
}
