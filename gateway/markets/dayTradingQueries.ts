/**
 * The SQL of each market's trading in the last 24 hours: the present minute and the 1,439 before it (RULES.md 13.14).
 * Hours that lie completely in the window are read as sums. Runs in the query pool.
 *
 * Invariant:
 *   DAYTRADING-1  The cached part of a window ends an hour before the present hour: by then its trades are in the read
 *                 model.
 */
import type Database from 'better-sqlite3';
import { bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/tables/buckets.ts';
import type { CandleRow } from './candleQueries.ts';

/** Prices are in Yes terms; the volumes are those of candles. */
export type DayTrade = {
  market: number;
  trades: number;
  tokensAtomic: bigint;
  notionalMicro: bigint;
  volumeMicro: bigint;
  openTicks: number;
  highTicks: number;
  lowTicks: number;
  closeTicks: number;
};
export type DayTask = { readonly nowMs: number };
export type MarketDayTask = DayTask & { readonly market: number };
/** The last price of Yes in ticks; 0 before the first trade. `traded` is null if nothing was traded in the window. */
export type MarketDay = { readonly traded: DayTrade | null; readonly lastYesTicks: number };
/**
 * The task for these markets, and for markets of which a trade has left the window since a moment; null for no others.
 */
export type DaysTask = DayTask & { readonly markets: readonly number[]; readonly leftSinceMs: number | null };
export type NamedDay = MarketDay & { readonly market: number };
/** The last prices are by market index; the newest markets may be missing. */
type MarketDays = { readonly traded: readonly DayTrade[]; readonly lastYesTicks: Uint32Array };

type Row = CandleRow & { readonly market: bigint };
type ByMarket = Map<number, DayTrade>;

const COLUMNS =
  'market, trades, tokens_atomic, notional_micro, volume_micro, open_ticks, high_ticks, low_ticks, close_ticks';
const OPEN_HOURS = 2;
/** For more markets than this, the days of all that were traded are read. */
const MOST_ONE_BY_ONE = 300;

export class DayTradingQueries {
  readonly #hours: Database.Statement<[number, number], Row>;
  readonly #ofMarket: Database.Statement<[number, number, number, number], Row>;
  readonly #last: Database.Statement<[number], number>;
  readonly #lasts: Database.Statement<[], { market: number; last_yes_ticks: number }>;
  /** DAYTRADING-1. */
  #keptClosed: { readonly fromMs: number; readonly closed: ByMarket } | null = null;
  #keptLasts: { readonly fromMs: number; readonly lasts: Uint32Array } | null = null;

  constructor(db: Database.Database) {
    this.#hours = db
      .prepare<[number, number], Row>(
        `SELECT ${COLUMNS} FROM candles WHERE span_ms = ${HOUR_MS} AND start_ms >= ? AND start_ms < ?
         ORDER BY start_ms`,
      )
      .safeIntegers();
    this.#ofMarket = db
      .prepare<[number, number, number, number], Row>(
        `SELECT ${COLUMNS} FROM candles WHERE market = ? AND span_ms = ? AND start_ms >= ? AND start_ms < ?
         ORDER BY start_ms`,
      )
      .safeIntegers();
    this.#last = db.prepare<[number], number>('SELECT last_yes_ticks FROM market_stats WHERE market = ?').pluck();
    this.#lasts = db.prepare('SELECT market, last_yes_ticks FROM market_stats ORDER BY market DESC');
  }

  some({ markets, leftSinceMs, nowMs }: DaysTask): NamedDay[] {
    const asked = new Set(markets);
    if (leftSinceMs !== null) for (const market of this.#left(leftSinceMs, nowMs)) asked.add(market);
    if (asked.size <= MOST_ONE_BY_ONE) {
      return [...asked].map((market) => ({ market, ...this.one({ market, nowMs }) }));
    }
    const { found } = this.#traded(nowMs);
    return [...asked].map((market) => {
      const traded = found.get(market) ?? null;
      return { market, traded, lastYesTicks: traded?.closeTicks ?? this.#last.get(market) ?? 0 };
    });
  }

  /** Markets with a trade in the minutes that have left the window since then. */
  #left(sinceMs: number, nowMs: number): number[] {
    const [fromMs, endMs] = [startOf(sinceMs), startOf(nowMs)];
    if (fromMs >= endMs) return [];
    const hours = this.#hours.all(bucketOf(fromMs, HOUR_MS), endMs);
    const markets = new Set(hours.map(({ market }) => Number(market)));
    return [...markets].filter((market) => this.#ofMarket.all(market, MINUTE_MS, fromMs, endMs).length > 0);
  }

  one({ market, nowMs }: MarketDayTask): MarketDay {
    const fromMs = startOf(nowMs);
    const found: ByMarket = new Map();
    this.#addMinutes(found, market, fromMs);
    addAll(found, this.#ofMarket.all(market, HOUR_MS, roundedUp(fromMs), Number.MAX_SAFE_INTEGER));
    return { traded: found.get(market) ?? null, lastYesTicks: this.#last.get(market) ?? 0 };
  }

  all({ nowMs }: DayTask): MarketDays {
    const { found, open } = this.#traded(nowMs);
    const lasts = this.#lastsOf(startOf(nowMs));
    let highest = lasts.length - 1;
    for (const market of open.keys()) highest = Math.max(highest, market);
    const lastYesTicks = new Uint32Array(highest + 1);
    lastYesTicks.set(lasts);
    for (const [market, { closeTicks }] of open) lastYesTicks[market] = closeTicks;
    return { traded: [...found.values()], lastYesTicks };
  }

  /** The markets that were traded in the window, and those of its open hours: nothing of any other market is read. */
  #traded(nowMs: number): { readonly found: ByMarket; readonly open: ByMarket } {
    const openMs = bucketOf(nowMs, HOUR_MS) - (OPEN_HOURS - 1) * HOUR_MS;
    const closed = this.#closed(startOf(nowMs), openMs);
    const found: ByMarket = new Map([...closed].map(([market, trade]) => [market, { ...trade }]));
    const open: ByMarket = new Map();
    addAll(open, this.#hours.all(openMs, Number.MAX_SAFE_INTEGER));
    for (const trade of open.values()) add(found, trade);
    return { found, open };
  }

  /** Up to the open hours; read once a minute. */
  #closed(fromMs: number, openMs: number): ByMarket {
    if (this.#keptClosed?.fromMs === fromMs) return this.#keptClosed.closed;
    const closed: ByMarket = new Map();
    const firstMs = roundedUp(fromMs);
    const ofFirst: ByMarket = new Map();
    if (firstMs !== fromMs) addAll(ofFirst, this.#hours.all(firstMs - HOUR_MS, firstMs));
    for (const market of ofFirst.keys()) this.#addMinutes(closed, market, fromMs);
    addAll(closed, this.#hours.all(firstMs, openMs));
    this.#keptClosed = { fromMs, closed };
    return closed;
  }

  /** The last price of every market, read once a minute. */
  #lastsOf(fromMs: number): Uint32Array {
    if (this.#keptLasts?.fromMs === fromMs) return this.#keptLasts.lasts;
    const rows = this.#lasts.all();
    const lasts = new Uint32Array((rows[0]?.market ?? -1) + 1);
    for (const { market, last_yes_ticks } of rows) lasts[market] = last_yes_ticks;
    this.#keptLasts = { fromMs, lasts };
    return lasts;
  }

  /** Adds the minutes of the window's first hour, whose beginning lies outside the window. */
  #addMinutes(found: ByMarket, market: number, fromMs: number): void {
    addAll(found, this.#ofMarket.all(market, MINUTE_MS, fromMs, roundedUp(fromMs)));
  }
}

function startOf(nowMs: number): number {
  return bucketOf(nowMs, MINUTE_MS) - DAY_MS + MINUTE_MS;
}

function roundedUp(timeMs: number): number {
  return Math.ceil(timeMs / HOUR_MS) * HOUR_MS;
}

/** In the order of time. */
function addAll(found: ByMarket, rows: readonly Row[]): void {
  for (const row of rows) {
    add(found, {
      market: Number(row.market),
      trades: Number(row.trades),
      tokensAtomic: row.tokens_atomic,
      notionalMicro: row.notional_micro,
      volumeMicro: row.volume_micro,
      openTicks: Number(row.open_ticks),
      highTicks: Number(row.high_ticks),
      lowTicks: Number(row.low_ticks),
      closeTicks: Number(row.close_ticks),
    });
  }
}

/** Adds later trades. */
function add(found: ByMarket, later: DayTrade): void {
  const before = found.get(later.market);
  if (before === undefined) {
    found.set(later.market, later);
    return;
  }
  before.trades += later.trades;
  before.tokensAtomic += later.tokensAtomic;
  before.notionalMicro += later.notionalMicro;
  before.volumeMicro += later.volumeMicro;
  before.highTicks = Math.max(before.highTicks, later.highTicks);
  before.lowTicks = Math.min(before.lowTicks, later.lowTicks);
  before.closeTicks = later.closeTicks;
}
