/**
 * The notifications of an account that are derived from the journals (RULES.md 14.60): its orders that ended, the
 * markets that were decided while it held their tokens, its deposits and withdrawals. They are not stored: the newest
 * of each kind are found through an index and merged. Runs in a thread of the query pool.
 *
 * Order of the list: newest first, those of one millisecond by id. An id is that of the order, market or movement.
 */
import type Database from 'better-sqlite3';
import { CLOSE_REASON, ORDER_STATUS } from '../../shared/base/codes.ts';
import { shardOfId, shardSequenceOfMovement } from '../../shared/base/ids.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { CURSORS } from '../../shared/tables/cursors.ts';
import { FUND_MOVEMENTS, PAID_IN_OR_OUT } from '../../shared/tables/fundMovements.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { CANCELLED_UNASKED, CLOSED, ORDERS } from '../../shared/tables/orders.ts';
import { MARKET_STATS } from '../../shared/tables/statsMarkets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { timeOfId } from '../base/page.ts';
import { ArchivedOrders, type ArchivedPart } from './archivedOrdersQueries.ts';

/** The place at which a list continues: after the notification with this time and id. */
export type NotificationPlace = { readonly createdMs: number; readonly id: Uint8Array };

type Found = NotificationPlace & {
  /** The journal record from which it is derived. */
  readonly shard: number;
  readonly shardSequence: number;
};
export type EndedOrder = Found & { readonly kind: 'order'; readonly order: OrderRow };
export type DecidedMarket = Found & {
  readonly kind: 'market';
  readonly market: number;
  /** MARKET_STATUS. */
  readonly status: number;
  readonly payoutYesPpm: number;
};
export type FundsMoved = Found & { readonly kind: 'funds'; readonly usdcMicro: number };
export type Occurrence = EndedOrder | DecidedMarket | FundsMoved;

/** Read notifications: everything in the records up to these, by shard, and everything older than `fromMs`. */
type ReadThrough = { readonly fromMs: number; readonly through: readonly number[] };

export type NotificationsTask = {
  readonly account: number;
  /** Null to begin with the newest. */
  readonly after: NotificationPlace | null;
  readonly limit: number;
  /** Null if nothing has been read. */
  readonly read: ReadThrough | null;
  /** Unread notifications are counted up to this number. */
  readonly mostUnread: number;
};
export type FoundNotifications = {
  readonly rows: readonly Occurrence[];
  /** Where reading ended before the list did: the rows are those before this place. Null if all were read. */
  readonly end: NotificationPlace | null;
  readonly unread: number;
  /** The last record of each shard that this answer includes. */
  readonly heads: readonly number[];
};

const ORDER = select(
  ORDERS,
  'id',
  'market',
  'shard',
  'side',
  'outcome',
  'limit_ticks',
  'lots',
  'remaining_lots',
  'filled_notional_micro',
  'reason',
  'shard_sequence',
  'updated_ms',
);
const UNITS = select(MARKETS, 'ticks_per_unit');
type OwnRow = SelectedBy<typeof ORDER>;
type Units = SelectedBy<typeof UNITS>;
export type OrderRow = OwnRow & Units;
const MARKET_ID = select(MARKETS, 'uuid');
const DECISION = select(MARKET_STATS, 'market', 'shard', 'status', 'payout_yes_ppm', 'resolved_ms', 'decided_sequence');
type MarketRow = SelectedBy<typeof DECISION> & SelectedBy<typeof MARKET_ID>;
const MOVEMENT = select(FUND_MOVEMENTS, 'id', 'usdc_micro', 'moved_ms');
type MovementRow = SelectedBy<typeof MOVEMENT>;
const HEAD = select(CURSORS, 'shard', 'sequence');

type Bounds = {
  readonly account: number;
  readonly beforeMs: number;
  readonly beforeId: Uint8Array;
  readonly fromMs: number;
  readonly limit: number;
};

type PartBounds = Bounds & { readonly lastId: Uint8Array };
type Key = Pick<OwnRow, 'id' | 'updated_ms'>;

/** The conditions of the scans over orders that never filled: each is a range of an index, also in the archive. */
const UNFILLED = [
  `${CLOSED} AND account = @account AND orders.status = ${ORDER_STATUS.EXPIRED}`,
  `${CANCELLED_UNASKED} AND account = @account`,
];
const ENDED = [`${CLOSED} AND account = @account AND orders.status = ${ORDER_STATUS.FILLED}`, ...UNFILLED];
const BEFORE = '(updated_ms, orders.id) < (@beforeMs, @beforeId) AND updated_ms >= @fromMs';
/** The same of a part of the archive. */
const ARCHIVED = UNFILLED.map((walk) => `FROM orders WHERE ${walk} AND ${BEFORE} AND id <= @lastId`);
/** An account holds tokens of few markets compared with all markets, so its positions are scanned. */
const HELD = `
  FROM positions
  CROSS JOIN market_stats USING (market) CROSS JOIN markets USING (market)
  WHERE account = @account AND decided_sequence > 0 AND (quantity_atomic <> 0 OR is_paid = 1)
    AND (resolved_ms, uuid) < (@beforeMs, @beforeId) AND resolved_ms >= @fromMs`;
/** The number of read notifications among which unread ones are searched. */
const MOST_PASSED = 1000;
/** Times have 48 bits. */
const START: NotificationPlace = { createdMs: 2 ** 48 - 1, id: new Uint8Array(16).fill(0xff) };

export class NotificationQueries {
  readonly #archive: ArchivedOrders;
  readonly #orders: readonly Database.Statement<[Bounds], OrderRow>[];
  readonly #markets: Database.Statement<[Bounds], MarketRow>;
  readonly #movements: Database.Statement<[Bounds], MovementRow>;
  readonly #counts: readonly Database.Statement<[Bounds], number>[];
  readonly #order: Database.Statement<[{ account: number; id: Uint8Array }], OrderRow>;
  readonly #market: Database.Statement<[{ account: number; id: Uint8Array }], MarketRow>;
  readonly #movement: Database.Statement<[{ account: number; id: Uint8Array }], MovementRow>;
  readonly #heads: Database.Statement<[], SelectedBy<typeof HEAD>>;

  constructor(db: Database.Database) {
    this.#archive = ArchivedOrders.of(db);
    const orders = `SELECT ${ORDER.sql}, ${UNITS.sql} FROM orders CROSS JOIN markets USING (market)`;
    this.#orders = ENDED.map((walk) =>
      db.prepare(`${orders} WHERE ${walk} AND ${BEFORE} ORDER BY updated_ms DESC, orders.id DESC LIMIT @limit`),
    );
    this.#markets = db.prepare(`
      SELECT ${DECISION.sql}, ${MARKET_ID.sql} ${HELD}
      GROUP BY positions.market ORDER BY resolved_ms DESC, uuid DESC LIMIT @limit`);
    // The ids of an account's movements sort by time.
    const movements = `SELECT ${MOVEMENT.sql} FROM fund_movements WHERE ${PAID_IN_OR_OUT} AND account = @account`;
    const moved = '(moved_ms, id) < (@beforeMs, @beforeId) AND moved_ms >= @fromMs';
    this.#movements = db.prepare(`${movements} AND ${moved} ORDER BY moved_ms DESC, id DESC LIMIT @limit`);
    const counts = [
      ...ENDED.map((walk) => `SELECT count(*) FROM (SELECT 1 FROM orders WHERE ${walk} AND ${BEFORE} LIMIT @limit)`),
      `SELECT count(DISTINCT positions.market) ${HELD}`,
      `SELECT count(*) FROM (
        SELECT 1 FROM fund_movements WHERE ${PAID_IN_OR_OUT} AND account = @account AND ${moved} LIMIT @limit)`,
    ];
    this.#counts = counts.map((sql) => db.prepare<[Bounds], number>(sql).pluck());
    this.#order = db.prepare(`${orders} WHERE orders.id = @id AND account = @account`);
    this.#market = db.prepare(`
      SELECT ${DECISION.sql}, ${MARKET_ID.sql} FROM markets
      CROSS JOIN market_stats USING (market) CROSS JOIN positions USING (market)
      WHERE uuid = @id AND account = @account AND decided_sequence > 0 AND (quantity_atomic <> 0 OR is_paid = 1)`);
    this.#movement = db.prepare(`${movements} AND id = @id`);
    this.#heads = db.prepare(`SELECT ${HEAD.sql} FROM cursors ORDER BY shard`);
  }

  /** Null if the account has no notification with this id; whether another has one stays unknown to it. */
  one(account: number, id: Uint8Array): Occurrence | null {
    const key = { account, id };
    const order = this.#order.get(key) ?? this.#archivedOrder(key);
    if (order !== undefined) return isNotified(order) ? ofOrder(order) : null;
    const market = this.#market.get(key);
    if (market !== undefined) return ofMarket(market);
    const movement = this.#movement.get(key);
    return movement === undefined ? null : ofMovement(movement);
  }

  page({ account, after, limit, read, mostUnread }: NotificationsTask): FoundNotifications {
    const { createdMs: beforeMs, id: beforeId } = after ?? START;
    const bounds = { account, beforeMs, beforeId, fromMs: 0, limit };
    const live = [...this.#walks(bounds)].sort(newestFirst);
    const { rows, end } = this.#withArchived(live, bounds);
    const heads: number[] = [];
    for (const { shard, sequence } of this.#heads.iterate()) heads[shard] = sequence;
    return { rows: rows.slice(0, limit), end, unread: this.#countUnread(account, read, mostUnread), heads };
  }

  #countUnread(account: number, read: ReadThrough | null, most: number): number {
    const bounds = { account, beforeMs: START.createdMs, beforeId: START.id, fromMs: read?.fromMs ?? 0 };
    let unread = 0;
    if (read === null) {
      // Indexes say how many there are.
      for (const count of this.#counts) if (unread < most) unread += count.get({ ...bounds, limit: most - unread })!;
      return Math.min(unread + this.#countArchived(bounds, most - unread), most);
    }
    // Each scan lists unread ones first; among the read ones only records that were under way at that time can be
    // unread.
    const all = { ...bounds, limit: most + MOST_PASSED };
    for (const { shard, shardSequence } of chained(this.#walks(all), () => this.#withArchived([], all).rows)) {
      if (unread === most) break;
      if (shardSequence > (read.through[shard] ?? 0)) unread++;
    }
    return unread;
  }

  /** The newest of these and of the archived orders. */
  #withArchived(live: readonly Occurrence[], bounds: Bounds): Pick<FoundNotifications, 'rows' | 'end'> {
    const found = this.#archive.list<Occurrence | Key>({
      parts: this.#archive.partsOf(bounds.account),
      order: (a, b) => b.last_ms - a.last_ms,
      spansStart: ({ last_ms }) => last_ms >= bounds.beforeMs,
      mayHave: (part) => mayHave(part, bounds),
      live,
      wanted: bounds.limit,
      read: (file, { last_id: lastId }) => {
        const keys = ARCHIVED.flatMap((walk) => {
          const sql = `SELECT id, updated_ms ${walk} ORDER BY updated_ms DESC, id DESC LIMIT @limit`;
          return prepared<[PartBounds], Key>(file, sql).all({ ...bounds, lastId });
        });
        return keys.sort((a, b) => newestFirst(placeOf(a), placeOf(b)));
      },
      mayPrecede: (part, row) => part.last_ms >= placeOf(row).createdMs,
      precedes: (a, b) => newestFirst(placeOf(a), placeOf(b)) < 0,
    });
    const rows = found.rows.map(({ row, part }) => ('kind' in row ? row : ofOrder(this.#orderOf(part!, row.id))));
    return { rows, end: found.unread === null ? null : { ...START, createdMs: found.unread.last_ms } };
  }

  #countArchived(bounds: Omit<Bounds, 'limit'>, most: number): number {
    const limit = Math.max(most, 0);
    const counts = ARCHIVED.map((walk) => `SELECT count(*) AS counted FROM (SELECT 1 ${walk} LIMIT @limit)`);
    const list = ['notifications', bounds.account, bounds.fromMs].join('/');
    const { rows } = this.#archive.count(list, this.#partsOf(bounds), most, (file, { last_id: lastId }) => {
      return counts.reduce((sum, sql) => {
        return sum + prepared<[PartBounds], { counted: number }>(file, sql).get({ ...bounds, limit, lastId })!.counted;
      }, 0);
    });
    return rows;
  }

  /** Those that may have an order that ended in this time. */
  #partsOf({ account, fromMs, beforeMs }: Omit<Bounds, 'limit'>): ArchivedPart[] {
    return this.#archive.partsOf(account).filter((part) => mayHave(part, { fromMs, beforeMs }));
  }

  #archivedOrder({ account, id }: { readonly account: number; readonly id: Uint8Array }): OrderRow | undefined {
    const part = this.#archive.partWith(account, id);
    return part === undefined ? undefined : this.#orderOf(part, id);
  }

  #orderOf(part: ArchivedPart, id: Uint8Array): OrderRow {
    return this.#archive.order<OwnRow, Units>(part, ORDER.sql, UNITS.sql, id);
  }

  *#walks(bounds: Bounds): Generator<Occurrence, void> {
    for (const walk of this.#orders) for (const row of walk.iterate(bounds)) yield ofOrder(row);
    for (const row of this.#markets.iterate(bounds)) yield ofMarket(row);
    for (const row of this.#movements.iterate(bounds)) yield ofMovement(row);
  }
}

/** False if no order of the part has ended in this time. */
function mayHave(part: ArchivedPart, { fromMs, beforeMs }: Pick<Bounds, 'fromMs' | 'beforeMs'>): boolean {
  return part.last_ms >= fromMs && timeOfId(part.first_id) <= beforeMs;
}

/** Newest first. */
export function newestFirst(a: NotificationPlace, b: NotificationPlace): number {
  return b.createdMs - a.createdMs || Buffer.compare(b.id, a.id);
}

function placeOf(row: Occurrence | Key): NotificationPlace {
  return 'kind' in row ? row : { createdMs: row.updated_ms, id: row.id };
}

/** The second part is made when the first has been read. */
function* chained<T>(first: Iterable<T>, second: () => Iterable<T>): Generator<T, void> {
  yield* first;
  yield* second();
}

function isNotified({ reason }: OrderRow): boolean {
  return reason !== null && reason !== CLOSE_REASON.USER && reason !== CLOSE_REASON.NONCE_FLOOR;
}

function ofOrder(order: OrderRow): EndedOrder {
  const { id, shard, shard_sequence: shardSequence, updated_ms: createdMs } = order;
  return { kind: 'order', id, createdMs, shard, shardSequence, order };
}

function ofMarket(row: MarketRow): DecidedMarket {
  const { market, shard, status, payout_yes_ppm: payoutYesPpm } = row;
  const { uuid: id, resolved_ms: createdMs, decided_sequence: shardSequence } = row;
  return { kind: 'market', id, createdMs, shard, shardSequence, market, status, payoutYesPpm };
}

function ofMovement({ id, usdc_micro: usdcMicro, moved_ms: createdMs }: MovementRow): FundsMoved {
  return { kind: 'funds', id, createdMs, shard: shardOfId(id), shardSequence: shardSequenceOfMovement(id), usdcMicro };
}
