/**
 * The SQL of the trade queries, and their rows as one party sees them (RULES.md 7.4). Runs in a thread of the query
 * pool.
 */
import type Database from 'better-sqlite3';
import { SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';
import { MARKET } from './markets.ts';
import { firstIdAfter, MAX_COUNTED, type Page, pageOf } from './page.ts';

export type TradeFilters = Readonly<{
  /** The 16 bytes of its id; null for all markets. */
  market: Uint8Array | null;
  /** Bit n is set when trades whose taker has side n are wanted. */
  takerSides: number;
  sinceMs: number;
  limit: number;
  offset: number;
}>;

export type TradeRecord = Readonly<{
  id: string;
  market_id: string;
  taker_order_id: string;
  maker_order_id: string;
  price: string;
  amount: string;
  taker_side: string;
  outcome_index: number;
  role: 'taker' | 'maker';
  party_order_id: string;
  party_side: string;
  party_outcome_index: number;
  notional_usdc_micro: string;
  token_quantity_atomic: string;
  settlement_status: 'settled';
  matched_at: string;
}>;

const TRADE = select(
  TRADES,
  'id',
  'market',
  'yes_ticks',
  'lots',
  'maker_order_id',
  'maker_side',
  'maker_outcome',
  'taker_order_id',
  'taker_account',
  'taker_side',
  'taker_outcome',
  'matched_ms',
);
type TradeRow = SelectedBy<typeof TRADE> & SelectedBy<typeof MARKET>;

type ListParameters = Omit<TradeFilters, 'market' | 'sinceMs'> & {
  readonly account: number;
  readonly market: number;
  readonly firstId: Uint8Array;
};

const ALL_MARKETS = -1;

const FILTER = `
  id >= @firstId AND (@takerSides >> taker_side) & 1 AND (@market = ${ALL_MARKETS} OR market = @market)`;

/** Two walks, newest first, each along its own index. A trade with oneself is found by the first walk only. */
const PARTY = `
  SELECT ${TRADE.sql} FROM trades WHERE taker_account = @account AND ${FILTER}
  UNION ALL
  SELECT ${TRADE.sql} FROM trades WHERE maker_account = @account AND taker_account <> @account AND ${FILTER}`;

export class TradeQueries {
  readonly #market: Database.Statement<[Uint8Array], number>;
  readonly #list: Database.Statement<[ListParameters], TradeRow>;
  readonly #count: Database.Statement<[ListParameters], number>;
  readonly #readPage: (parameters: ListParameters) => { rows: TradeRow[]; total: number };

  constructor(db: Database.Database) {
    this.#market = db.prepare<[Uint8Array], number>('SELECT market FROM markets WHERE uuid = ?').pluck();
    this.#list = db.prepare(`
      SELECT party.*, ${MARKET.sql}
      FROM (${PARTY} ORDER BY id DESC LIMIT @limit OFFSET @offset) AS party JOIN markets USING (market)
      ORDER BY id DESC`);
    this.#count = db
      .prepare<[ListParameters], number>(`SELECT count(*) FROM (${PARTY} LIMIT ${MAX_COUNTED + 1})`)
      .pluck();
    // One transaction, so that total and rows are of the same moment.
    this.#readPage = db.transaction((parameters: ListParameters) => ({
      rows: this.#list.all(parameters),
      total: this.#count.get(parameters)!,
    }));
  }

  list(account: number, { market: uuid, sinceMs, ...filters }: TradeFilters): Page<TradeRecord> {
    const market = uuid === null ? ALL_MARKETS : this.#market.get(uuid);
    if (market === undefined) return pageOf([], 0, 0);
    const page = this.#readPage({ account, market, firstId: firstIdAfter(sinceMs), ...filters });
    const rows = page.rows.map((row) => tradeRecord(row, account));
    return pageOf(rows, page.total, filters.offset);
  }
}

/** One fill as one of its parties sees it: `account` is the taker, the maker or both, and then seen as the taker. */
function tradeRecord(row: TradeRow, account: number): TradeRecord {
  const isTaker = row.taker_account === account;
  const takerOrderId = bytesToUuid(row.taker_order_id);
  const makerOrderId = bytesToUuid(row.maker_order_id);
  const partyOutcome = isTaker ? row.taker_outcome : row.maker_outcome;
  const tokens = String(mulSafe(row.lots, row.ticks_per_unit));
  const partyTicks = ownTicks(partyOutcome, row.yes_ticks, row.ticks_per_unit);
  const takerTicks = ownTicks(row.taker_outcome, row.yes_ticks, row.ticks_per_unit);
  return {
    id: bytesToUuid(row.id),
    market_id: bytesToUuid(row.uuid),
    taker_order_id: takerOrderId,
    maker_order_id: makerOrderId,
    price: tickToPrice8(takerTicks, row.ticks_per_unit),
    amount: row.taker_side === SIDE.BUY ? String(mulSafe(row.lots, takerTicks)) : tokens,
    taker_side: SIDE_NAMES[row.taker_side],
    outcome_index: row.taker_outcome,
    role: isTaker ? 'taker' : 'maker',
    party_order_id: isTaker ? takerOrderId : makerOrderId,
    party_side: SIDE_NAMES[isTaker ? row.taker_side : row.maker_side],
    party_outcome_index: partyOutcome,
    notional_usdc_micro: String(mulSafe(row.lots, partyTicks)),
    token_quantity_atomic: tokens,
    settlement_status: 'settled',
    matched_at: new Date(row.matched_ms).toISOString(),
  };
}
