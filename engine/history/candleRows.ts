/** The candles of a market on a day, from the rows of its trades: each interval divides a day. */
import { HISTORY_TABLES } from '../../shared/base/historyTables.ts';
import { bucketOf } from '../../shared/tables/buckets.ts';
import { CANDLE_SPANS_MS } from '../../shared/tables/candles.ts';

const TRADE = Object.keys(HISTORY_TABLES.trades);
const [TIME, OUTCOME_INDEX, TICKS, GRID, LOTS] = (
  ['time_us', 'outcome_index', 'yes_ticks', 'ticks_per_unit', 'lots'] satisfies (keyof typeof HISTORY_TABLES.trades)[]
).map((name) => TRADE.indexOf(name));

type Candle = {
  trades: number;
  lots: bigint;
  notional: bigint;
  volume: bigint;
  ticks: [number, number, number, number];
};

export class CandleRows {
  readonly #market: string;
  readonly #candles = new Map<string, Map<number, Candle>>();
  #ticksPerUnit = '';

  constructor(market: string) {
    this.#market = market;
  }

  /** @param trade its row */
  add(trade: readonly string[]): void {
    const timeMs = Math.floor(Number(trade[TIME]) / 1000);
    const ticks = Number(trade[TICKS]);
    const lots = BigInt(trade[LOTS]);
    this.#ticksPerUnit = trade[GRID];
    const takerTicks = trade[OUTCOME_INDEX] === '0' ? ticks : Number(this.#ticksPerUnit) - ticks;
    for (const [interval, spanMs] of Object.entries(CANDLE_SPANS_MS)) {
      const candle = this.#candle(interval, bucketOf(timeMs, spanMs), ticks);
      candle.trades++;
      candle.lots += lots;
      candle.notional += lots * BigInt(ticks);
      candle.volume += lots * BigInt(takerTicks);
      const [open, high, low] = candle.ticks;
      candle.ticks = [open, Math.max(high, ticks), Math.min(low, ticks), ticks];
    }
  }

  /** In the order of the intervals, then of time. */
  rows(): string[][] {
    return [...this.#candles].flatMap(([interval, candles]) =>
      [...candles].map(([startMs, { trades, lots, notional, volume, ticks }]) =>
        [this.#market, interval, startMs, trades, lots, notional, volume, ...ticks, this.#ticksPerUnit].map(String),
      ),
    );
  }

  #candle(interval: string, startMs: number, ticks: number): Candle {
    const candles = this.#candles.get(interval) ?? new Map<number, Candle>();
    this.#candles.set(interval, candles);
    const candle = candles.get(startMs) ?? {
      trades: 0,
      lots: 0n,
      notional: 0n,
      volume: 0n,
      ticks: [ticks, ticks, ticks, ticks],
    };
    candles.set(startMs, candle);
    return candle;
  }
}
