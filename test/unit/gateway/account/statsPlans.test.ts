/**
 * The plan of every statement of the statistics, of positions and of account ledgers: a range of an index, never a walk
 * over a table that grows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { AchievementQueries } from '../../../../gateway/account/achievementQueries.ts';
import { FundMovementQueries } from '../../../../gateway/account/fundMovementQueries.ts';
import { NotificationQueries } from '../../../../gateway/account/notificationQueries.ts';
import { PortfolioQueries } from '../../../../gateway/account/portfolioQueries.ts';
import { PositionQueries } from '../../../../gateway/account/positionQueries.ts';
import { RebateQueries } from '../../../../gateway/account/rebateQueries.ts';
import { ReferralQueries } from '../../../../gateway/account/referralQueries.ts';
import { StatementQueries } from '../../../../gateway/account/statementQueries.ts';
import { StatementStartQueries } from '../../../../gateway/account/statementStartQueries.ts';
import { CandleQueries } from '../../../../gateway/markets/candleQueries.ts';
import { ExchangeQueries } from '../../../../gateway/markets/exchangeQueries.ts';
import { FillQueries } from '../../../../gateway/markets/fillQueries.ts';
import { LeaderboardQueries } from '../../../../gateway/markets/leaderboardQueries.ts';
import { MarketHistoryQueries } from '../../../../gateway/markets/marketHistoryQueries.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';

type Step = { readonly detail: string };

/** One row a shard; the rows of a part of the statement, which has a line of its own. */
const OF_FIXED_SIZE = ['exchange_shards', 'cursors', 'history_starts', 'trade_heads', '(subquery', 'party'];

/** Makes the queries on a database that records prepared statements. */
function preparedBy(make: (db: Database.Database) => unknown) {
  const db = new Database(':memory:');
  db.exec(READ_DB_SCHEMA);
  const statements: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    statements.push(sql);
    return prepare(sql);
  }) as typeof db.prepare;
  make(db);
  return {
    statements,
    explain: (sql: string) => prepare<unknown[], Step>(`EXPLAIN QUERY PLAN ${sql}`).all(...nulls(sql)),
  };
}

for (const [name, make, count] of [
  ['the tape', (db: Database.Database) => new FillQueries(db), 2],
  ['the history of a market', (db: Database.Database) => new MarketHistoryQueries(db), 4],
  ['candles', (db: Database.Database) => new CandleQueries(db), 2],
  ['pulse, spotlight and volumes', (db: Database.Database) => new ExchangeQueries(db), 5],
  ['movements of funds', (db: Database.Database) => new FundMovementQueries(db), 2],
  ['rebates', (db: Database.Database) => new RebateQueries(db), 3],
  ['earnings of referrers', (db: Database.Database) => new ReferralQueries(db), 2],
  ['the entries of statements', (db: Database.Database) => new StatementQueries(db), 2],
  ['the balances of statements', (db: Database.Database) => new StatementStartQueries(db), 6],
  ['the positions of an account', (db: Database.Database) => new PositionQueries(db), 3],
  ['achievements', (db: Database.Database) => new AchievementQueries(db), 4],
  ['notifications', (db: Database.Database) => new NotificationQueries(db), 15],
  ['the profit and loss of an account', (db: Database.Database) => new PortfolioQueries(db), 7],
  ['the leaderboard', (db: Database.Database) => new LeaderboardQueries(db), 9],
] as const) {
  test(`${name}: every statement reads ranges of indexes`, () => {
    const { statements, explain } = preparedBy(make);
    assert.equal(statements.length, count);
    for (const sql of statements) {
      for (const { detail } of explain(sql)) {
        const isScan = detail.startsWith('SCAN') && !OF_FIXED_SIZE.some((table) => detail.includes(table));
        // The last row of an index is a scan by name only: it ends at its first row.
        const isLastRow = sql.endsWith('ORDER BY account DESC LIMIT 1');
        assert.ok(!isScan || isLastRow, `${detail}\n${sql}`);
      }
    }
  });
}

test('notifications: where nothing was read, filled and expired orders are counted without their rows', () => {
  const { statements, explain } = preparedBy((db) => new NotificationQueries(db));
  const counts = statements.filter((sql) => sql.startsWith('SELECT count(*)') && sql.includes('orders.status = '));
  assert.equal(counts.length, 2);
  for (const sql of counts) {
    const steps = explain(sql).filter(({ detail }) => detail.includes('orders'));
    for (const { detail } of steps) assert.match(detail, /USING COVERING INDEX/, sql);
  }
});

/** Values do not matter to these plans: every parameter is bound to NULL. */
function nulls(sql: string): unknown[] {
  const named = sql.match(/[$@][a-zA-Z]+/g);
  if (named !== null) return [Object.fromEntries(named.map((name) => [name.slice(1), null]))];
  return (sql.match(/\?/g) ?? []).map(() => null);
}
