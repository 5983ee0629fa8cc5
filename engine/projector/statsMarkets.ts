/**
 * Projection of the statistics of markets (shared/tables/statsMarkets.ts): state, last trade, trading by hour and by
 * day, and the price points of minutes.
 * Owner: the projector thread.
 *
 * Invariants:
 *   MARKETSTATS-1  A market has its row before its first trade.
 *   MARKETSTATS-2  After `flush` every row agrees with memory, which has the hour and the day that each market traded
 *                  in last.
 *   MARKETSTATS-3  Price points have the numbers from 0 on, of which the newest MOST_PRICE_POINTS are kept; the minute
 *                  of the last trade has none yet.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { filledMicros } from '../../shared/base/fillTimes.ts';
import { bucketOf, DAY_MS, FIVE_MINUTES_MS, HOUR_MS, MINUTE_MS } from '../../shared/tables/buckets.ts';
import {
  MARKET_DAYS,
  MARKET_HOURS,
  MARKET_STATS,
  MOST_PRICE_POINTS,
  PRICE_POINTS,
} from '../../shared/tables/statsMarkets.ts';
import { type NewRowOf, type RowOf, select } from '../../shared/tables/table.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import type { RecordContext } from './orders.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';

/** Hours and days in memory beyond which the next flush empties them: they are read again. */
const MOST_CACHED = 200_000;

type Bar = {
  startMs: number;
  volumeMicro: bigint;
  trades: number;
  openTicks: number;
  highTicks: number;
  lowTicks: number;
  closeTicks: number;
};

type Market = {
  readonly market: number;
  readonly shard: number;
  status: number;
  payoutYesPpm: number;
  resolvedMs: number;
  decidedSequence: number;
  openInterestAtomic: number;
  lastYesTicks: number;
  lastTradeMs: number;
  lastFillMicros: number;
  minutes: number;
  fiveMinutes: number;
  /** Null where the row has to be read first. */
  hour: Bar | null;
  day: Bar | null;
  isDirty: boolean;
  /** Hour and day have changed. */
  hasTraded: boolean;
};

const STATS = select(MARKET_STATS, ...(Object.keys(MARKET_STATS.columns) as (keyof typeof MARKET_STATS.columns)[]));
const BAR = select(
  MARKET_HOURS,
  'volume_micro',
  'trades',
  'open_ticks',
  'high_ticks',
  'low_ticks',
  'close_ticks',
).sql.replaceAll('market_hours.', '');
/** As `safeIntegers` reads it. */
type BarRow = Record<keyof Omit<RowOf<typeof MARKET_HOURS>, 'market' | 'hour_ms'>, bigint>;

export class MarketStats {
  /** By market index. */
  readonly #markets: Market[] = [];
  readonly #dirty: Market[] = [];
  #cachedBars = 0;
  readonly #write: RowInserter<typeof MARKET_STATS>;
  readonly #hours: RowInserter<typeof MARKET_HOURS>;
  readonly #days: RowInserter<typeof MARKET_DAYS>;
  readonly #points: RowInserter<typeof PRICE_POINTS>;
  readonly #newPoints: NewRowOf<typeof PRICE_POINTS>[] = [];
  readonly #selectHour: Database.Statement<[number, number], BarRow>;
  readonly #selectDay: Database.Statement<[number, number], BarRow>;
  readonly #removePoints: Database.Statement<[number, number, number]>;

  constructor(db: Database.Database) {
    this.#write = new RowInserter(db, MARKET_STATS, REPLACE);
    this.#hours = new RowInserter(db, MARKET_HOURS, REPLACE);
    this.#days = new RowInserter(db, MARKET_DAYS, REPLACE);
    this.#points = new RowInserter(db, PRICE_POINTS);
    this.#selectHour = db
      .prepare<[number, number], BarRow>(`SELECT ${BAR} FROM market_hours WHERE market = ? AND hour_ms = ?`)
      .safeIntegers();
    this.#selectDay = db
      .prepare<[number, number], BarRow>(`SELECT ${BAR} FROM market_days WHERE market = ? AND day_ms = ?`)
      .safeIntegers();
    this.#removePoints = db.prepare('DELETE FROM price_points WHERE market = ? AND span_ms = ? AND number <= ?');
    const known = db.prepare<[], RowOf<typeof MARKET_STATS>>(`SELECT ${STATS.sql} FROM market_stats`);
    for (const row of known.iterate()) {
      const { market, shard, status } = row;
      this.#markets[market] = {
        ...newMarket(market, shard, status),
        payoutYesPpm: row.payout_yes_ppm,
        resolvedMs: row.resolved_ms,
        decidedSequence: row.decided_sequence,
        openInterestAtomic: row.open_interest_atomic,
        lastYesTicks: row.last_yes_ticks,
        lastTradeMs: row.last_trade_ms,
        lastFillMicros: row.last_fill_us,
        minutes: row.minutes,
        fiveMinutes: row.five_minutes,
      };
    }
  }

  status(market: number): number {
    const known = this.#markets[market];
    assert(known !== undefined, 'MARKETSTATS-1: a market is known before its holders');
    return known.status;
  }

  /** Null until the market is decided. */
  payoutYesPpm(market: number): number | null {
    const known = this.#markets[market];
    return known !== undefined && isDecided(known.status) ? known.payoutYesPpm : null;
  }

  /** Applies a MARKET event. @returns the status before it, or null of a new market. */
  apply(words: Uint32Array, word: number, { shard, shardSequence }: RecordContext): number | null {
    const index = words[word + ANY_EVENT.market];
    const status = words[word + EVENT.MARKET.status];
    const known = this.#markets[index];
    const market = known ?? newMarket(index, shard, status);
    this.#markets[index] = market;
    const before = known === undefined ? null : market.status;
    market.status = status;
    // A market that is decided when history begins was decided before all that any account has read.
    const decidedIn = known === undefined ? 1 : shardSequence;
    if (isDecided(status) && market.decidedSequence === 0) market.decidedSequence = decidedIn;
    market.payoutYesPpm = words[word + EVENT.MARKET.payoutYesPpm];
    market.resolvedMs = readSafe(words, word + EVENT.MARKET.resolvedMs);
    market.openInterestAtomic = readSigned(words, word + EVENT.MARKET.collateralMicro);
    this.#markDirty(market);
    return before;
  }

  /** The market has another fill, in a record of this time. @returns when it was (FILLTIME-1). */
  fills(index: number, recordMs: number): number {
    const market = this.#known(index);
    market.lastFillMicros = filledMicros(recordMs, market.lastFillMicros);
    return market.lastFillMicros;
  }

  /** History begins with a market that had its last fill at this time. */
  opens(index: number, lastFillMicros: number): void {
    const market = this.#known(index);
    market.lastFillMicros = lastFillMicros;
    this.#markDirty(market);
  }

  traded(index: number, yesTicks: number, volumeMicro: number, timeMs: number): void {
    const market = this.#known(index);
    this.#markDirty(market);
    this.#point(market, timeMs);
    if (market.hour === null && market.day === null) this.#cachedBars++;
    market.hour = this.#bar(market.hour, market, bucketOf(timeMs, HOUR_MS), this.#selectHour, this.#writeHour);
    market.day = this.#bar(market.day, market, bucketOf(timeMs, DAY_MS), this.#selectDay, this.#writeDay);
    addTo(market.hour, yesTicks, volumeMicro);
    addTo(market.day, yesTicks, volumeMicro);
    market.hasTraded = true;
    market.lastYesTicks = yesTicks;
    market.lastTradeMs = timeMs;
  }

  flush(): void {
    // In the order of the table, so that neighbours are written into a page one after the other.
    for (const market of this.#dirty.sort((a, b) => a.market - b.market)) {
      market.isDirty = false;
      this.#write.add({
        market: market.market,
        shard: market.shard,
        status: market.status,
        payout_yes_ppm: market.payoutYesPpm,
        resolved_ms: market.resolvedMs,
        decided_sequence: market.decidedSequence,
        open_interest_atomic: market.openInterestAtomic,
        last_yes_ticks: market.lastYesTicks,
        last_trade_ms: market.lastTradeMs,
        minutes: market.minutes,
        five_minutes: market.fiveMinutes,
        last_fill_us: market.lastFillMicros,
      });
      if (!market.hasTraded) continue;
      market.hasTraded = false;
      this.#writeHour(market.market, market.hour!);
      this.#writeDay(market.market, market.day!);
    }
    this.#dirty.length = 0;
    for (const rows of [this.#write, this.#hours, this.#days]) rows.flush();
    this.#flushPoints();
    if (this.#cachedBars <= MOST_CACHED) return;
    for (const market of this.#markets) if (market !== undefined) market.hour = market.day = null;
    this.#cachedBars = 0;
  }

  #known(index: number): Market {
    const market = this.#markets[index];
    assert(market !== undefined, 'MARKETSTATS-1: a market is known before its trades');
    return market;
  }

  #markDirty(market: Market): void {
    if (!market.isDirty) this.#dirty.push(market);
    market.isDirty = true;
  }

  /** The first trade of another minute makes a point of the one before (MARKETSTATS-3). */
  #point(market: Market, timeMs: number): void {
    const { lastTradeMs } = market;
    if (lastTradeMs === 0 || lastTradeMs >= bucketOf(timeMs, MINUTE_MS)) return;
    this.#addPoint(market, MINUTE_MS, market.minutes++);
    if (lastTradeMs < bucketOf(timeMs, FIVE_MINUTES_MS)) {
      this.#addPoint(market, FIVE_MINUTES_MS, market.fiveMinutes++);
    }
  }

  #addPoint({ market, lastTradeMs, lastYesTicks }: Market, spanMs: number, number: number): void {
    const start_ms = bucketOf(lastTradeMs, spanMs);
    this.#newPoints.push({ market, span_ms: spanMs, number, start_ms, yes_ticks: lastYesTicks });
  }

  /** In the order of the table, so that neighbours are written into a page one after the other. */
  #flushPoints(): void {
    const points = this.#newPoints.sort((a, b) => a.market - b.market || a.span_ms - b.span_ms || a.number - b.number);
    for (const point of points) this.#points.add(point);
    this.#points.flush();
    for (const [i, { market, span_ms, number }] of points.entries()) {
      const next = points[i + 1];
      const isNewest = next?.market !== market || next.span_ms !== span_ms;
      if (isNewest && number >= MOST_PRICE_POINTS) this.#removePoints.run(market, span_ms, number - MOST_PRICE_POINTS);
    }
    this.#newPoints.length = 0;
  }

  /** The bar of a bucket; the one before it is over and is written. */
  #bar(
    current: Bar | null,
    { market, lastTradeMs, hasTraded }: Market,
    startMs: number,
    selectBar: Database.Statement<[number, number], BarRow>,
    write: (market: number, bar: Bar) => void,
  ): Bar {
    // A clock that was set back adds to the bucket that is open.
    if (current !== null && current.startMs >= startMs) return current;
    if (current !== null && hasTraded) write(market, current);
    if (lastTradeMs < startMs) return { ...NO_TRADES, startMs };
    const row = selectBar.get(market, startMs);
    if (row === undefined) return { ...NO_TRADES, startMs };
    return {
      startMs,
      volumeMicro: row.volume_micro,
      trades: Number(row.trades),
      openTicks: Number(row.open_ticks),
      highTicks: Number(row.high_ticks),
      lowTicks: Number(row.low_ticks),
      closeTicks: Number(row.close_ticks),
    };
  }

  readonly #writeHour = (market: number, bar: Bar): void => {
    this.#hours.add({ market, hour_ms: bar.startMs, ...rowOf(bar) });
  };

  readonly #writeDay = (market: number, bar: Bar): void => {
    this.#days.add({ market, day_ms: bar.startMs, ...rowOf(bar) });
  };
}

const NO_TRADES: Omit<Bar, 'startMs'> = {
  volumeMicro: 0n,
  trades: 0,
  openTicks: 0,
  highTicks: 0,
  lowTicks: 0,
  closeTicks: 0,
};

function newMarket(market: number, shard: number, status: number): Market {
  return {
    market,
    shard,
    status,
    payoutYesPpm: 0,
    resolvedMs: 0,
    decidedSequence: 0,
    openInterestAtomic: 0,
    lastYesTicks: 0,
    lastTradeMs: 0,
    lastFillMicros: 0,
    minutes: 0,
    fiveMinutes: 0,
    hour: null,
    day: null,
    isDirty: false,
    hasTraded: false,
  };
}

function addTo(bar: Bar, yesTicks: number, volumeMicro: number): void {
  const isFirst = bar.trades === 0;
  bar.trades++;
  bar.volumeMicro += BigInt(volumeMicro);
  if (isFirst) bar.openTicks = yesTicks;
  bar.highTicks = isFirst ? yesTicks : Math.max(bar.highTicks, yesTicks);
  bar.lowTicks = isFirst ? yesTicks : Math.min(bar.lowTicks, yesTicks);
  bar.closeTicks = yesTicks;
}

function rowOf(bar: Bar) {
  return {
    volume_micro: bar.volumeMicro,
    trades: bar.trades,
    open_ticks: bar.openTicks,
    high_ticks: bar.highTicks,
    low_ticks: bar.lowTicks,
    close_ticks: bar.closeTicks,
  };
}
