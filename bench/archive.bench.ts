/**
 * How much disk do the orders of 90 days take, 95 in 100 of which were cancelled, and do lists that go on into the
 * archive cost more when there are ten times as many? Writes ten orders for each trade as rows, because a shard and the
 * projector would take hours for them, archives them as the projector does, and runs the lists of accounts over a tenth
 * and the whole. One account has a quarter of the orders, a hundred have half, and the others some hundred each.
 *
 * `--trades 10000000` is the goal of 100 million orders, for which the disk needs 70 GB. For fewer, the bytes of each
 * order are multiplied.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { OrderArchive, USUAL_PACE } from '../engine/projector/orderArchive.ts';
import { OrderHashes } from '../engine/projector/orderHashes.ts';
import { openReadDb } from '../engine/projector/readDb.ts';
import { ActivityQueries } from '../gateway/account/activityQueries.ts';
import { OrderLists } from '../gateway/account/orderListsQueries.ts';
import { OrderQueries } from '../gateway/account/orderQueries.ts';
import { TradeQueries } from '../gateway/account/tradeQueries.ts';
import { FILLS_EVER, type Position, SINCE_EVER } from '../gateway/base/page.ts';
import { CLOSE_REASON, MATCH_TYPE, ORDER_STATUS } from '../shared/base/codes.ts';
import { UUID_BYTES } from '../shared/base/hex.ts';
import { ID_KIND, timeOrderedIdBytes } from '../shared/base/ids.ts';
import { MARKETS } from '../shared/tables/markets.ts';
import { archiveFolder } from '../shared/tables/orderArchive.ts';
import type { Order } from '../shared/tables/orderBlocks.ts';
import { ORDERS } from '../shared/tables/orders.ts';
import { insert, type NewRowOf } from '../shared/tables/table.ts';
import { TRADES } from '../shared/tables/trades.ts';
import { Random } from '../test/support/random.ts';
import { atMost, type Report, type Row } from './report.ts';

const SEED = 5;
const DAY_MS = 86_400_000;
const SPAN_MS = 90 * DAY_MS;
const END_MS = Date.UTC(2026, 9, 1);
const KEPT_MS = 10 * DAY_MS;
const GOAL_ORDERS = 100_000_000;
const GOAL_GB = 20;
/** Of the orders of 90 days, 10 of which stay. */
const ARCHIVED_SHARE = 0.95 * (80 / 90);
const MOST_TIMES = 1.3;
const ORDERS_PER_TRADE = 10;
const FILLED_EVERY = 20;
const EXPIRED_EVERY = 25;
const MARKET_COUNT = 1000;
const LARGE = 1;
const MAKERS = 100;
const ORDERS_OF_SMALL = 200;
const BATCH = 10_000;
const MEASURED_MS = 1500;

type Made = { readonly db: Database.Database; readonly orders: number; readonly hashes: readonly Uint8Array[] };
type Query = { readonly name: string; run(account: number, random: Random): unknown };

export async function run({ isFull, trades }: { isFull: boolean; trades?: number | undefined }): Promise<Report> {
  const orders = (trades ?? (isFull ? 1_000_000 : 20_000)) * ORDERS_PER_TRADE;
  const directory = mkdtempSync(join(tmpdir(), 'bench-archive-'));
  try {
    const tenth = make(join(directory, 'tenth'), orders / 10);
    const whole = make(join(directory, 'whole'), orders);
    const sizes = sizesOf(whole);
    const rows: Row[] = sizes.map(({ name, bytes, bytesEach }) => {
      return { what: name, MB: bytes / 1e6, 'bytes each': bytesEach };
    });
    const goals = [];
    for (const [name, accountOf] of ACCOUNTS) {
      const [few, many] = [queriesOf(tenth), queriesOf(whole)];
      for (const [index, query] of many.entries()) {
        const [small, large] = [measure(few[index], accountOf), measure(query, accountOf)];
        rows.push({ what: `${name}: ${query.name}`, 'us, a tenth': small, 'us, whole': large, ratio: large / small });
        goals.push(atMost(`${name}: ${query.name}, whole / a tenth`, large / small, MOST_TIMES));
      }
    }
    const bytesEach = (name: string): number => sizes.find((size) => size.name.trim() === name)!.bytesEach;
    const ofAll = bytesEach('order_hashes') + bytesEach('trades') / ORDERS_PER_TRADE;
    const ofLive = (1 - ARCHIVED_SHARE) * bytesEach('orders');
    const extrapolated = GOAL_ORDERS * (ofAll + ofLive + ARCHIVED_SHARE * bytesEach('archive'));
    goals.push(atMost('GB of 100 million orders, from the bytes of each', extrapolated / 1e9, GOAL_GB));
    tenth.db.close();
    whole.db.close();
    return {
      bench: 'archive',
      settings: `${orders} orders in 90 days, ${orders / 10} trades; seed ${SEED}`,
      rows,
      goals,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const ACCOUNTS = [
  ['a quarter of all', () => LARGE],
  ['a few hundred orders', (random: Random) => LARGE + MAKERS + 1 + random.below(50)],
] as const;

function make(directory: string, orders: number): Made {
  const random = new Random(SEED);
  mkdirSync(directory);
  const db = openReadDb(join(directory, 'read.db'), false);
  const hashes = write(db, orders, random);
  const archive = new OrderArchive(db);
  // Few orders share files over a longer time, so that these are as full as those of the goal.
  const spanMs = Math.max(DAY_MS, Math.floor((SPAN_MS / orders) * USUAL_PACE.fileOrders));
  while (archive.step(END_MS, { ...USUAL_PACE, spanMs, keptMs: KEPT_MS }));
  archive.close();
  db.pragma('wal_checkpoint(TRUNCATE)');
  return { db, orders, hashes };
}

/** The orders of a day come one after the other; each has ended when the next day begins. @returns hashes of some */
function write(db: Database.Database, orders: number, random: Random): readonly Uint8Array[] {
  const addMarket = db.prepare<[NewRowOf<typeof MARKETS>]>(insert(MARKETS));
  const addOrder = db.prepare<[Order]>(insert(ORDERS));
  const addTrade = db.prepare<[NewRowOf<typeof TRADES>]>(insert(TRADES));
  const hashes = new OrderHashes(db);
  const kept: Uint8Array[] = [];
  const others = Math.max(50, Math.floor(orders / 4 / ORDERS_OF_SMALL));
  const terms = { ticks_per_unit: 100, status: 2, start_ms: 0, end_ms: 0, opened_ms: 0, volume_micro: 0n };
  const addBatch = db.transaction((from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const order = orderOf(n, orders, accountOf(others, random), random);
      addOrder.run(order);
      hashes.add(order.hash, order.id);
      if (n % Math.ceil(orders / 1000) === 0 && order.account === LARGE) kept.push(order.hash);
      if (n % ORDERS_PER_TRADE === 0) addTrade.run(tradeOf(order, accountOf(others, random)));
    }
    hashes.flush();
  });
  for (let market = 0; market < MARKET_COUNT; market++) addMarket.run({ market, uuid: marketId(market), ...terms });
  for (let from = 0; from < orders; from += BATCH) addBatch(from, Math.min(from + BATCH, orders));
  return kept;
}

function accountOf(others: number, random: Random): number {
  const kind = random.below(4);
  if (kind === 0) return LARGE;
  return kind < 3 ? LARGE + 1 + random.below(MAKERS) : LARGE + MAKERS + 1 + random.below(others);
}

function orderOf(n: number, orders: number, account: number, random: Random): Order {
  const created_ms = END_MS - SPAN_MS + Math.floor((n * SPAN_MS) / orders);
  const [isFilled, isExpired] = [n % FILLED_EVERY === 0, n % EXPIRED_EVERY === 1];
  const [ticks, lots] = [1 + random.below(99), 10_000 * (1 + random.below(500))];
  const side = random.below(2);
  const amounts = [(lots * ticks) / 100, lots] as const;
  const reason = isFilled ? CLOSE_REASON.FILLED : isExpired ? CLOSE_REASON.EXPIRED : CLOSE_REASON.USER;
  const status = isFilled ? ORDER_STATUS.FILLED : isExpired ? ORDER_STATUS.EXPIRED : ORDER_STATUS.CANCELLED;
  return {
    id: timeOrderedIdBytes(created_ms, 0, ID_KIND.ORDER, n + 1),
    hash: Uint8Array.from({ length: 32 }, () => random.below(256)),
    ...{ account, market: random.below(MARKET_COUNT), shard: 0, slot: null, side, outcome: random.below(2) },
    ...{ limit_ticks: ticks, maker_amount: amounts[side], taker_amount: amounts[1 - side], lots },
    ...{ remaining_lots: isFilled ? 0 : lots, filled_notional_micro: isFilled ? lots * ticks : 0, time_in_force: 0 },
    ...{ post_only: random.below(2), fee_bps: 50, expiration_sec: isExpired ? Math.ceil(created_ms / 1000) + 60 : 0 },
    ...{ status, reason, client_order_id: account % 2 === 0 ? `quote-${n}` : null, order_group: 0 },
    ...{ order_sequence: n + 1, shard_sequence: 2 * n + random.below(99), created_ms },
    updated_ms: created_ms + random.below(60_000),
  };
}

function tradeOf(order: Order, other: number): NewRowOf<typeof TRADES> {
  return {
    id: timeOrderedIdBytes(order.created_ms, 0, ID_KIND.TRADE, order.order_sequence),
    ...{ market: order.market, match_type: MATCH_TYPE.STANDARD, yes_ticks: order.limit_ticks, lots: order.lots },
    ...{
      maker_order_id: order.id,
      maker_account: other,
      maker_side: 1 - order.side,
      maker_outcome: 0,
      maker_fee: 2500,
    },
    ...{ taker_order_id: order.id, taker_account: order.account, taker_side: order.side, taker_outcome: 0 },
    ...{ taker_fee: 5000, matched_ms: order.created_ms, after_us: 0 },
  };
}

function marketId(market: number): Uint8Array {
  const id = Buffer.alloc(UUID_BYTES, 7);
  id.writeUInt32BE(market);
  return id;
}

type Size = { readonly name: string; readonly bytes: number; readonly bytesEach: number };

/** The archive, and the largest tables of read.db with their indexes. */
function sizesOf({ db, orders }: Made): Size[] {
  const folder = archiveFolder(db.name);
  const archived = db.prepare<[], number>('SELECT sum(orders) FROM archived_files').pluck().get()!;
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const tables = db
    .prepare<[], { name: string; bytes: number }>(`
      SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name)
      WHERE aggregate = TRUE GROUP BY tbl_name ORDER BY bytes DESC LIMIT 4`)
    .all();
  const counts: Record<string, number> = { orders: orders - archived, trades: orders / ORDERS_PER_TRADE };
  return [
    { name: 'archive', bytes, bytesEach: bytes / archived },
    ...tables.map((table) => ({ ...table, bytesEach: table.bytes / (counts[table.name] ?? orders) })),
  ];
}

function queriesOf({ db, hashes }: Made): Query[] {
  const [orders, trades, activity, one] = [
    new OrderLists(db),
    new TradeQueries(db),
    new ActivityQueries(db),
    new OrderQueries(db),
  ];
  const page = { limit: 50, offset: 0 };
  const every = { ...page, statuses: 0xff, sides: 0xff, outcomes: 0xff, sinceMs: SINCE_EVER };
  const cancelled = { ...every, statuses: 1 << ORDER_STATUS.CANCELLED };
  const [byUpdate, byCreation] = ['updated_at', 'created_at'] as const;
  const after = (random: Random): Position => {
    const atMs = END_MS - 30 * DAY_MS - random.below(30 * DAY_MS);
    return { atMs, rank: 1, id: timeOrderedIdBytes(atMs, 0, ID_KIND.TRADE, 0) };
  };
  const ofActivity = { ...page, market: null, type: null };
  const ofTrades = { ...page, market: null, takerSides: 0xff, sinceMicros: FILLS_EVER };
  return [
    { name: 'orders', run: (account) => orders.list(account, { ...every, sort: byUpdate, after: null }) },
    {
      name: 'orders, archived',
      run: (account, random) => orders.list(account, { ...every, sort: byUpdate, after: after(random) }),
    },
    {
      name: 'orders by creation, archived',
      run: (account, random) => orders.list(account, { ...every, sort: byCreation, after: after(random) }),
    },
    {
      name: 'cancelled orders, archived',
      run: (account, random) => orders.list(account, { ...cancelled, sort: byUpdate, after: after(random) }),
    },
    {
      name: 'activity, archived',
      run: (account, random) => activity.list(account, { ...ofActivity, after: after(random) }),
    },
    {
      name: 'trades, as old',
      run: (account, random) => trades.list(account, { ...ofTrades, after: after(random) }),
    },
    {
      name: 'an order by its hash',
      run: (account, random) => one.byHash(account, hashes[random.below(hashes.length)]),
    },
  ];
}

/** In processor time, because other programs on the machine change it least. */
function measure({ run }: Query, accountOf: (random: Random) => number): number {
  const random = new Random(SEED);
  let count = 0;
  for (let warmUps = 0; warmUps < 20; warmUps++) run(accountOf(random), random);
  const before = process.threadCpuUsage();
  for (const endMs = performance.now() + MEASURED_MS; performance.now() < endMs; count++)
    run(accountOf(random), random);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / count;
}
