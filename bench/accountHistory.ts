/**
 * A read.db for queries of accounts: one account has a tenth of all trades, one has very many positions, all others
 * have about a hundred trades each. Rows are written directly and statistics computed from them by SQL: the projector
 * would take hours for ten million trades. A file of each size is kept in the system's folder for temporary files.
 *
 * Every trade here belongs to one order, its owner's, and every account only buys, except every eighth taker.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  CLOSE_REASON,
  type CloseReason,
  closedStatus,
  FUND_MOVEMENT,
  MARKET_STATUS,
  MATCH_TYPE,
  ORDER_STATUS,
  SIDE,
} from '../shared/base/codes.ts';
import { UUID_BYTES } from '../shared/base/hex.ts';
import { ID_KIND, movementIdBytes, timeOrderedIdBytes } from '../shared/base/ids.ts';
import { FUND_MOVEMENTS, TRADE_HEADS } from '../shared/tables/fundMovements.ts';
import { MARKETS } from '../shared/tables/markets.ts';
import { ORDERS } from '../shared/tables/orders.ts';
import { READ_DB_SCHEMA, READ_DB_VERSION } from '../shared/tables/readDb.ts';
import { MARKET_STATS } from '../shared/tables/statsMarkets.ts';
import { insert, type NewRowOf } from '../shared/tables/table.ts';
import { TRADES } from '../shared/tables/trades.ts';
import { Random } from '../test/support/random.ts';
import { writeStatistics } from './accountStatistics.ts';

const SEED = 17;
const DAY_MS = 86_400_000;
export const SPAN_MS = 30 * DAY_MS;
export const END_MS = Date.UTC(2026, 9, 1);
export const START_MS = END_MS - SPAN_MS;
/** The account with a tenth of the trades, the one with many positions, and the first of all others. */
export const LARGE = 1;
export const WIDE = 2;
export const FIRST_SMALL = 3;
/** The small accounts that are measured: they have movements of funds and hourly statistics. */
export const MEASURED_SMALL = 20;
const LARGE_EVERY = 10;
const MOST_POSITIONS = 10_000;
const TRADES_OF_SMALL = 100;
/** The account with many trades has them in few markets, so that only one thing is large. */
const MARKETS_OF_LARGE = 100;
const SMALL_MOVEMENTS = 20;
/** One in this many trades of the large account comes with a movement of funds. */
const TRADES_PER_MOVEMENT = 10;
const TICKS_PER_UNIT = 100;
/** Closed orders among forty; the others are open. */
const CLOSED: readonly (readonly [CloseReason, number])[] = [
  [CLOSE_REASON.FILLED, 16],
  [CLOSE_REASON.USER, 6],
  [CLOSE_REASON.MARKET_CLOSED, 5],
  [CLOSE_REASON.EXPIRED, 7],
];
const OUTCOMES_OF_ORDERS = 40;
/** Every fourth market is decided. */
const DECIDED_EVERY = 4;

export type AccountHistory = {
  readonly path: string;
  readonly trades: number;
  readonly markets: number;
  readonly accounts: number;
};
type Drawn = { readonly owner: number; readonly other: number; readonly market: number };

export function makeAccountHistory(trades: number): AccountHistory {
  const markets = Math.min(MOST_POSITIONS, Math.floor(trades / LARGE_EVERY));
  const small = Math.max(MEASURED_SMALL, Math.floor((trades * 1.9) / TRADES_OF_SMALL));
  const directory = join(tmpdir(), 'exchange-bench-account');
  const path = join(directory, `read-${READ_DB_VERSION}-${trades}.db`);
  const history = { path, trades, markets, accounts: small + 2 };
  if (existsSync(path)) return history;
  mkdirSync(directory, { recursive: true });
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { force: true });
  const db = new Database(unfinished);
  for (const off of ['journal_mode = OFF', 'synchronous = OFF', 'foreign_keys = OFF']) db.pragma(off);
  db.pragma('cache_size = -500000');
  db.exec(READ_DB_SCHEMA);
  const indexes = dropIndexes(db);
  db.transaction(() => writeMarkets(db, history))();
  db.transaction(() => writeTrades(db, history, small))();
  db.transaction(() => writeMovements(db, history))();
  // Sorting many rows into an index takes a fraction of the time of adding them one by one.
  for (const sql of indexes) db.exec(sql);
  db.transaction(() => writeStatistics(db, FIRST_SMALL + MEASURED_SMALL))();
  db.exec('PRAGMA optimize');
  db.close();
  renameSync(unfinished, path);
  return history;
}

function dropIndexes(db: Database.Database): string[] {
  const indexes = db
    .prepare<[], { name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_master
       WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('orders', 'trades', 'fund_movements')`,
    )
    .all();
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`);
  return indexes.map(({ sql }) => sql);
}

export function marketUuid(market: number): Uint8Array {
  const uuid = Buffer.alloc(UUID_BYTES, 7);
  uuid.writeUInt32BE(market);
  return uuid;
}

function writeMarkets(db: Database.Database, { markets, trades }: AccountHistory): void {
  const addMarket = db.prepare<[NewRowOf<typeof MARKETS>]>(insert(MARKETS));
  const addStats = db.prepare<[NewRowOf<typeof MARKET_STATS>]>(insert(MARKET_STATS));
  for (let market = 0; market < markets; market++) {
    const isDecided = market % DECIDED_EVERY === 0;
    const status = isDecided ? MARKET_STATUS.RESOLVED : MARKET_STATUS.ACTIVE;
    const uuid = marketUuid(market);
    const times = { start_ms: START_MS, end_ms: END_MS, opened_ms: START_MS };
    addMarket.run({ market, uuid, ticks_per_unit: TICKS_PER_UNIT, status, ...times, volume_micro: 0n });
    addStats.run({
      ...{ market, shard: 0, status, payout_yes_ppm: isDecided ? 1_000_000 : 0 },
      ...{ resolved_ms: isDecided ? END_MS - market : 0, decided_sequence: isDecided ? 2 * trades : 0 },
      ...{ open_interest_atomic: 0, holders: 0, last_yes_ticks: 50, last_trade_ms: END_MS, last_fill_us: 0 },
    });
  }
}

function writeTrades(db: Database.Database, { trades, markets }: AccountHistory, small: number): void {
  const random = new Random(SEED);
  const addTrade = db.prepare<[NewRowOf<typeof TRADES>]>(insert(TRADES));
  const addOrder = db.prepare<[NewRowOf<typeof ORDERS>]>(insert(ORDERS));
  const wideEvery = Math.max(2, Math.floor(trades / markets));
  for (let n = 0; n < trades; n++) {
    const timeMs = START_MS + Math.floor((n / trades) * SPAN_MS);
    const other = FIRST_SMALL + random.below(small);
    const drawn: Drawn = {
      other,
      owner: n % LARGE_EVERY === 0 ? LARGE : n % wideEvery === 1 ? WIDE : FIRST_SMALL + random.below(small),
      market:
        n % LARGE_EVERY === 0
          ? random.below(MARKETS_OF_LARGE)
          : n % wideEvery === 1
            ? Math.floor(n / wideEvery) % markets
            : random.below(markets),
    };
    const order = orderOf(n, drawn, timeMs, random);
    addOrder.run(order);
    addTrade.run(tradeOf(n, drawn, order, random));
  }
  db.prepare(insert(TRADE_HEADS)).run({ shard: 0, trade_sequence: trades });
  db.exec(`INSERT INTO cursors VALUES (0, ${2 * trades}, 0, 0, ${END_MS})`);
}

function orderOf(n: number, { owner, market }: Drawn, timeMs: number, random: Random): NewRowOf<typeof ORDERS> {
  const reason = reasonOf(random.below(OUTCOMES_OF_ORDERS));
  const isFilled = reason === CLOSE_REASON.FILLED;
  const lots = 10_000;
  return {
    id: timeOrderedIdBytes(timeMs, 0, ID_KIND.ORDER, n + 1),
    hash: new Uint8Array(32),
    ...{ account: owner, market, shard: 0, slot: reason === null ? n : null },
    ...{ side: random.below(8) === 0 ? SIDE.SELL : SIDE.BUY, outcome: random.below(2), limit_ticks: 50 },
    ...{ maker_amount: 500_000, taker_amount: 1_000_000, lots, remaining_lots: isFilled ? 0 : lots },
    ...{ filled_notional_micro: isFilled ? 500_000 : 0, time_in_force: 0, post_only: 0, fee_bps: 50 },
    ...{ expiration_sec: 0, status: reason === null ? ORDER_STATUS.OPEN : closedStatus(reason), reason },
    ...{ client_order_id: null, order_group: 0, order_sequence: n + 1, shard_sequence: n + 1 },
    ...{ created_ms: timeMs, updated_ms: timeMs + random.below(1000) },
  };
}

/** Null: the order is open. */
function reasonOf(drawn: number): CloseReason | null {
  let rest = drawn;
  for (const [reason, share] of CLOSED) {
    if (rest < share) return reason;
    rest -= share;
  }
  return null;
}

function tradeOf(
  n: number,
  { owner, other, market }: Drawn,
  { id, side, outcome, created_ms }: NewRowOf<typeof ORDERS>,
  random: Random,
): NewRowOf<typeof TRADES> {
  const isTaker = side === SIDE.SELL || random.below(2) === 0;
  const [maker_account, taker_account] = isTaker ? [other, owner] : [owner, other];
  const isMint = side === SIDE.BUY;
  const taker_outcome = isTaker ? outcome : 1 - outcome;
  return {
    id: timeOrderedIdBytes(created_ms, 0, ID_KIND.TRADE, n + 1),
    ...{ market, match_type: isMint ? MATCH_TYPE.MINT : MATCH_TYPE.STANDARD, matched_ms: created_ms, after_us: 0 },
    ...{ yes_ticks: 40 + random.below(20), lots: 10_000 },
    ...{ maker_order_id: id, maker_account, maker_side: SIDE.BUY, maker_fee: 2500 },
    ...{ maker_outcome: isMint ? 1 - taker_outcome : taker_outcome },
    ...{ taker_order_id: id, taker_account, taker_side: isMint ? SIDE.BUY : SIDE.SELL, taker_outcome, taker_fee: 5000 },
  };
}

/** Deposits and splits alternate. */
function writeMovements(db: Database.Database, { trades, markets }: AccountHistory): void {
  const add = db.prepare<[NewRowOf<typeof FUND_MOVEMENTS>]>(insert(FUND_MOVEMENTS));
  const large = Math.floor(trades / LARGE_EVERY / TRADES_PER_MOVEMENT);
  for (let account = LARGE; account < FIRST_SMALL + MEASURED_SMALL; account++) {
    const count = account === LARGE ? large : SMALL_MOVEMENTS;
    for (let n = 0; n < count; n++) {
      const moved_ms = START_MS + Math.floor((n / count) * SPAN_MS);
      const sequence = Math.floor((n / count) * trades);
      const isDeposit = n % 2 === 0;
      add.run({
        ...{ account, id: movementIdBytes(moved_ms, 0, sequence + 1, 0), moved_ms, after_trade: sequence },
        ...{ kind: isDeposit ? FUND_MOVEMENT.DEPOSIT : FUND_MOVEMENT.SPLIT, market: isDeposit ? null : n % markets },
        ...{ usdc_micro: isDeposit ? 20_000_000 : -1_000_000, yes_atomic: isDeposit ? 0 : 1_000_000 },
        ...{ no_atomic: isDeposit ? 0 : 1_000_000, reference_hash: isDeposit ? new Uint8Array(32) : null },
      });
    }
  }
}
