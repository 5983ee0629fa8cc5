/**
 * Computes from the orders and trades of a read.db the data that the projector keeps beside them: positions, sums of
 * accounts, and both by hour for the measured accounts.
 */
import type Database from 'better-sqlite3';
import { OUTCOME, SIDE } from '../shared/base/codes.ts';
import { HOUR_MS } from '../shared/tables/buckets.ts';

/** The two parties of every trade, as if each had its own row. */
const PARTIES = (['maker', 'taker'] as const)
  .map(
    (role) => `
    SELECT ${role}_account AS account, market, ${role}_outcome AS outcome, matched_ms,
      iif(${role}_side = ${SIDE.BUY}, 100 * lots - ${role}_fee, -100 * lots) AS atomic,
      iif(${role}_side = ${SIDE.BUY}, 1, -1) * lots
        * iif(${role}_outcome = ${OUTCOME.YES}, yes_ticks, 100 - yes_ticks) AS paid_micro
    FROM trades`,
  )
  .join(' UNION ALL ');
const OF_MEASURED = 'WHERE account < ?';

/** @param measured accounts below this one have statistics by hour */
export function writeStatistics(db: Database.Database, measured: number): void {
  // An eighth of the takers sell tokens that they may not have: here a quantity of tokens cannot be negative.
  db.exec(`
    INSERT INTO positions
    SELECT account, market, outcome, max(0, sum(atomic)), max(0, sum(atomic)) * 1000, 500000000000000000,
      max(0, sum(paid_micro)), 0, 0, 1, 0, min(matched_ms), max(matched_ms)
    FROM (${PARTIES}) GROUP BY account, market, outcome`);
  db.exec(`
    INSERT INTO account_stats
    SELECT account, 0, count(*), sum(abs(paid_micro)), 1000000000000, 0, sum(paid_micro), 0,
      100 * count(*), count(*), max(matched_ms) / ${HOUR_MS} * ${HOUR_MS}, max(matched_ms)
    FROM (${PARTIES}) GROUP BY account`);
  const before = `OVER (PARTITION BY %s ORDER BY hour_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;
  const hourMs = `matched_ms / ${HOUR_MS} * ${HOUR_MS}`;
  const ofPosition = before.replace('%s', 'account, market, outcome');
  db.prepare<[number]>(`
    INSERT INTO position_hours
    SELECT account, market, outcome, hour_ms, max(0, coalesce(sum(atomic) ${ofPosition}, 0)) FROM (
      SELECT account, market, outcome, ${hourMs} AS hour_ms, sum(atomic) AS atomic
      FROM (${PARTIES}) ${OF_MEASURED} GROUP BY account, market, outcome, hour_ms)`).run(measured);
  const ofAccount = before.replace('%s', 'account');
  db.prepare<[number]>(`
    INSERT INTO account_hours
    SELECT account, 0, hour_ms, coalesce(sum(trades) ${ofAccount}, 0), 0, 1000000000000, 0,
      coalesce(sum(paid_micro) ${ofAccount}, 0), 0
    FROM (
      SELECT account, ${hourMs} AS hour_ms, count(*) AS trades, sum(paid_micro) AS paid_micro
      FROM (${PARTIES}) ${OF_MEASURED} GROUP BY account, hour_ms)`).run(measured);
}
