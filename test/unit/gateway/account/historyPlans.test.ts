/** The query plans of the lists of an account's past: each scan stays inside an index, with any filters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { ActivityQueries } from '../../../../gateway/account/activityQueries.ts';
import { OrderLists } from '../../../../gateway/account/orderListsQueries.ts';
import { SettlementReader } from '../../../../gateway/account/settlementQueries.ts';
import { TradeQueries } from '../../../../gateway/account/tradeQueries.ts';
import { MAX_COUNTED, SINCE_EVER } from '../../../../gateway/base/page.ts';
import { ORDER_STATUS } from '../../../../shared/base/codes.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';

const ACCOUNT = 1;
const ALL_STATUSES = 0b1_1111;

/** A database in memory that records prepared statements, and explains them. */
class ExplainingDatabase {
  readonly db: Database.Database;
  readonly statements = new Set<string>();
  readonly #explained: (sql: string) => string[];

  constructor(db = emptyReadDb()) {
    this.db = db;
    const prepare = this.db.prepare.bind(this.db);
    this.db.prepare = ((sql: string) => {
      this.statements.add(sql);
      return prepare(sql);
    }) as typeof this.db.prepare;
    this.#explained = (sql) => {
      const names = sql.match(/@\w+/g) ?? [];
      const named = Object.fromEntries(names.map((name) => [name.slice(1), null]));
      const values = names.length > 0 ? [named] : (sql.match(/\?/g) ?? []).map(() => null);
      return prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...values)
        .map(({ detail }) => detail);
    };
  }

  /** Adds this many cancelled orders of the account. */
  addOrders(count: number): void {
    const names = Object.keys(ORDERS.columns);
    const values = { id: 'randomblob(16)', account: `${ACCOUNT}`, slot: 'NULL', status: `${ORDER_STATUS.CANCELLED}` };
    const row = names.map((name) => ({ ...values, hash: 'randomblob(32)', reason: '1' })[name] ?? '0');
    this.db.exec(`
      WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${count})
      INSERT INTO orders (${names.join()}) SELECT ${row.join()} FROM number`);
  }

  /** Every statement, by its text. */
  plans(): [string, string[]][] {
    return [...this.statements].map((sql) => [sql, this.#explained(sql)]);
  }
}

function emptyReadDb(): Database.Database {
  const db = new Database(':memory:');
  db.pragma('foreign_keys = OFF');
  db.exec(READ_DB_SCHEMA);
  return db;
}

/** A scan reads only an index, or the rows of one page by their keys. */
function assertInsideIndexes(sql: string, plan: readonly string[]): void {
  for (const step of plan) {
    if (step.startsWith('SCAN')) assert.match(step, /^SCAN (page|\(subquery|\d+)/, sql);
    if (!step.startsWith('SEARCH')) continue;
    assert.match(step, /USING (COVERING INDEX|PRIMARY KEY|INTEGER PRIMARY KEY|INDEX sqlite_autoindex)/, sql);
  }
}

test('orders of every status, in either order: walks inside indexes, nothing sorted but the rarer by creation', () => {
  const explaining = new ExplainingDatabase();
  const lists = new OrderLists(explaining.db);
  explaining.addOrders(1);
  for (const sort of ['created_at', 'updated_at'] as const) {
    for (let statuses = 1; statuses <= ALL_STATUSES; statuses++) {
      const filters = { statuses, sides: 0xff, outcomes: 0xff, sinceMs: SINCE_EVER, sort, limit: 9, offset: 0 };
      lists.list(ACCOUNT, { ...filters, after: null });
      const isSorted = sort === 'created_at' && statuses !== ALL_STATUSES;
      for (const [sql, plan] of explaining.plans()) {
        assertInsideIndexes(sql, plan);
        if (!isSorted) assert.ok(!plan.some((step) => step.includes('TEMP B-TREE')), `${plan.join('\n')}\n${sql}`);
      }
      explaining.statements.clear();
    }
  }
});

test('many orders of a status by creation are read along the index of creation, unsorted', () => {
  const explaining = new ExplainingDatabase();
  const lists = new OrderLists(explaining.db);
  explaining.addOrders(MAX_COUNTED + 1);
  const statuses = 1 << ORDER_STATUS.CANCELLED;
  const filters = { statuses, sides: 0xff, outcomes: 0xff, sinceMs: SINCE_EVER, limit: 9, offset: 0 };
  lists.list(ACCOUNT, { ...filters, sort: 'created_at', after: null });
  const [, plan] = explaining.plans().at(-1)!;
  assert.ok(plan.includes('SEARCH orders USING INDEX orders_created (account=? AND id>? AND id<?)'), plan.join('\n'));
  assert.ok(!plan.some((step) => step.includes('TEMP B-TREE')), plan.join('\n'));
});

test('trades and activity: walks inside indexes, merged without a sort', () => {
  const explaining = new ExplainingDatabase();
  new TradeQueries(explaining.db);
  new ActivityQueries(explaining.db);
  assert.equal(explaining.statements.size, 24);
  for (const [sql, plan] of explaining.plans()) {
    assertInsideIndexes(sql, plan);
    assert.ok(!plan.some((step) => step.includes('TEMP B-TREE')), `${plan.join('\n')}\n${sql}`);
  }
});

test('the settlement of trades and movements is found by their numbers, one search each', () => {
  const explaining = new ExplainingDatabase(openSettlementDb(':memory:'));
  new SettlementReader(explaining.db);
  assert.equal(explaining.statements.size, 5);
  // `followed` has a row for each shard.
  const isBounded = /^SCAN (wanted VIRTUAL TABLE|followed$)|^SEARCH /;
  for (const [sql, plan] of explaining.plans()) {
    for (const step of plan) assert.match(step, isBounded, `${plan.join('\n')}\n${sql}`);
  }
});
