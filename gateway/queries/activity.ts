/**
 * The activity of an account (RULES.md 14.7): what its orders and trades say has happened, newest first. Nothing is
 * stored for it. Five walks, each inside an index, are merged: orders placed, fills as taker and as maker, orders
 * cancelled and expired. Runs in a thread of the query pool.
 *
 * Rows of one millisecond are sorted by rank, so that an order is placed before it is filled and filled before it ends.
 */
import type Database from 'better-sqlite3';
import { CLOSE_REASON_NAMES, ORDER_STATUS, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { limitPrice, ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { CLOSED, ORDERS } from '../../shared/tables/orders.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { BETWEEN_TWO } from '../../shared/tables/trades.ts';
import { ALL_MARKETS, MARKET, marketIndex } from './markets.ts';
import { ORDER_COLUMNS, type OrderRow, orderFacts } from './orders.ts';
import { firstIdAfter, type HistoryPage, historyPage, MAX_COUNTED, type Position, START, timeOfId } from './page.ts';
import { NO_PARTY, type NoParty, type Party, partyOf, roleOf, TRADE, type TradeRow, tokensOf } from './parties.ts';

type ActivityType = 'fill' | 'placed' | 'cancelled' | 'expired';

export type ActivityFilters = Readonly<{
  /** The 16 bytes of its id; null for all markets. */
  market: Uint8Array | null;
  /** Null: all types. */
  type: ActivityType | null;
  limit: number;
  offset: number;
  /** Only rows after this one in the list; null for all. */
  after: Position | null;
}>;

/** `party_outcome_name` is known to the gateway only. */
type ActivityRecord = Readonly<{
  id: string;
  type: ActivityType;
  market_id: string;
  order_id: string;
  trade_id: string | null;
  side: string;
  outcome_index: number;
  price: string;
  quantity_atomic: string;
  reason: string | null;
  created_at: string;
}> &
  (Party | NoParty);

export type StoredActivity = { readonly record: ActivityRecord; readonly market: number };

const ENDING = select(ORDERS, 'market', 'shard', 'reason');
type EndingRow = SelectedBy<typeof ENDING>;
const MOST = MAX_COUNTED + 1;

type WalkParameters = {
  readonly account: number;
  readonly market: number;
  readonly beforeMs: number;
  readonly beforeId: Uint8Array;
};
type Walk = {
  readonly type: ActivityType;
  readonly rank: number;
  readonly found: string;
  readonly order: string;
};
type Found = { readonly at: number | null; readonly id: Uint8Array };
type Entry = Position & { readonly type: ActivityType };
type PreparedWalk = Omit<Walk, 'found' | 'order'> & {
  readonly statement: Database.Statement<[WalkParameters], Found>;
};

const RANK = { PLACED: 0, FILL: 1, ENDED: 2 } as const;
/** Before every id. */
const NO_ID = new Uint8Array(0);
const IN_MARKET = `(@market = ${ALL_MARKETS} OR market = @market)`;
const BY_ID = `id < @beforeId AND ${IN_MARKET}`;

/** `at` is null where the id says it. */
const WALKS: readonly Walk[] = [
  {
    type: 'placed',
    rank: RANK.PLACED,
    found: `SELECT NULL AS at, id FROM orders INDEXED BY orders_created WHERE account = @account AND ${BY_ID}`,
    order: 'id DESC',
  },
  walkOfFills('taker_account = @account'),
  walkOfFills(`maker_account = @account AND ${BETWEEN_TWO}`),
  walkOfEnded('cancelled', ORDER_STATUS.CANCELLED),
  walkOfEnded('expired', ORDER_STATUS.EXPIRED),
];

function walkOfFills(party: string): Walk {
  const found = `SELECT NULL AS at, id FROM trades WHERE ${party} AND ${BY_ID}`;
  return { type: 'fill', rank: RANK.FILL, found, order: 'id DESC' };
}

function walkOfEnded(type: 'cancelled' | 'expired', status: number): Walk {
  const found = `
    SELECT updated_ms AS at, id FROM orders INDEXED BY orders_closed
    WHERE ${CLOSED} AND account = @account AND status = ${status}
      AND (updated_ms, id) < (@beforeMs, @beforeId) AND ${IN_MARKET}`;
  return { type, rank: RANK.ENDED, found, order: 'updated_ms DESC, id DESC' };
}

export class ActivityQueries {
  readonly #market: (uuid: Uint8Array | null) => number | undefined;
  readonly #walks: readonly PreparedWalk[];
  /** By type; under the empty text all types. */
  readonly #counts: ReadonlyMap<string, Database.Statement<[WalkParameters], number>>;
  readonly #order: Database.Statement<[Uint8Array], OrderRow & EndingRow>;
  readonly #trade: Database.Statement<[Uint8Array], TradeRow>;
  readonly #readPage: (account: number, market: number, filters: ActivityFilters) => HistoryPage<StoredActivity>;

  constructor(db: Database.Database) {
    this.#market = marketIndex(db);
    this.#walks = WALKS.map(({ type, rank, found, order }) => {
      return { type, rank, statement: db.prepare(`${found} ORDER BY ${order}`) };
    });
    this.#counts = new Map(
      ['', ...new Set(WALKS.map(({ type }) => type))].map((type) => {
        const walks = WALKS.filter((walk) => type === '' || walk.type === type);
        const sql = walks.map(({ found }) => found).join(' UNION ALL ');
        return [type, db.prepare<[WalkParameters], number>(`SELECT count(*) FROM (${sql} LIMIT ${MOST})`).pluck()];
      }),
    );
    this.#order = db.prepare(`
      SELECT ${ORDER_COLUMNS}, ${ENDING.sql} FROM orders CROSS JOIN markets USING (market) WHERE id = ?`);
    this.#trade = db.prepare(`
      SELECT ${TRADE.sql}, ${MARKET.sql} FROM trades CROSS JOIN markets USING (market) WHERE id = ?`);
    // One transaction, so that total and rows are of the same moment.
    this.#readPage = db.transaction((account: number, market: number, filters: ActivityFilters) =>
      this.#page(account, market, filters),
    );
  }

  list(account: number, filters: ActivityFilters): HistoryPage<StoredActivity> {
    const market = this.#market(filters.market);
    if (market === undefined) return { total: 0, isFloor: false, rows: [], next: null };
    return this.#readPage(account, market, filters);
  }

  #page(account: number, market: number, { type, limit, offset, after }: ActivityFilters): HistoryPage<StoredActivity> {
    const all = { account, market, beforeMs: START.atMs, beforeId: START.id };
    const counted = this.#counts.get(type ?? '')!.get(all)!;
    const entries: Entry[] = [];
    if (offset < counted) {
      const walks = this.#walks.filter((walk) => type === null || walk.type === type);
      let skipped = 0;
      for (const entry of merged(walks, { account, market }, after)) {
        if (skipped++ < offset) continue;
        entries.push(entry);
        if (entries.length > limit) break;
      }
    }
    return historyPage(entries, { counted, limit, offset }, (entry) => this.#show(account, entry), positionOf);
  }

  #show(account: number, { type, id }: Entry): StoredActivity {
    if (type !== 'fill') {
      const row = this.#order.get(id)!;
      return { record: ofOrder(type, row), market: row.market };
    }
    const row = this.#trade.get(id)!;
    return { record: ofTrade(row, account), market: row.market };
  }
}

/** The rows of all walks, newest first, each read when it is due. */
function* merged(
  walks: readonly PreparedWalk[],
  parameters: { readonly account: number; readonly market: number },
  after: Position | null,
): Generator<Entry, void> {
  const readers = walks.map((walk) => entriesOf(walk, { ...parameters, ...boundOf(walk.rank, after) }));
  try {
    const heads = readers.map((reader) => next(reader));
    for (;;) {
      let first = -1;
      for (let i = 0; i < heads.length; i++) {
        if (heads[i] !== null && (first < 0 || isBefore(heads[i]!, heads[first]!))) first = i;
      }
      if (first < 0) return;
      yield heads[first]!;
      heads[first] = next(readers[first]!);
    }
  } finally {
    for (const reader of readers) reader.return();
  }
}

function* entriesOf({ type, rank, statement }: PreparedWalk, parameters: WalkParameters): Generator<Entry, void> {
  for (const { at, id } of statement.iterate(parameters)) yield { type, rank, atMs: at ?? timeOfId(id), id };
}

function next(reader: Generator<Entry, void>): Entry | null {
  return reader.next().value ?? null;
}

/** Where a walk over rows of this rank goes on after a position of the list. */
function boundOf(rank: number, after: Position | null): Pick<WalkParameters, 'beforeMs' | 'beforeId'> {
  if (after === null) return { beforeMs: START.atMs, beforeId: START.id };
  const { atMs, id } = after;
  if (rank === after.rank) return { beforeMs: atMs, beforeId: id };
  // Of the position's own millisecond the rows of lower ranks follow it, those of higher ranks come before it.
  const beforeMs = rank < after.rank ? atMs + 1 : atMs;
  // The id of an order says when it was placed, which is long before it ends.
  return { beforeMs, beforeId: rank === RANK.ENDED ? NO_ID : firstIdAfter(beforeMs - 1) };
}

function isBefore(a: Position, b: Position): boolean {
  if (a.atMs !== b.atMs) return a.atMs > b.atMs;
  if (a.rank !== b.rank) return a.rank > b.rank;
  return Buffer.compare(a.id, b.id) > 0;
}

function positionOf({ atMs, rank, id }: Entry): Position {
  return { atMs, rank, id };
}

/** The ending of an order has an id of its own: one list does not have an id twice. */
function ofOrder(type: Exclude<ActivityType, 'fill'>, row: OrderRow & EndingRow): ActivityRecord {
  const order = orderFacts(row);
  const isPlaced = type === 'placed';
  return {
    id: isPlaced ? order.id : timeOrderedId(row.updated_ms, row.shard, ID_KIND.ENDING, row.order_sequence),
    type,
    market_id: order.marketId,
    order_id: order.id,
    trade_id: null,
    side: SIDE_NAMES[row.side],
    outcome_index: row.outcome,
    price: limitPrice(order),
    quantity_atomic: String(mulSafe(isPlaced ? row.lots : row.remaining_lots, row.ticks_per_unit)),
    reason: isPlaced ? null : CLOSE_REASON_NAMES[row.reason!],
    created_at: new Date(isPlaced ? row.created_ms : row.updated_ms).toISOString(),
    ...NO_PARTY,
  };
}

function ofTrade(row: TradeRow, account: number): ActivityRecord {
  const isTaker = row.taker_account === account;
  const outcome = isTaker ? row.taker_outcome : row.maker_outcome;
  return {
    id: bytesToUuid(row.id),
    type: 'fill',
    market_id: bytesToUuid(row.uuid),
    order_id: bytesToUuid(isTaker ? row.taker_order_id : row.maker_order_id),
    trade_id: bytesToUuid(row.id),
    side: SIDE_NAMES[isTaker ? row.taker_side : row.maker_side],
    outcome_index: outcome,
    price: tickToPrice8(ownTicks(outcome, row.yes_ticks, row.ticks_per_unit), row.ticks_per_unit),
    quantity_atomic: tokensOf(row),
    reason: null,
    created_at: new Date(row.matched_ms).toISOString(),
    ...partyOf(row, roleOf(row, account)),
  };
}
