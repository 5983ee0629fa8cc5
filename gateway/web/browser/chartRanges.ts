/**
 * Plans a chart of prices over a range: which candles it asks for, and the bars and the line that follow from them and
 * from the trades since. Prices are steps of the finest grid, hundredths of a cent.
 */
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import type { Candle, CandlesQuery, PriceHistory } from '../../../shared/client/types.ts';
import { FINEST, finestTicks } from './format.ts';

export const RANGES = ['1H', '1D', '1W', '1M', 'All'] as const;
export type Range = (typeof RANGES)[number];
type Interval = NonNullable<CandlesQuery['interval']>;

/** In Unix seconds. */
export type Plan = {
  readonly interval: Interval;
  readonly seconds: number;
  /** The first interval that is shown. */
  readonly from: number;
  readonly to: number;
  /** The history in which the price before `from` is found; null where nothing was before. */
  readonly before: '1m' | '5m' | '1h' | '1d' | null;
};

/** The prices are null in an interval without a trade. */
export type Bar = {
  readonly start: number;
  readonly open: number | null;
  readonly high: number | null;
  readonly low: number | null;
  readonly close: number | null;
  /** The sum that takers paid, in micro-USDC. */
  readonly volumeMicro: number;
};

type Line = { readonly times: number[]; readonly ticks: number[] };

const SECOND_MS = 1000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONGEST = ['1d', DAY] as const;
const INTERVALS: readonly (readonly [Interval, seconds: number])[] = [
  ['1m', MINUTE],
  ['5m', 5 * MINUTE],
  ['15m', 15 * MINUTE],
  ['1h', HOUR],
  ['4h', 4 * HOUR],
  LONGEST,
];
const SECONDS: ReadonlyMap<Interval, number> = new Map(INTERVALS);
const SPANS = {
  '1H': { span: HOUR, interval: '1m', before: '1m' },
  '1D': { span: DAY, interval: '5m', before: '5m' },
  '1W': { span: 7 * DAY, interval: '1h', before: '1h' },
  '1M': { span: 30 * DAY, interval: '4h', before: '1d' },
} as const;
/** More would be narrower than a pixel of a telephone. */
const MOST_BARS = 400;
/** As many as one answer has. */
export const MOST_CANDLES = 1000;

/** A market that is younger than a week is shown as a whole at first. */
export function rangeOf(openedMs: number, nowMs: number): Range {
  return (nowMs - openedMs) / SECOND_MS < SPANS['1W'].span ? 'All' : '1W';
}

/** @param endMs now, or the decision of the market, after which nothing happens */
export function planOf(range: Range, openedMs: number, endMs: number): Plan {
  const to = Math.ceil(endMs / SECOND_MS);
  if (range !== 'All') {
    const { span, interval, before } = SPANS[range];
    const seconds = SECONDS.get(interval)!;
    return { interval, seconds, from: Math.floor((to - span) / seconds) * seconds, to, before };
  }
  const age = Math.max(0, to - openedMs / SECOND_MS);
  const [interval, seconds] = INTERVALS.find(([, each]) => age / each <= MOST_BARS) ?? LONGEST;
  return { interval, seconds, from: Math.floor(openedMs / SECOND_MS / seconds) * seconds, to, before: null };
}

/** The last price of Yes in an interval that had ended when the range began; null if there is none. */
export function priceBefore(history: PriceHistory['history'], { from, before }: Plan, outcome: 0 | 1): number | null {
  if (before === null) return null;
  const last = history.findLast(({ timestamp }) => timestamp + SECONDS.get(before)! <= from);
  return last === undefined ? null : ofOutcome(finestTicks(last.price), outcome);
}

export function barsOf(candles: readonly Candle[]): Bar[] {
  return candles.map(({ start, open, high, low, close, volume_usdc_micro }) => ({
    start,
    open: ticksOf(open),
    high: ticksOf(high),
    low: ticksOf(low),
    close: ticksOf(close),
    volumeMicro: Number(volume_usdc_micro),
  }));
}

/**
 * Adds trades that came since the candles were loaded. A candle may have a trade already, so only what a repeated trade
 * does not change follows it: the prices. Volumes come with the next candles.
 * @param trades newest first
 */
export function withTrades(bars: readonly Bar[], trades: readonly TradeFrame[], plan: Plan, outcome: 0 | 1): Bar[] {
  const all = [...bars];
  for (const { data, timestamp } of [...trades].reverse()) {
    const start = Math.floor(timestamp / SECOND_MS / plan.seconds) * plan.seconds;
    const ticks = finestTicks(data.price);
    const price = data.outcome_index === outcome ? ticks : FINEST - ticks;
    const last = all.at(-1);
    if (last !== undefined && start < last.start) continue;
    if (last !== undefined && start === last.start) all[all.length - 1] = withPrice(last, price);
    else all.push({ start, open: price, high: price, low: price, close: price, volumeMicro: 0 });
  }
  return all;
}

/** The price at each moment: that of the last trade holds until the next one, and until the end. */
export function lineOf(bars: readonly Bar[], before: number | null, { from, to }: Plan): Line {
  const times: number[] = [];
  const ticks: number[] = [];
  if (before !== null) {
    times.push(from);
    ticks.push(before);
  }
  for (const { start, close } of bars) {
    const price = close ?? ticks.at(-1);
    if (price === undefined || start === times.at(-1)) {
      if (price !== undefined) ticks[ticks.length - 1] = price;
      continue;
    }
    times.push(start);
    ticks.push(price);
  }
  const newest = times.at(-1);
  if (newest !== undefined && newest < to) {
    times.push(to);
    ticks.push(ticks.at(-1)!);
  }
  return { times, ticks };
}

/** The part of the axis that shows these values: with room on both sides, not narrower than `least`, within bounds. */
export function zoomed(values: Iterable<number | null>, least: number, bounds: readonly [number, number]): Zoom {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [...bounds];
  const room = Math.max((high - low) * 0.1, (least - (high - low)) / 2);
  const [bottom, top] = bounds;
  const from = Math.max(bottom, Math.min(low - room, top - least));
  return [from, Math.min(top, Math.max(high + room, from + least))];
}
type Zoom = [number, number];

function withPrice(bar: Bar, price: number): Bar {
  return {
    ...bar,
    open: bar.open ?? price,
    high: Math.max(bar.high ?? price, price),
    low: Math.min(bar.low ?? price, price),
    close: price,
  };
}

function ticksOf(price: string | null): number | null {
  return price === null ? null : finestTicks(price);
}

function ofOutcome(ticks: number, outcome: 0 | 1): number {
  return outcome === 0 ? ticks : FINEST - ticks;
}
