/**
 * The channel `candle` (RULES.md 8.25): candles of some markets while they change, each at most once a second. Owner:
 * the gateway thread.
 *
 * Invariants:
 *   CANDLEFEED-1  A series is read from the round after its first follower joined. `closed` has every candle that has
 *                 closed since then, up to MOST_KEPT, each once and in order; `open` has the candles after them.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { CANDLE_SPANS_MS, type CandleInterval } from '../../shared/tables/candles.ts';
import type { CandleText, NewestTask } from '../markets/candleQueries.ts';
import type { Views } from '../shardlink/views.ts';
import { toFrame } from './marketChannel.ts';
import type { SummaryQueries, Through } from './summaryParts.ts';

/** Closed candles that are kept for connections without room. */
const MOST_KEPT = 100;
const SECOND_MS = 1000;

/** One outcome of a market, by one interval. */
export type SeriesName = {
  readonly market: number;
  readonly outcome: Outcome;
  readonly interval: CandleInterval;
};

type CandleFeedOptions = {
  readonly views: Views;
  readonly queries: SummaryQueries;
  readonly clock: Clock;
  readonly onFollowed: () => void;
};

/** A subscription of the series. */
type CandleFollower = { changed(series: CandleSeries): void };

export class CandleSeries {
  readonly name: SeriesName;
  readonly followers = new Set<CandleFollower>();
  /** Oldest first. */
  closed: CandleText[] = [];
  open: readonly CandleText[] = [];
  /** Every candle from this start on is available; null before the first. */
  keptFrom: number | null = null;
  /** True if the series was touched while it could not be read, or was never read. */
  isDue = true;

  constructor(name: SeriesName) {
    this.name = name;
  }

  get spanSec(): number {
    return CANDLE_SPANS_MS[this.name.interval] / SECOND_MS;
  }

  /** The start of the first candle that may change; null before the first reading. */
  get firstOpen(): number | null {
    const last = this.closed.at(-1);
    return this.open[0]?.start ?? (last === undefined ? null : last.start + this.spanSec);
  }

  /** @returns true if anything is new */
  take(read: readonly CandleText[]): boolean {
    const from = this.firstOpen ?? 0;
    const fresh = read.filter(({ start }) => start >= from);
    const open = fresh.filter(({ isOpen }) => isOpen);
    const closed = fresh.filter(({ isOpen }) => !isOpen);
    const isSame = closed.length === 0 && textOf(open) === textOf(this.open);
    this.open = open;
    this.closed.push(...closed);
    this.keptFrom ??= fresh[0]?.start ?? null;
    if (this.closed.length > 2 * MOST_KEPT) {
      this.closed = this.closed.slice(-MOST_KEPT);
      this.keptFrom = this.closed[0].start;
    }
    return !isSame;
  }
}

export class CandleFeed {
  readonly #options: CandleFeedOptions;
  /** By key. */
  readonly #series = new Map<string, CandleSeries>();
  readonly #byMarket = new Map<number, Set<CandleSeries>>();

  constructor(options: CandleFeedOptions) {
    this.#options = options;
  }

  get isFollowed(): boolean {
    return this.#series.size > 0;
  }

  follow(name: SeriesName, by: CandleFollower): CandleSeries {
    const key = keyOf(name);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = new CandleSeries(name);
      this.#series.set(key, series);
      const ofMarket = this.#byMarket.get(name.market) ?? new Set();
      this.#byMarket.set(name.market, ofMarket.add(series));
    }
    series.followers.add(by);
    this.#options.onFollowed();
    return series;
  }

  leave(series: CandleSeries, by: CandleFollower): void {
    series.followers.delete(by);
    if (series.followers.size > 0) return;
    this.#series.delete(keyOf(series.name));
    const ofMarket = this.#byMarket.get(series.name.market);
    ofMarket?.delete(series);
    if (ofMarket?.size === 0) this.#byMarket.delete(series.name.market);
  }

  /** Every candle from this start on, at most the newest thousand; null if they cannot be read now. */
  async from(name: SeriesName, startSec: number, asker: Asker): Promise<readonly CandleText[] | null> {
    const { queries, clock } = this.#options;
    const task = this.#task(name, startSec * SECOND_MS);
    const result = await queries.ofPublic(asker, 'newestCandles', { tasks: [task], nowMs: clock.nowMs() });
    return result.ok ? result.value[0] : null;
  }

  frame({ market, outcome, interval }: SeriesName, { json }: CandleText): Buffer {
    const id = this.#options.views.markets.id(market);
    return toFrame(
      `{"channel":"candle","market_id":"${id}","outcome_index":${outcome},"interval":"${interval}","data":${json}}`,
    );
  }

  /** @returns true if they were read */
  async round(touched: ReadonlySet<number>, nowMs: number, through: Through): Promise<boolean> {
    for (const market of touched) for (const series of this.#byMarket.get(market) ?? []) series.isDue = true;
    // The present interval is the last one of a series: when it is over, new candles appear without a trade.
    const due = [...this.#series.values()].filter((series) => series.isDue || isOver(series, nowMs));
    if (due.length === 0) return true;
    const tasks = due.map(({ name, firstOpen }) => this.#task(name, firstOpen === null ? null : firstOpen * SECOND_MS));
    const read = await this.#options.queries.ofStream(through, 'newestCandles', { tasks, nowMs });
    if (read === null) return false;
    for (const [at, series] of due.entries()) {
      // A new market may not be in the read model yet.
      series.isDue = read[at].length === 0 && series.keptFrom === null;
      if (!series.take(read[at])) continue;
      for (const follower of series.followers) follower.changed(series);
    }
    return true;
  }

  #task({ market, outcome, interval }: SeriesName, fromMs: number | null): NewestTask {
    return { market, outcome, interval, fromMs, shard: this.#options.views.markets.shard(market) };
  }
}

type Asker = Parameters<SummaryQueries['ofPublic']>[0];

export function keyOf({ market, outcome, interval }: SeriesName): string {
  return `${market} ${outcome === OUTCOME.YES ? 0 : 1} ${interval}`;
}

/** True if the end of an open candle has passed. Without an open candle, time alone brings nothing new. */
function isOver({ open, spanSec }: CandleSeries, nowMs: number): boolean {
  return open.some(({ start }) => nowMs >= (start + spanSec) * SECOND_MS);
}

function textOf(candles: readonly CandleText[]): string {
  return candles.map(({ json }) => json).join();
}
