/**
 * The entries of a statement, a page at a time (RULES.md 14.42): an account's trades and movements of funds in
 * historical order (shared/tables/fundMovements.ts). Runs in a thread of the query pool.
 *
 * A page starts where the previous one ended in each of the two lists, so the last page of a million entries costs no
 * more than the first. Its lines are written here: the gateway passes texts on.
 *
 * Invariant:
 *   STATEMENT-1  A page has every entry of the cut between its start and its end, and none of what came later.
 */
import type Database from 'better-sqlite3';
import { FUND_MOVEMENT, OUTCOME, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { isCarriedId, sequenceOfId, shardOfId, shardSequenceOfMovement } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { entryHash } from '../../shared/crypto/entryHash.ts';
import { FUND_MOVEMENTS } from '../../shared/tables/fundMovements.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { BETWEEN_TWO } from '../../shared/tables/trades.ts';
import { MARKET } from '../markets/volumeQueries.ts';
import { TRADE, type TradeRow } from './parties.ts';
import type { StatementCut } from './statementStartQueries.ts';
import { type Cells, entryText, type StatementForm } from './statementText.ts';

/** The ids after which each list continues. */
export type StatementCursor = { readonly trade: Uint8Array; readonly movement: Uint8Array };

export type StatementTask = {
  readonly account: number;
  readonly cut: StatementCut;
  readonly after: StatementCursor;
  /** Ids from here on are not part of the statement. */
  readonly end: Uint8Array;
  /** The USDC before the first entry. */
  readonly usdcMicro: number;
  /** Null if only the balances after the page are wanted. */
  readonly form: StatementForm | null;
  /** Trades and movements together. */
  readonly rows: number;
};

/** Some lines, or an entry whose reference only the gateway knows. */
type StatementPart = string | { readonly cells: Cells; readonly referenceHash: Uint8Array };
export type StatementPage = {
  readonly parts: readonly StatementPart[];
  readonly after: StatementCursor;
  readonly isLast: boolean;
  /** The USDC after the last entry. */
  readonly usdcMicro: number;
  /** Changes of tokens, three numbers each: market, outcome and atomic tokens. */
  readonly tokens: Float64Array;
};

const MOVEMENT = select(
  FUND_MOVEMENTS,
  'id',
  'kind',
  'market',
  'usdc_micro',
  'yes_atomic',
  'no_atomic',
  'reference_hash',
  'after_trade',
  'moved_ms',
);
const MARKET_ID = select(MARKETS, 'uuid');
type MovementRow = SelectedBy<typeof MOVEMENT> & { readonly uuid: Uint8Array | null };
type Range = { readonly account: number; readonly after: Uint8Array; readonly end: Uint8Array; readonly rows: number };

type Entry = {
  readonly market: number | null;
  readonly usdcMicro: number;
  readonly yesAtomic: number;
  readonly noAtomic: number;
  readonly cells: (usdcAfterMicro: number) => Cells;
  readonly referenceHash: Uint8Array | null;
};

const IN_PERIOD = 'id > @after AND id < @end';
/** Lines per text, so that a piece of an answer has only dozens of texts. */
const LINES_PER_TEXT = 16;
/** Time and shard of an id. */
const PLACE_BYTES = 8;
const TYPES: Readonly<Record<number, string>> = {
  [FUND_MOVEMENT.DEPOSIT]: 'deposit',
  [FUND_MOVEMENT.WITHDRAWAL]: 'withdrawal',
  [FUND_MOVEMENT.SPLIT]: 'split',
  [FUND_MOVEMENT.MERGE]: 'merge',
  [FUND_MOVEMENT.CLAIM]: 'claim',
  [FUND_MOVEMENT.SETTLEMENT]: 'settlement',
  [FUND_MOVEMENT.REFUND]: 'refund',
  [FUND_MOVEMENT.CARRIED]: 'carried',
  [FUND_MOVEMENT.UNWINDING]: 'unwinding',
  [FUND_MOVEMENT.FEE]: 'movement_fee',
  [FUND_MOVEMENT.SET_CONVERSION]: 'conversion',
};

export class StatementQueries {
  readonly #trades: Database.Statement<[Range], TradeRow>;
  readonly #movements: Database.Statement<[Range], MovementRow>;

  constructor(db: Database.Database) {
    // Two scans, each along an index, which SQLite would not always choose. A trade with oneself is found by the first.
    this.#trades = db.prepare(`
      SELECT party.*, ${MARKET.sql} FROM (
        SELECT ${TRADE.sql} FROM trades INDEXED BY trades_by_taker
        WHERE taker_account = @account AND ${IN_PERIOD}
        UNION ALL
        SELECT ${TRADE.sql} FROM trades INDEXED BY trades_by_maker
        WHERE maker_account = @account AND ${BETWEEN_TWO} AND ${IN_PERIOD}
        ORDER BY id LIMIT @rows) AS party JOIN markets USING (market)
      ORDER BY id`);
    this.#movements = db.prepare(`
      SELECT ${MOVEMENT.sql}, ${MARKET_ID.sql} FROM fund_movements LEFT JOIN markets USING (market)
      WHERE account = @account AND ${IN_PERIOD} ORDER BY id LIMIT @rows`);
  }

  page(task: StatementTask): StatementPage {
    const { account, after, end, rows } = task;
    const trades = this.#trades.all({ account, after: after.trade, end, rows });
    const movements = this.#movements.all({ account, after: after.movement, end, rows });
    const text = new PageText(task.form, task.usdcMicro);
    let trade = 0;
    let movement = 0;
    // Each list may fill all rows: what lies after its last row is unknown.
    while (trade + movement < task.rows && (trade < trades.length || movement < movements.length)) {
      const nextTrade = trades[trade];
      const nextMovement = movements[movement];
      const isTrade = nextMovement === undefined || (nextTrade !== undefined && isBefore(nextTrade, nextMovement));
      if (isTrade) {
        trade++;
        if (isTradeIn(task.cut, nextTrade.id))
          for (const entry of tradeEntries(nextTrade, task.account)) text.add(entry);
      } else {
        movement++;
        if (isMovementIn(task.cut, nextMovement.id)) text.add(movementEntry(nextMovement));
      }
    }
    return {
      ...text.end(),
      after: {
        trade: trades[trade - 1]?.id ?? task.after.trade,
        movement: movements[movement - 1]?.id ?? task.after.movement,
      },
      isLast: trade + movement < task.rows,
    };
  }
}

/** Within one shard and millisecond, the movement names the trade that it follows. */
function isBefore(trade: TradeRow, movement: MovementRow): boolean {
  const order = Buffer.compare(trade.id.subarray(0, PLACE_BYTES), movement.id.subarray(0, PLACE_BYTES));
  if (order !== 0) return order < 0;
  return !isCarriedId(movement.id) && sequenceOfId(trade.id) <= movement.after_trade;
}

function isTradeIn({ trades }: StatementCut, id: Uint8Array): boolean {
  return sequenceOfId(id) <= (trades[shardOfId(id)] ?? 0);
}

function isMovementIn({ records }: StatementCut, id: Uint8Array): boolean {
  return isCarriedId(id) || shardSequenceOfMovement(id) <= (records[shardOfId(id)] ?? 0);
}

/** Two entries if the account trades with itself, the maker's first: positions count them in this order. */
function* tradeEntries(row: TradeRow, account: number): Generator<Entry> {
  if (row.maker_account === account) {
    const { maker_order_id, maker_side, maker_outcome, maker_fee } = row;
    yield fillEntry(row, 'maker', maker_order_id, maker_side, maker_outcome, maker_fee);
  }
  if (row.taker_account === account) {
    const { taker_order_id, taker_side, taker_outcome, taker_fee } = row;
    yield fillEntry(row, 'taker', taker_order_id, taker_side, taker_outcome, taker_fee);
  }
}

/** One party's part in a trade; the fee is taken from what the party receives. */
function fillEntry(
  row: TradeRow,
  role: 'taker' | 'maker',
  orderId: Uint8Array,
  side: number,
  outcome: number,
  fee: number,
): Entry {
  const isBuy = side === SIDE.BUY;
  const notional = mulSafe(row.lots, ownTicks(outcome, row.yes_ticks, row.ticks_per_unit));
  const tokens = mulSafe(row.lots, row.ticks_per_unit);
  const usdcMicro = isBuy ? 0 - notional : notional - fee;
  const atomic = isBuy ? tokens - fee : 0 - tokens;
  const yesAtomic = outcome === OUTCOME.YES ? atomic : 0;
  const noAtomic = outcome === OUTCOME.NO ? atomic : 0;
  const cells = (usdcAfterMicro: number): Cells => [
    fillTime(row.matched_ms, row.after_us),
    'fill',
    bytesToUuid(row.id),
    null,
    bytesToUuid(row.uuid),
    outcome,
    SIDE_NAMES[side],
    role,
    bytesToUuid(orderId),
    String(usdcMicro),
    String(yesAtomic),
    String(noAtomic),
    isBuy ? '0' : String(fee),
    isBuy ? String(fee) : '0',
    String(usdcAfterMicro),
  ];
  return { market: row.market, usdcMicro, yesAtomic, noAtomic, cells, referenceHash: null };
}

function movementEntry(row: MovementRow): Entry {
  const { usdc_micro: usdcMicro, yes_atomic: yesAtomic, no_atomic: noAtomic, market } = row;
  const marketId = row.uuid === null ? null : bytesToUuid(row.uuid);
  const isEntryOfLedger = marketId !== null && row.kind !== FUND_MOVEMENT.CARRIED;
  const cells = (usdcAfterMicro: number): Cells => [
    new Date(row.moved_ms).toISOString(),
    TYPES[row.kind],
    bytesToUuid(row.id),
    isEntryOfLedger ? entryHash(marketId, shardSequenceOfMovement(row.id)) : null,
    marketId,
    null,
    null,
    null,
    null,
    String(usdcMicro),
    String(yesAtomic),
    String(noAtomic),
    '0',
    '0',
    String(usdcAfterMicro),
  ];
  return { market, usdcMicro, yesAtomic, noAtomic, cells, referenceHash: row.reference_hash };
}

/** The lines of a page, and the balances after it. */
class PageText {
  readonly #form: StatementForm | null;
  readonly #separator: string;
  readonly #parts: StatementPart[] = [];
  readonly #tokens = new Map<string, { readonly market: number; readonly outcome: number; atomic: number }>();
  #usdcMicro: number;
  #lines: string[] = [];

  constructor(form: StatementForm | null, usdcMicro: number) {
    this.#form = form;
    this.#separator = form === 'json' ? ',' : '';
    this.#usdcMicro = usdcMicro;
  }

  add(entry: Entry): void {
    this.#usdcMicro += entry.usdcMicro;
    if (entry.market !== null) {
      this.#addTokens(entry.market, OUTCOME.YES, entry.yesAtomic);
      this.#addTokens(entry.market, OUTCOME.NO, entry.noAtomic);
    }
    if (this.#form === null) return;
    const cells = entry.cells(this.#usdcMicro);
    if (entry.referenceHash !== null) {
      this.#endText();
      this.#parts.push({ cells, referenceHash: entry.referenceHash });
      return;
    }
    this.#lines.push(entryText(this.#form, cells));
    if (this.#lines.length === LINES_PER_TEXT) this.#endText();
  }

  end(): Pick<StatementPage, 'parts' | 'tokens' | 'usdcMicro'> {
    this.#endText();
    const changes = [...this.#tokens.values()].flatMap(({ market, outcome, atomic }) => [market, outcome, atomic]);
    return { parts: this.#parts, tokens: Float64Array.from(changes), usdcMicro: this.#usdcMicro };
  }

  #addTokens(market: number, outcome: number, atomic: number): void {
    if (atomic === 0) return;
    const key = `${market}/${outcome}`;
    const known = this.#tokens.get(key);
    if (known === undefined) this.#tokens.set(key, { market, outcome, atomic });
    else known.atomic += atomic;
  }

  #endText(): void {
    if (this.#lines.length === 0) return;
    this.#parts.push(this.#lines.join(this.#separator));
    this.#lines = [];
  }
}
