/**
 * Projection of the candles of markets (shared/tables/candles.ts): each trade is added to one candle of each span.
 * Owner: the projector thread.
 *
 * Invariants:
 *   CANDLES-1  After `flush` every interval in which a market traded has one row, with the first, highest, lowest and
 *              last price of its trades and their sums; no other interval has one.
 *   CANDLES-2  The trades of a market come in order of time, so of each span only the newest candle changes.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { bucketOf } from '../../shared/tables/buckets.ts';
import { CANDLE_SPANS_MS, CANDLES } from '../../shared/tables/candles.ts';
import type { RowOf } from '../../shared/tables/table.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';

type Row = RowOf<typeof CANDLES>;
type Candle = { -readonly [K in keyof Row]: Row[K] } & { isWaiting: boolean };
/** As `safeIntegers` reads it. */
type StoredRow = Record<keyof Row, bigint>;

export type CandleTrade = {
  readonly timeMs: number;
  readonly yesTicks: number;
  /** Nothing of a trade beyond EXCHANGESTATS-3. */
  readonly tokensAtomic: number;
  readonly notionalMicro: number;
  readonly volumeMicro: number;
};

const SPANS_MS = Object.values(CANDLE_SPANS_MS);
/** The number of markets in memory beyond which the next flush empties the cache: their candles are then read again. */
const MOST_KEPT = 50_000;

export class CandleProjection {
  /** By market: the newest candle of each span. */
  readonly #newest = new Map<number, Candle[]>();
  /** Those that changed since the last flush. */
  readonly #waiting: Candle[] = [];
  readonly #write: RowInserter<typeof CANDLES>;
  readonly #select: Database.Statement<[number, number, number], StoredRow>;

  constructor(db: Database.Database) {
    this.#write = new RowInserter(db, CANDLES, REPLACE);
    this.#select = db
      .prepare<[number, number, number], StoredRow>(
        'SELECT * FROM candles WHERE market = ? AND span_ms = ? AND start_ms = ?',
      )
      .safeIntegers();
  }

  /** @param lastTradeMs time of the market's previous trade; 0 if there is none */
  traded(market: number, lastTradeMs: number, trade: CandleTrade): void {
    assert(trade.timeMs >= lastTradeMs, 'CANDLES-2: the trades of a market are in order of time');
    let candles = this.#newest.get(market);
    if (candles === undefined) {
      candles = SPANS_MS.map((span) => this.#candle(market, span, bucketOf(trade.timeMs, span), lastTradeMs));
      this.#newest.set(market, candles);
    }
    const tokens = BigInt(trade.tokensAtomic);
    const notional = BigInt(trade.notionalMicro);
    const volume = BigInt(trade.volumeMicro);
    for (let i = 0; i < SPANS_MS.length; i++) {
      const spanMs = SPANS_MS[i];
      const startMs = bucketOf(trade.timeMs, spanMs);
      let candle = candles[i];
      if (candle.start_ms !== startMs) {
        candle = newCandle(market, spanMs, startMs);
        candles[i] = candle;
      }
      candle.tokens_atomic += tokens;
      candle.notional_micro += notional;
      candle.volume_micro += volume;
      addPrice(candle, trade.yesTicks);
      if (!candle.isWaiting) this.#waiting.push(candle);
      candle.isWaiting = true;
    }
  }

  flush(): void {
    // In the order of the table, so that neighbours are written into a page together.
    for (const candle of this.#waiting.sort(inTable)) {
      candle.isWaiting = false;
      this.#write.add(candle);
    }
    this.#write.flush();
    this.#waiting.length = 0;
    if (this.#newest.size > MOST_KEPT) this.#newest.clear();
  }

  /** The candle of an interval in which the market may have traded before. */
  #candle(market: number, spanMs: number, startMs: number, lastTradeMs: number): Candle {
    const row = lastTradeMs < startMs ? undefined : this.#select.get(market, spanMs, startMs);
    const candle = newCandle(market, spanMs, startMs);
    if (row === undefined) return candle;
    return {
      ...candle,
      trades: Number(row.trades),
      tokens_atomic: row.tokens_atomic,
      notional_micro: row.notional_micro,
      volume_micro: row.volume_micro,
      open_ticks: Number(row.open_ticks),
      high_ticks: Number(row.high_ticks),
      low_ticks: Number(row.low_ticks),
      close_ticks: Number(row.close_ticks),
    };
  }
}

function newCandle(market: number, span_ms: number, start_ms: number): Candle {
  return {
    ...{ market, span_ms, start_ms, trades: 0, tokens_atomic: 0n, notional_micro: 0n, volume_micro: 0n },
    ...{ open_ticks: 0, high_ticks: 0, low_ticks: 0, close_ticks: 0, isWaiting: false },
  };
}

function addPrice(candle: Candle, yesTicks: number): void {
  const isFirst = candle.trades === 0;
  candle.trades++;
  if (isFirst) candle.open_ticks = yesTicks;
  candle.high_ticks = isFirst ? yesTicks : Math.max(candle.high_ticks, yesTicks);
  candle.low_ticks = isFirst ? yesTicks : Math.min(candle.low_ticks, yesTicks);
  candle.close_ticks = yesTicks;
}

function inTable(a: Candle, b: Candle): number {
  return a.market - b.market || a.span_ms - b.span_ms || a.start_ms - b.start_ms;
}
