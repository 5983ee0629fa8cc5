/**
 * The SQL of the trades of an account, and their rows in both versions of the list (RULES.md 14.4 to 14.6). Runs in a
 * thread of the query pool.
 */
import type Database from 'better-sqlite3';
import { type SettlementStatus, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { bytesToUuid, toHex } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { BETWEEN_TWO } from '../../shared/tables/trades.ts';
import {
  EMPTY_HISTORY,
  fillIdsSince,
  firstIdAfter,
  type HistoryPage,
  historyPage,
  MAX_COUNTED,
  type Position,
  START,
  timeOfId,
} from '../base/page.ts';
import { ALL_MARKETS, MARKET, type MarketFilter, marketFilter } from '../markets/volumeQueries.ts';
import { LongLists } from './longLists.ts';
import { type NoParty, type Party, partyOf, type Role, roleOf, TRADE, type TradeRow, tokensOf } from './parties.ts';
import { LEDGER_SETTLEMENTS, type Settlements, type TradeSettlementRecord } from './settlementQueries.ts';
import { ShorterWalk } from './shorterWalkQueries.ts';

export type TradeFilters = Readonly<{
  /** The 16 bytes of its id; null for all markets. */
  market: Uint8Array | null;
  /** Bit n is set if trades whose taker has side n are wanted. */
  takerSides: number;
  /** FILLS_EVER for all. */
  sinceMicros: number;
  limit: number;
  offset: number;
  /** Only trades after this one in the list; null for all. */
  after: Position | null;
}>;

type TradeRecord = Readonly<{
  id: string;
  market_id: string;
  taker_order_id: string;
  maker_order_id: string;
  price: string;
  amount: string;
  taker_side: (typeof SIDE_NAMES)[number];
  outcome_index: number;
  role: Role | null;
  settlement_status: SettlementStatus;
  matched_at: string;
}> &
  (Party | NoParty) &
  OwnPart;

/** The account's own order and fee, null with the fields of its party. */
type OwnPart = Readonly<{
  order_hash: string | null;
  fee_amount: string | null;
  fee_asset: 'USDC' | 'TOKEN' | null;
}>;

/** With the hash of the account's own order. */
type ListedRow = TradeRow & { readonly own_hash: Uint8Array | null };

/** The first version of the list. */
type LegacyTradeRecord = Readonly<{
  id: string;
  market_id: string;
  outcome: number;
  price: string;
  quantity: string;
  side: (typeof SIDE_NAMES)[number];
  tx_signature: null;
  created_at: string;
}> &
  (Party | NoParty);

type ListParameters = {
  readonly account: number;
  readonly market: number;
  readonly takerSides: number;
  readonly firstId: Uint8Array;
  /** The id from which on fills are surely not before `sinceMicros`. */
  readonly surelyId: Uint8Array;
  readonly sinceMicros: number;
  readonly beforeId: Uint8Array;
  readonly limit: number;
  readonly offset: number;
};

const BOTH_SIDES = (1 << SIDE.BUY) | (1 << SIDE.SELL);
/** Computed only for the few fills that may lie on either side of the bound: the indexes do not have it. */
const FILLED_US = '(SELECT matched_ms * 1000 + after_us FROM trades AS timed WHERE timed.id = trades.id)';
const SPAN = `id >= @firstId AND id < @beforeId AND (id >= @surelyId OR ${FILLED_US} >= @sinceMicros)
      AND (@takerSides >> taker_side) & 1`;
const OF_ACCOUNT = `${SPAN} AND (@market = ${ALL_MARKETS} OR market = @market)`;

/** Null for an order that read.db does not have. */
const OWN_HASH =
  '(SELECT hash FROM orders AS own WHERE own.id = iif(taker_account = @account, taker_order_id, maker_order_id))';

/**
 * By account there are two scans, newest first, each along its own index; a trade with oneself is found only by the
 * first. By market there is one scan.
 */
const WALKS = {
  account: `
    SELECT id FROM trades WHERE taker_account = @account AND ${OF_ACCOUNT}
    UNION ALL
    SELECT id FROM trades WHERE maker_account = @account AND ${BETWEEN_TWO} AND ${OF_ACCOUNT}`,
  market: `
    SELECT id FROM trades INDEXED BY trades_by_market
    WHERE market = @market AND (taker_account = @account OR maker_account = @account) AND ${SPAN}`,
} as const;

/** Writes the rows of a page once all of them are known. */
type Show<T> = (rows: readonly ListedRow[]) => (row: ListedRow) => T;
type Reader = (parameters: ListParameters) => Pages;
type Pages = { readonly rows: ListedRow[]; readonly counted: number };

export class TradeQueries {
  readonly #market: (uuid: Uint8Array | null) => MarketFilter | undefined;
  readonly #shorter: ShorterWalk;
  readonly #along: Readonly<Record<keyof typeof WALKS, Reader>>;
  readonly #settlements: Settlements;
  readonly #matched: Database.Statement<
    [{ id: Uint8Array; account: number }],
    Pick<TradeRow, 'matched_ms' | 'after_us'>
  >;

  constructor(db: Database.Database, settlements: Settlements = LEDGER_SETTLEMENTS) {
    this.#settlements = settlements;
    this.#matched = db.prepare(`
      SELECT matched_ms, after_us FROM trades
      WHERE id = @id AND (taker_account = @account OR maker_account = @account)`);
    this.#market = marketFilter(db);
    this.#shorter = new ShorterWalk(db);
    this.#along = { account: reader(db, WALKS.account), market: reader(db, WALKS.market) };
  }

  list(account: number, filters: TradeFilters): HistoryPage<TradeRecord> {
    return this.#page(account, filters, (rows) => {
      const statuses = this.#settlements.statusesOf(rows.map(({ id }) => id));
      return (row) => tradeRecord(row, account, statuses[rows.indexOf(row)]);
    });
  }

  /** Null if the account has no such trade. */
  settlement(account: number, id: Uint8Array): TradeSettlementRecord | null {
    const row = this.#matched.get({ id, account });
    return row === undefined ? null : this.#settlements.of(id, fillTime(row.matched_ms, row.after_us));
  }

  legacyList(account: number, filters: TradeFilters): HistoryPage<LegacyTradeRecord> {
    return this.#page(account, filters, () => (row) => legacyTradeRecord(row, account));
  }

  #page<T>(account: number, filters: TradeFilters, show: Show<T>): HistoryPage<T> {
    const { limit, offset, takerSides, sinceMicros, after } = filters;
    const filter = this.#market(filters.market);
    if (filter === undefined) return EMPTY_HISTORY;
    const { market, opened_ms } = filter;
    const ids = fillIdsSince(sinceMicros);
    const opened = firstIdAfter(opened_ms - 1);
    const firstId = Buffer.compare(ids.firstId, opened) > 0 ? ids.firstId : opened;
    const span = { ...ids, firstId, sinceMicros, beforeId: (after ?? START).id, limit: limit + 1, offset };
    const isOfMarket = market !== ALL_MARKETS && this.#shorter.isOfMarket(account, market);
    const read = this.#along[isOfMarket ? 'market' : 'account'];
    const { rows, counted } = read({ account, market, takerSides: takerSides & BOTH_SIDES, ...span });
    return historyPage(rows, { counted, limit, offset }, show(rows), positionOf);
  }
}

function reader(db: Database.Database, walks: string): Reader {
  const list = db.prepare<[ListParameters], ListedRow>(`
    SELECT ${TRADE.sql}, ${MARKET.sql}, ${OWN_HASH} AS own_hash
    FROM (${walks} ORDER BY id DESC LIMIT @limit OFFSET @offset) AS page
      CROSS JOIN trades ON trades.id = page.id CROSS JOIN markets USING (market)
    ORDER BY page.id DESC`);
  const count = db
    .prepare<[ListParameters], number>(`SELECT count(*) FROM (${walks} LIMIT ${MAX_COUNTED + 1})`)
    .pluck();
  const long = new LongLists();
  return (parameters) => {
    const { account, market, takerSides, firstId, sinceMicros } = parameters;
    const name = [account, market, takerSides, timeOfId(firstId), sinceMicros].join('/');
    const counted = long.counted(name, () => count.get({ ...parameters, beforeId: START.id })!);
    return { rows: parameters.offset < counted ? list.all(parameters) : [], counted };
  };
}

function positionOf({ id }: TradeRow): Position {
  return { atMs: timeOfId(id), rank: 0, id };
}

/** One fill as one of its parties sees it. */
function tradeRecord(row: ListedRow, account: number, settlement_status: SettlementStatus): TradeRecord {
  const party = partyOf(row, roleOf(row, account));
  const takerTicks = ownTicks(row.taker_outcome, row.yes_ticks, row.ticks_per_unit);
  return {
    id: bytesToUuid(row.id),
    market_id: bytesToUuid(row.uuid),
    taker_order_id: bytesToUuid(row.taker_order_id),
    maker_order_id: bytesToUuid(row.maker_order_id),
    price: tickToPrice8(takerTicks, row.ticks_per_unit),
    amount: row.taker_side === SIDE.BUY ? String(mulSafe(row.lots, takerTicks)) : tokensOf(row),
    taker_side: SIDE_NAMES[row.taker_side],
    outcome_index: row.taker_outcome,
    role: party.party_order_id === null ? null : roleOf(row, account),
    ...party,
    ...ownPart(row, party),
    settlement_status,
    matched_at: fillTime(row.matched_ms, row.after_us),
  };
}

function ownPart(row: ListedRow, { party_side, party_order_id }: Party | NoParty): OwnPart {
  if (party_side === null) return { order_hash: null, fee_amount: null, fee_asset: null };
  const isTaker = party_order_id === bytesToUuid(row.taker_order_id);
  return {
    order_hash: row.own_hash === null ? null : toHex(row.own_hash),
    fee_amount: String(isTaker ? row.taker_fee : row.maker_fee),
    fee_asset: party_side === 'BUY' ? 'TOKEN' : 'USDC',
  };
}

function legacyTradeRecord(row: TradeRow, account: number): LegacyTradeRecord {
  const takerTicks = ownTicks(row.taker_outcome, row.yes_ticks, row.ticks_per_unit);
  return {
    id: bytesToUuid(row.id),
    market_id: bytesToUuid(row.uuid),
    outcome: row.taker_outcome,
    price: tickToPrice8(takerTicks, row.ticks_per_unit),
    quantity: tokensOf(row),
    side: SIDE_NAMES[row.taker_side],
    tx_signature: null,
    created_at: fillTime(row.matched_ms, row.after_us),
    ...partyOf(row, roleOf(row, account)),
  };
}
