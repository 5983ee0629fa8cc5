/**
 * The tables of the public history (RULES.md 13.15), each declared once for its writer, its readers and the documents.
 * No column names an owner: no account, wallet, hash, client order id or reason of a cancel. The hash of an order stays
 * out because on a chain its fills are published with the wallet beside the hash; the id of an order is what the stream
 * shows, and the one who placed the order has it.
 */

export type HistoryType = 'text' | 'int32' | 'int64';
type HistoryColumn = { readonly type: HistoryType; readonly meaning: string };
type Columns = Readonly<Record<string, HistoryColumn>>;

const text = (meaning: string) => ({ type: 'text', meaning }) as const;
const int32 = (meaning: string) => ({ type: 'int32', meaning }) as const;
const int64 = (meaning: string) => ({ type: 'int64', meaning }) as const;

const MARKET_ID = text('UUID of the market');
const TICKS_PER_UNIT = int32('price steps of one USDC, and atomic tokens of one lot');
const YES_TICKS = int32('price of a Yes; a price is yes_ticks / ticks_per_unit USDC, that of a No the rest to one');
const LOTS = 'tokens are lots * ticks_per_unit / 1,000,000';

export const HISTORY_TABLES = {
  markets: {
    market_id: MARKET_ID,
    sequence: int64('number of the last public frame before it'),
    time_ms: int64('Unix milliseconds'),
    change: text('opening: as it was when the day began; change: from here on'),
    status: text('draft, pending, active, locked, resolving, resolved, settled or cancelled'),
    stage: text('open, post_only or cancel_only'),
    fee_bps: int32('fee in hundredths of a percent'),
    ticks_per_unit: TICKS_PER_UNIT,
    min_order_atomic: int64('least order, in millionths of a token'),
    trading_starts_ms: int64('Unix milliseconds, 0 for none'),
    trading_ends_ms: int64('Unix milliseconds, 0 for none'),
    payout_yes_ppm: int32('what a Yes pays once the market is decided, in millionths of a USDC'),
  },
  trades: {
    market_id: MARKET_ID,
    sequence: int64('number of the frame in its market, as on the stream'),
    time_us: int64('Unix microseconds: the time of the fill'),
    trade_id: text('UUID of the trade'),
    match_type: text('standard, mint or merge'),
    taker_side: text('BUY or SELL'),
    outcome_index: int32('outcome of the taker: 0 is Yes, 1 is No'),
    yes_ticks: YES_TICKS,
    ticks_per_unit: TICKS_PER_UNIT,
    lots: int64(LOTS),
  },
  book_events: {
    market_id: MARKET_ID,
    sequence: int64('number of the frame in its market, as on the stream; of resting rows the last one before'),
    time_ms: int64('Unix milliseconds; of resting rows when the day began'),
    event: text(
      'resting: in the book when the day began; open, fill, cancel, expire, dormant and wake as on the stream',
    ),
    order_id: text('UUID of the order'),
    side: text('BUY or SELL'),
    outcome_index: int32('outcome of the order: 0 is Yes, 1 is No'),
    book_side: text('bid or ask, in terms of Yes'),
    yes_ticks: YES_TICKS,
    ticks_per_unit: TICKS_PER_UNIT,
    lots: int64(`what the event is about; ${LOTS}`),
    remaining_lots: int64('what of the order is in the book after it'),
    priority: int64('of two orders of a level the one with the lower number is filled first'),
    level_lots: int64('sum of the level after it'),
    level_orders: int32('orders of the level after it'),
  },
  books: {
    market_id: MARKET_ID,
    time_ms: int64('Unix milliseconds: the end of a minute in which the book changed'),
    sequence: int64('number of the last frame before that'),
    checksum: int64('that of the whole book (RULES.md 8.8), as the stream publishes it'),
    book_side: text('bid or ask in terms of Yes; empty in the one row of a book without levels'),
    level: int32('0 is the best price of its side; the twenty best of each side are listed'),
    yes_ticks: YES_TICKS,
    ticks_per_unit: TICKS_PER_UNIT,
    lots: int64(LOTS),
    orders: int32('orders of the level'),
  },
  candles: {
    market_id: MARKET_ID,
    interval: text('1m, 5m, 15m, 1h, 4h or 1d'),
    start_ms: int64('Unix milliseconds; intervals without a trade have no row'),
    trades: int32('number of trades'),
    lots: int64(LOTS),
    notional_micro: int64('millionths of a USDC, at the prices of Yes'),
    volume_micro: int64('millionths of a USDC, at the prices of the takers'),
    open_ticks: YES_TICKS,
    high_ticks: YES_TICKS,
    low_ticks: YES_TICKS,
    close_ticks: YES_TICKS,
    ticks_per_unit: TICKS_PER_UNIT,
  },
} as const satisfies Readonly<Record<string, Columns>>;

export type HistoryTable = keyof typeof HISTORY_TABLES;
export const HISTORY_TABLE_NAMES = [
  'markets',
  'trades',
  'book_events',
  'books',
  'candles',
] as const satisfies readonly HistoryTable[];
export const HISTORY_FORMATS = ['csv.gz', 'parquet'] as const;
export type HistoryFormat = (typeof HISTORY_FORMATS)[number];
export const HISTORY_FORMAT = 1;
/** Levels of each side in the rows of `books`. */
export const BOOK_LEVELS = 20;

export function historyColumns(table: HistoryTable): readonly (readonly [string, HistoryColumn])[] {
  return Object.entries<HistoryColumn>(HISTORY_TABLES[table]);
}

/** The first line of a CSV. */
export function historyHead(table: HistoryTable): string {
  return `${Object.keys(HISTORY_TABLES[table]).join(',')}\n`;
}

/** A part of each manifest. Titles may change, and journals do not have them: the same journals give the same bytes. */
export const HISTORY_TITLES = 'titles of markets are not part of the history: GET /v1/markets/:id has the present one';

export type HistoryFile = {
  readonly table: HistoryTable;
  readonly format: HistoryFormat;
  /** Null: of all markets. */
  readonly market_id: string | null;
  /** Below the folder of the day. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
};

/** The content of `manifest.json` in the folder of a day. */
export type HistoryManifest = {
  readonly format: number;
  /** YYYY-MM-DD, in UTC. */
  readonly day: string;
  /** False: history began on this day, after its start. */
  readonly complete: boolean;
  /** HISTORY_TITLES. */
  readonly titles: string;
  readonly tables: Readonly<Record<HistoryTable, Readonly<Record<string, HistoryColumn>>>>;
  readonly shards: readonly { readonly shard: number; readonly first_record: number; readonly last_record: number }[];
  readonly markets: readonly {
    readonly market_id: string;
    readonly shard: number;
    readonly ticks_per_unit: number;
    /** Of the public frames of the day; null without one. */
    readonly first_sequence: number | null;
    readonly last_sequence: number | null;
  }[];
  readonly files: readonly HistoryFile[];
};

/** The content of `state.json` beside the days: what there is, and how far the writer is behind the journals. */
export type HistoryState = {
  readonly format: number;
  /** When it was written. */
  readonly time_ms: number;
  /** Committed records of all shards that are not in the history yet. */
  readonly behind_records: number;
  /** Age of the last record that is in it, of the slowest shard; 0 if it has all. */
  readonly behind_ms: number;
  /** The published days, oldest first. */
  readonly days: readonly { readonly day: string; readonly complete: boolean }[];
  readonly shards: readonly {
    readonly shard: number;
    /** The last record in the history, and its time; 0 before the first. */
    readonly record: number;
    readonly record_ms: number;
    /** The last committed record. */
    readonly last_record: number;
  }[];
};
export const HISTORY_STATE_FILE = 'state.json';

const DAY_NAME = /^\d{4}-\d{2}-\d{2}$/;

/** Of the folder of a day. */
export function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

/** Of the day with this name. */
export function dayStartMs(name: string): number {
  return Date.parse(name);
}

export function isDayName(name: string): boolean {
  return DAY_NAME.test(name);
}

/** The path of a file below the folder of its day. */
export function historyPath(table: HistoryTable, format: HistoryFormat, marketId: string | null): string {
  const name = `${table}.${format}`;
  return marketId === null ? name : `markets/${marketId}/${name}`;
}
