/**
 * The SQL of the trades of an account, and their rows in both versions of the list (RULES.md 14.4 to 14.6). Runs in a
 * thread of the query pool.
 */
import type Database from 'better-sqlite3';
import { SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { BETWEEN_TWO } from '../../shared/tables/trades.ts';
import { ALL_MARKETS, MARKET, marketIndex } from './markets.ts';
import { firstIdAfter, type HistoryPage, historyPage, MAX_COUNTED, type Position, START, timeOfId } from './page.ts';
import { type NoParty, type Party, partyOf, type Role, roleOf, TRADE, type TradeRow, tokensOf } from './parties.ts';

export type TradeFilters = Readonly<{
  /** The 16 bytes of its id; null for all markets. */
  market: Uint8Array | null;
  /** Bit n is set when trades whose taker has side n are wanted. */
  takerSides: number;
  sinceMs: number;
  limit: number;
  offset: number;
  /** Only trades after this one in the list; null for all. */
  after: Position | null;
}>;

export type TradeRecord = Readonly<{
  id: string;
  market_id: string;
  taker_order_id: string;
  maker_order_id: string;
  price: string;
  amount: string;
  taker_side: (typeof SIDE_NAMES)[number];
  outcome_index: number;
  role: Role | null;
  settlement_status: 'settled';
  matched_at: string;
}> &
  (Party | NoParty);

/** The first version of the list. */
export type LegacyTradeRecord = Readonly<{
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
  readonly beforeId: Uint8Array;
  readonly limit: number;
  readonly offset: number;
};

const FILTER = `
  id >= @firstId AND id < @beforeId AND (@takerSides >> taker_side) & 1
  AND (@market = ${ALL_MARKETS} OR market = @market)`;

/** Two walks, newest first, each inside an index of its own. A trade with oneself is found by the first only. */
const PARTY_WALKS = `
  SELECT id FROM trades WHERE taker_account = @account AND ${FILTER}
  UNION ALL
  SELECT id FROM trades WHERE maker_account = @account AND ${BETWEEN_TWO} AND ${FILTER}`;

export class TradeQueries {
  readonly #market: (uuid: Uint8Array | null) => number | undefined;
  readonly #readPage: (parameters: ListParameters) => { rows: TradeRow[]; counted: number };

  constructor(db: Database.Database) {
    this.#market = marketIndex(db);
    const list = db.prepare<[ListParameters], TradeRow>(`
      SELECT ${TRADE.sql}, ${MARKET.sql}
      FROM (${PARTY_WALKS} ORDER BY id DESC LIMIT @limit OFFSET @offset) AS page
        CROSS JOIN trades ON trades.id = page.id CROSS JOIN markets USING (market)
      ORDER BY page.id DESC`);
    const count = db
      .prepare<[ListParameters], number>(`SELECT count(*) FROM (${PARTY_WALKS} LIMIT ${MAX_COUNTED + 1})`)
      .pluck();
    // One transaction, so that total and rows are of the same moment.
    this.#readPage = db.transaction((parameters: ListParameters) => {
      const counted = count.get({ ...parameters, beforeId: START.id })!;
      return { rows: parameters.offset < counted ? list.all(parameters) : [], counted };
    });
  }

  list(account: number, filters: TradeFilters): HistoryPage<TradeRecord> {
    return this.#page(account, filters, tradeRecord);
  }

  legacyList(account: number, filters: TradeFilters): HistoryPage<LegacyTradeRecord> {
    return this.#page(account, filters, legacyTradeRecord);
  }

  #page<T>(account: number, filters: TradeFilters, show: (row: TradeRow, account: number) => T): HistoryPage<T> {
    const { limit, offset, takerSides, sinceMs, after } = filters;
    const market = this.#market(filters.market);
    if (market === undefined) return { total: 0, isFloor: false, rows: [], next: null };
    const { id: beforeId } = after ?? START;
    const span = { firstId: firstIdAfter(sinceMs), beforeId, limit: limit + 1, offset };
    const { rows, counted } = this.#readPage({ account, market, takerSides, ...span });
    return historyPage(rows, { counted, limit, offset }, (row) => show(row, account), positionOf);
  }
}

function positionOf({ id }: TradeRow): Position {
  return { atMs: timeOfId(id), rank: 0, id };
}

/** One fill as one of its parties sees it. */
function tradeRecord(row: TradeRow, account: number): TradeRecord {
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
    settlement_status: 'settled',
    matched_at: new Date(row.matched_ms).toISOString(),
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
    created_at: new Date(row.matched_ms).toISOString(),
    ...partyOf(row, roleOf(row, account)),
  };
}
