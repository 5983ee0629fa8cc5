/**
 * The activity of an account (RULES.md 14.7), derived from its orders and trades, newest first. No separate rows are
 * stored. Runs in a thread of the query pool.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON_NAMES, SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { ID_KIND, shardOfId, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { limitPrice, ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { EMPTY_HISTORY, type HistoryPage, historyPage, MAX_OFFSET, type Position, startOfMs } from '../base/page.ts';
import { MARKET, type MarketFilter, marketFilter } from '../markets/volumeQueries.ts';
import { type ActivityEntry, type ActivityType, ActivityWalks } from './activityWalksQueries.ts';
import { ArchivedOrders, type ArchivedPart, type Found } from './archivedOrdersQueries.ts';
import { type MarketOfOrder, ORDER, ORDER_COLUMNS, type OrderRow, type OwnRow, orderFacts } from './orderQueries.ts';
import { NO_PARTY, type NoParty, type Party, partyOf, roleOf, TRADE, type TradeRow, tokensOf } from './parties.ts';

export type ActivityFilters = Readonly<{
  /** The 16 bytes of its id; null for all markets. */
  market: Uint8Array | null;
  /** Null for all types. */
  type: ActivityType | null;
  limit: number;
  offset: number;
  /** Only rows after this one in the list; null for all. */
  after: Position | null;
}>;

/** Only the gateway knows `party_outcome_name`. */
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

/** The largest page. */
const MOST_ROWS = 100;
const IDS = new Array(MOST_ROWS).fill('?').join();
const ENDING = select(ORDERS, 'market', 'shard', 'reason');
type EndingRow = SelectedBy<typeof ENDING>;

export class ActivityQueries {
  readonly #archive: ArchivedOrders;
  readonly #market: (uuid: Uint8Array | null) => MarketFilter | undefined;
  readonly #walks: ActivityWalks;
  readonly #orders: Database.Statement<(Uint8Array | null)[], OrderRow & EndingRow>;
  readonly #trades: Database.Statement<(Uint8Array | null)[], TradeRow>;

  constructor(db: Database.Database) {
    this.#archive = ArchivedOrders.of(db);
    this.#market = marketFilter(db);
    this.#walks = new ActivityWalks(db);
    this.#orders = db.prepare(`
      SELECT ${ORDER_COLUMNS}, ${ENDING.sql} FROM orders CROSS JOIN markets USING (market) WHERE id IN (${IDS})`);
    this.#trades = db.prepare(`
      SELECT ${TRADE.sql}, ${MARKET.sql} FROM trades CROSS JOIN markets USING (market) WHERE id IN (${IDS})`);
  }

  list(account: number, filters: ActivityFilters): HistoryPage<StoredActivity> {
    const market = this.#market(filters.market);
    if (market === undefined) return EMPTY_HISTORY;
    return this.#page(account, market, filters);
  }

  #page(account: number, market: MarketFilter, filters: ActivityFilters): HistoryPage<StoredActivity> {
    const { type, limit, offset, after } = filters;
    const { counted, isCut, rows, archivedBeforeMs, unread } = this.#walks.page(
      { account, type, ...market },
      after,
      Math.min(offset, MAX_OFFSET) + limit + 1,
    );
    const found = offset > MAX_OFFSET ? [] : rows.slice(offset);
    const show = this.#shower(account, found.slice(0, limit));
    const end = unread === null ? null : { after: startOfMs(unread.last_ms), known: rows.length };
    const bounds = { counted, isCut, limit, offset, unread: end };
    const page = historyPage(found, bounds, show, ({ row }) => positionOf(row));
    return { ...page, archivedBeforeMs };
  }

  #archived(part: ArchivedPart, id: Uint8Array): OrderRow & EndingRow {
    return this.#archive.order<OwnRow & EndingRow, MarketOfOrder>(part, `${ORDER.sql}, ${ENDING.sql}`, MARKET.sql, id);
  }

  /** Reads the rows of all entries at once: a statement per entry would cost several times as much. */
  #shower(account: number, found: readonly Found<ActivityEntry>[]): (entry: Found<ActivityEntry>) => StoredActivity {
    const entries = found.filter(({ part }) => part === null).map(({ row }) => row);
    const orders = byId(
      this.#orders,
      entries.filter(({ type }) => type !== 'fill'),
    );
    const trades = byId(
      this.#trades,
      entries.filter(({ type }) => type === 'fill'),
    );
    return ({ row: { type, id }, part }) => {
      if (type === 'fill') {
        const row = trades.get(bytesToUuid(id))!;
        return { record: ofTrade(row, account), market: row.market };
      }
      const row = part === null ? orders.get(bytesToUuid(id))! : this.#archived(part, id);
      return { record: ofOrder(type, row), market: row.market };
    };
  }
}

function byId<R extends { readonly id: Uint8Array }>(
  statement: Database.Statement<(Uint8Array | null)[], R>,
  entries: readonly ActivityEntry[],
): ReadonlyMap<string, R> {
  assert(entries.length <= MOST_ROWS, 'activity: the rows of a page are read by one statement');
  const ids = Array.from({ length: MOST_ROWS }, (_, index) => entries[index]?.id ?? null);
  return new Map(statement.all(...ids).map((row) => [bytesToUuid(row.id), row]));
}

function positionOf({ atMs, rank, id }: ActivityEntry): Position {
  return { atMs, rank, id };
}

/** The end of an order has an id of its own, so that no id appears twice in a list. */
function ofOrder(type: Exclude<ActivityType, 'fill'>, row: OrderRow & EndingRow): ActivityRecord {
  const order = orderFacts(row);
  const isPlaced = type === 'placed';
  return {
    id: isPlaced ? order.id : timeOrderedId(row.updated_ms, shardOfId(row.id), ID_KIND.ENDING, row.order_sequence),
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
    created_at: fillTime(row.matched_ms, row.after_us),
    ...partyOf(row, roleOf(row, account)),
  };
}
