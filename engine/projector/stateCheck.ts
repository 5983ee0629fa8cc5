/**
 * Compares read.db with the state of the engine at the same record: every open order, every position, what is reserved
 * and how each market stands. The rows that the state leads to are made in a database in memory.
 */
import Database from 'better-sqlite3';
import { unreachable } from '../../shared/base/assert.ts';
import { READ_DB_SCHEMA } from '../../shared/tables/readDb.ts';
import { FundMovementProjection } from './fundMovements.ts';
import { MarketProjection } from './markets.ts';
import type { OpeningState } from './openingState.ts';
import { OrderProjection } from './orders.ts';
import { Stats } from './stats.ts';

/** Of one shard, in an order. The first column names the row in a message. */
const QUERIES = {
  'open order': `
    SELECT lower(hex(hash)), hex(id), account, market, slot, side, outcome, limit_ticks, lots, remaining_lots,
      filled_notional_micro, fee_bps, expiration_sec, status, client_order_id, order_group, order_sequence, created_ms
    FROM orders WHERE shard = ? AND slot IS NOT NULL ORDER BY id`,
  position: `
    SELECT account || '/' || market || '/' || outcome, quantity_atomic
    FROM positions JOIN market_stats USING (market)
    WHERE shard = ? AND quantity_atomic <> 0 ORDER BY account, market, outcome`,
  'reservation of account': `
    SELECT account, reserved_micro FROM account_stats WHERE shard = ? AND reserved_micro <> 0 ORDER BY account`,
  market: `
    SELECT market, hex(uuid), ticks_per_unit, markets.status, start_ms, end_ms, market_stats.status, payout_yes_ppm,
      resolved_ms, open_interest_atomic, holders
    FROM markets JOIN market_stats USING (market) WHERE shard = ? ORDER BY market`,
} as const;

type Values = readonly (bigint | string | null)[];

/** @returns a line for each kind of rows of which one differs: the first. */
export function differencesFromState(db: Database.Database, shard: number, state: OpeningState): string[] {
  const expected = new Database(':memory:');
  try {
    fill(expected, shard, state);
    return Object.entries(QUERIES).flatMap(([kind, sql]) => {
      const rows = (of: Database.Database): Iterator<Values> =>
        of.prepare<[number], Values>(sql).raw().safeIntegers().iterate(shard);
      const line = firstDifference(kind, rows(expected), rows(db));
      return line === null ? [] : [`shard ${shard}: ${line}`];
    });
  } finally {
    expected.close();
  }
}

function fill(db: Database.Database, shard: number, { head, timeMs, apply }: OpeningState): void {
  db.pragma('foreign_keys = OFF');
  db.exec(READ_DB_SCHEMA);
  const markets = new MarketProjection(db);
  const orders = new OrderProjection(db, shard + 1);
  const noDifference = (): never => unreachable('state check: a state alone differs from nothing');
  const stats = new Stats(db, shard + 1, new FundMovementProjection(db, shard + 1), noDifference);
  db.transaction(() => {
    apply({ markets, orders, stats }, { shard, shardSequence: head.sequence, timeMs });
    orders.flush();
    stats.flush();
    markets.flush(() => undefined);
  }).immediate();
}

/** Closes both iterators: an open one would keep its database busy. */
function firstDifference(kind: string, expected: Iterator<Values>, found: Iterator<Values>): string | null {
  try {
    for (;;) {
      const [a, b] = [expected.next(), found.next()];
      if (a.done === true && b.done === true) return null;
      if (a.done !== true && b.done !== true && isSame(a.value, b.value)) continue;
      if (b.done === true) return `${kind} ${a.value[0]} is missing`;
      if (a.done === true) return `${kind} ${b.value[0]} should not be there`;
      return `${kind} ${b.value[0]} differs from the engine's (${a.value[0]})`;
    }
  } finally {
    expected.return?.();
    found.return?.();
  }
}

function isSame(a: Values, b: Values): boolean {
  return a.every((value, column) => value === b[column]);
}
