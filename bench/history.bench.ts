/**
 * Does a page of the past cost an account with very many orders and trades more than one with a hundred? Measures the
 * processor time of the queries in a thread of their own, for two accounts in one read.db. Five of every six orders and
 * trades belong to the large account; the small one has a hundred. They are written as rows: the projector would take
 * minutes for them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { ActivityQueries } from '../gateway/account/activityQueries.ts';
import { OrderLists } from '../gateway/account/orderListsQueries.ts';
import { TradeQueries } from '../gateway/account/tradeQueries.ts';
import { FILLS_EVER, type HistoryPage, MAX_OFFSET, type Position, SINCE_EVER } from '../gateway/base/page.ts';
import { MATCH_TYPE, ORDER_STATUS, SIDE } from '../shared/base/codes.ts';
import { UUID_BYTES } from '../shared/base/hex.ts';
import { ID_KIND, timeOrderedIdBytes } from '../shared/base/ids.ts';
import { MARKETS } from '../shared/tables/markets.ts';
import { ORDERS } from '../shared/tables/orders.ts';
import { READ_DB_SCHEMA } from '../shared/tables/readDb.ts';
import { ACCOUNT_STATS } from '../shared/tables/statsAccounts.ts';
import { insert, type NewRowOf } from '../shared/tables/table.ts';
import { TRADES } from '../shared/tables/trades.ts';
import { seededRandom } from '../test/support/random.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SEED = 7;
const T0 = Date.UTC(2026, 0, 1);
const [LARGE, SMALL] = [1, 2];
const SMALL_ROWS = 100;
const OTHERS = 5000;
const MARKET_COUNT = 1000;
/** The market whose orders and trades are this share of all. */
const RARE_MARKET = 0;
const RARE = 100_000;
const MEASURED_MS = 1000;
const MOST_TIMES = 2;
const ALL = 0xff;

type Query = { readonly name: string; readonly isPaging: boolean; run(account: number): HistoryPage<unknown> };

export async function run({ isFull }: { readonly isFull: boolean }): Promise<Report> {
  const count = isFull ? 1_000_000 : 50_000;
  const directory = mkdtempSync(join(tmpdir(), 'bench-history-'));
  try {
    const path = join(directory, 'read.db');
    write(path, count);
    const db = new Database(path, { readonly: true });
    const rows: Row[] = [];
    let worst = 0;
    for (const query of queriesOf(db, count)) {
      const steal = new StealMeter();
      const [large, small] = [measure(query, LARGE), measure(query, SMALL)];
      if (query.isPaging) worst = Math.max(worst, large.us / small.us);
      rows.push({
        query: query.name,
        'rows of the page': large.rows,
        'large, processor us': large.us,
        'small, processor us': small.us,
        'large, p50 us': large.p50,
        'small, p50 us': small.p50,
        [STOLEN]: steal.percent(),
      });
    }
    db.close();
    return {
      bench: 'history',
      settings: `${count} orders and trades of one account, ${SMALL_ROWS} of another; seed ${SEED}`,
      rows,
      goals: [atMost('a page, large account / small one', worst, MOST_TIMES)],
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function queriesOf(db: Database.Database, count: number): Query[] {
  const [orders, trades, activity] = [new OrderLists(db), new TradeQueries(db), new ActivityQueries(db)];
  const page = { limit: 50, offset: 0, after: null };
  const ofOrders = {
    ...page,
    statuses: ALL,
    sides: ALL,
    outcomes: ALL,
    sinceMs: SINCE_EVER,
    sort: 'updated_at',
  } as const;
  const ofTrades = { ...page, market: null, takerSides: ALL, sinceMicros: FILLS_EVER };
  const ofActivity = { ...page, market: null, type: null };
  const market = marketId(RARE_MARKET);
  const middle = { atMs: T0 + count, rank: 1, id: timeOrderedIdBytes(T0 + count, 0, ID_KIND.TRADE, 0) };
  const ofMiddle = (account: number): { after: Position | null } => ({ after: account === LARGE ? middle : null });
  const offset = MAX_OFFSET;
  const [filled, sells] = [1 << ORDER_STATUS.FILLED, 1 << SIDE.SELL];
  const paging = (name: string, run: Query['run']): Query => ({ name, isPaging: true, run });
  const other = (name: string, run: Query['run']): Query => ({ name, isPaging: false, run });
  return [
    paging('orders', (account) => orders.list(account, ofOrders)),
    paging('orders, by creation', (account) => orders.list(account, { ...ofOrders, sort: 'created_at' })),
    paging('orders, cursor in the middle', (account) => orders.list(account, { ...ofOrders, ...ofMiddle(account) })),
    paging('trades', (account) => trades.list(account, ofTrades)),
    paging('trades, cursor in the middle', (account) => trades.list(account, { ...ofTrades, ...ofMiddle(account) })),
    paging('activity', (account) => activity.list(account, ofActivity)),
    paging('activity, cursor in the middle', (account) =>
      activity.list(account, { ...ofActivity, ...ofMiddle(account) }),
    ),
    other(`orders, offset ${offset}`, (account) => orders.list(account, { ...ofOrders, offset })),
    other(`trades, offset ${offset}`, (account) => trades.list(account, { ...ofTrades, offset })),
    other(`activity, offset ${offset}`, (account) => activity.list(account, { ...ofActivity, offset })),
    other('orders filled, one of 1000', (account) => orders.list(account, { ...ofOrders, statuses: filled })),
    other('orders that sell, none', (account) => orders.list(account, { ...ofOrders, sides: sells })),
    other('trades in a market, a few', (account) => trades.list(account, { ...ofTrades, market })),
    other('activity in a market, a few', (account) => activity.list(account, { ...ofActivity, market })),
  ];
}

/** The system counts processor time in steps of some milliseconds, so a single query cannot be measured. */
function measure({ run }: Query, account: number): { rows: number; us: number; p50: number } {
  let rows = 0;
  const wallUs: number[] = [];
  const before = process.threadCpuUsage();
  const endMs = performance.now() + MEASURED_MS;
  for (let nowMs = performance.now(); nowMs < endMs; ) {
    rows = run(account).rows.length;
    const doneMs = performance.now();
    wallUs.push((doneMs - nowMs) * 1000);
    nowMs = doneMs;
  }
  const { user, system } = process.threadCpuUsage(before);
  wallUs.sort((one, other) => one - other);
  return { rows, us: (user + system) / wallUs.length, p50: wallUs[Math.floor(wallUs.length / 2)] };
}

function marketId(market: number): Uint8Array {
  const id = Buffer.alloc(UUID_BYTES, 7);
  id.writeUInt32BE(market);
  return id;
}

/** Cancelled orders, one of 1000 filled, and a trade with each. */
function write(path: string, count: number): void {
  const db = new Database(path);
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.pragma('foreign_keys = OFF');
  db.exec(READ_DB_SCHEMA);
  const addMarket = db.prepare<[NewRowOf<typeof MARKETS>]>(insert(MARKETS));
  const addOrder = db.prepare<[NewRowOf<typeof ORDERS>]>(insert(ORDERS));
  const addTrade = db.prepare<[NewRowOf<typeof TRADES>]>(insert(TRADES));
  const addStats = db.prepare<[object]>(insert(ACCOUNT_STATS));
  const random = seededRandom(SEED);
  const below = (limit: number): number => Math.floor(random() * limit);
  const terms = { ticks_per_unit: 100, status: 2, start_ms: 0, end_ms: 0, opened_ms: T0, volume_micro: 0n };
  const all = Math.floor((count * 6) / 5);
  db.transaction(() => {
    for (let market = 0; market < MARKET_COUNT; market++) addMarket.run({ market, uuid: marketId(market), ...terms });
    for (let n = 0; n < all; n++) {
      const other = n % Math.floor(all / SMALL_ROWS) === 0 ? SMALL : 3 + below(OTHERS);
      const account = n % 6 === 0 ? other : LARGE;
      const market = n % Math.floor(RARE / 6) === 0 ? RARE_MARKET : 1 + below(MARKET_COUNT - 1);
      const timeMs = T0 + 2 * n;
      const order = orderOf({ n, account, market, timeMs, isFilled: below(1000) === 0, laterMs: below(1000) });
      addOrder.run(order);
      addTrade.run(
        tradeOf({ n, account, market, timeMs, orderId: order.id, other: 3 + below(OTHERS), isTaker: below(2) === 0 }),
      );
    }
    for (const [account, trades] of [
      [LARGE, count],
      [SMALL, SMALL_ROWS],
    ] as const)
      addStats.run(statsOf(account, trades));
  })();
  db.close();
}

type OrderFacts = Pick<NewRowOf<typeof ORDERS>, 'account' | 'market'> & {
  readonly n: number;
  readonly timeMs: number;
  readonly isFilled: boolean;
  readonly laterMs: number;
};

function orderOf({ n, account, market, timeMs, isFilled, laterMs }: OrderFacts): NewRowOf<typeof ORDERS> {
  return {
    id: timeOrderedIdBytes(timeMs, 0, ID_KIND.ORDER, n + 1),
    hash: new Uint8Array(32),
    ...{ account, market, shard: 0, slot: null, side: SIDE.BUY, outcome: 0, limit_ticks: 50 },
    ...{ maker_amount: 500_000, taker_amount: 1_000_000, lots: 10_000, remaining_lots: isFilled ? 0 : 10_000 },
    ...{ filled_notional_micro: isFilled ? 500_000 : 0, time_in_force: 0, post_only: 0, fee_bps: 50 },
    ...{ expiration_sec: 0, status: isFilled ? ORDER_STATUS.FILLED : ORDER_STATUS.CANCELLED, reason: isFilled ? 0 : 1 },
    ...{ client_order_id: null, order_group: 0, order_sequence: n + 1, shard_sequence: n + 1 },
    ...{ created_ms: timeMs, updated_ms: timeMs + laterMs },
  };
}

type TradeFacts = {
  readonly n: number;
  readonly account: number;
  readonly other: number;
  readonly isTaker: boolean;
  readonly market: number;
  readonly timeMs: number;
  readonly orderId: Uint8Array;
};

function tradeOf({ n, account, other, isTaker, market, timeMs, orderId }: TradeFacts): NewRowOf<typeof TRADES> {
  const [maker_account, taker_account] = isTaker ? [other, account] : [account, other];
  return {
    id: timeOrderedIdBytes(timeMs, 0, ID_KIND.TRADE, n + 1),
    ...{ market, match_type: MATCH_TYPE.STANDARD, yes_ticks: 50, lots: 10_000, matched_ms: timeMs, after_us: 0 },
    ...{ maker_order_id: orderId, maker_account, maker_side: SIDE.SELL, maker_outcome: 0, maker_fee: 2500 },
    ...{ taker_order_id: orderId, taker_account, taker_side: SIDE.BUY, taker_outcome: 0, taker_fee: 5000 },
  };
}

/** All other sums are zero. */
function statsOf(account: number, trades: number): object {
  return { ...Object.fromEntries(ACCOUNT_STATS.inserted.map((name) => [name, 0])), account, trades };
}
