/**
 * The series of candles that a connection follows (RULES.md 8.25).
 * Owner: the gateway thread.
 *
 * Invariant:
 *   CANDLESUBSCRIPTION-1  Every closed candle of a series, from the first that was sent on, is sent once and in order.
 *                         Of open candles the newest state is sent, once there is room.
 */
import type { Asker } from '../base/askers.ts';
import type { CandleText } from '../markets/candleQueries.ts';
import { type CandleFeed, type CandleSeries, keyOf, type SeriesName } from './summaryCandles.ts';
import type { SummarySink } from './summaryParts.ts';

/** Frames sent in one turn. */
const FRAMES_A_TURN = 64;
const RETRY_MS = 1000;

type Followed = {
  readonly series: CandleSeries;
  /** The first candle that was not sent as closed; null to begin with the first open candle. */
  next: number | null;
  /** Candles from `next` on have to be read, because they may no longer be kept. */
  isBehind: boolean;
  /** Candles that were read and wait to be sent. */
  read: CandleText[];
  /** The series has candles whose present state was not sent. */
  isWaiting: boolean;
};

export class CandleSubscription {
  readonly #feed: CandleFeed;
  readonly #sink: SummarySink;
  readonly #asker: Asker;
  readonly #followed = new Map<string, Followed>();
  /** One series is read at a time. */
  #isReading = false;
  #isOver = false;

  constructor(feed: CandleFeed, sink: SummarySink, asker: Asker) {
    this.#feed = feed;
    this.#sink = sink;
    this.#asker = asker;
  }

  get size(): number {
    return this.#followed.size;
  }

  /** True if nothing is waiting to be sent. */
  get isLive(): boolean {
    return ![...this.#followed.values()].some((followed) => canSend(followed) || this.#mustRead(followed));
  }

  *names(): Generator<SeriesName> {
    for (const { series } of this.#followed.values()) yield series.name;
  }

  has(name: SeriesName): boolean {
    return this.#followed.has(keyOf(name));
  }

  /** @param afterSec every candle after the one that starts then is sent; null to start with the present candle */
  follow(name: SeriesName, afterSec: number | null): void {
    const series = this.#followed.get(keyOf(name))?.series ?? this.#feed.follow(name, this);
    const { spanSec } = series;
    const next = afterSec === null ? null : (Math.floor(afterSec / spanSec) + 1) * spanSec;
    this.#followed.set(keyOf(name), { series, next, isBehind: next !== null, read: [], isWaiting: true });
  }

  leave(name: SeriesName): void {
    const followed = this.#followed.get(keyOf(name));
    if (followed === undefined) return;
    this.#followed.delete(keyOf(name));
    this.#feed.leave(followed.series, this);
  }

  end(): void {
    this.#isOver = true;
    for (const name of [...this.names()]) this.leave(name);
  }

  changed({ name }: CandleSeries): void {
    const followed = this.#followed.get(keyOf(name));
    if (followed === undefined) return;
    followed.isWaiting = true;
    this.#sink.wake();
  }

  catchUp(): boolean {
    let room = FRAMES_A_TURN;
    for (const followed of this.#followed.values()) {
      if (room <= 0) return false;
      if (this.#mustRead(followed)) void this.#read(followed);
      else if (canSend(followed)) room -= this.#send(followed, room);
    }
    return this.isLive;
  }

  #mustRead({ isBehind, read }: Followed): boolean {
    return isBehind && read.length === 0 && !this.#isReading && !this.#isOver;
  }

  async #read(followed: Followed): Promise<void> {
    this.#isReading = true;
    followed.isWaiting = false;
    const { series, next } = followed;
    const read = await this.#feed.from(series.name, next!, this.#asker).catch(() => null);
    if (read === null) {
      // The asker has read too much, or the read model is not available.
      setTimeout(() => this.#readOn(), RETRY_MS).unref();
      return;
    }
    followed.isBehind = false;
    followed.read = [...read];
    this.#readOn();
  }

  #readOn(): void {
    this.#isReading = false;
    if (!this.#isOver) this.#sink.wake();
  }

  /** CANDLESUBSCRIPTION-1. @returns the number of frames sent */
  #send(followed: Followed, room: number): number {
    const { series, read } = followed;
    const candles = read.length > 0 ? read.splice(0, room) : this.#newOnes(followed, room);
    for (const candle of candles) {
      this.#sink.push(this.#feed.frame(series.name, candle));
      if (candle.isOpen) followed.next ??= candle.start;
      else followed.next = candle.start + series.spanSec;
    }
    return candles.length;
  }

  /** Candles of the series that this client lacks. If some of them are no longer kept, all have to be read. */
  #newOnes(followed: Followed, most: number): readonly CandleText[] {
    const { next, series } = followed;
    const { closed, open, keptFrom } = series;
    followed.isBehind = next !== null && keptFrom !== null && next < keptFrom;
    const from = next ?? series.firstOpen;
    if (followed.isBehind || from === null) {
      followed.isWaiting = false;
      return [];
    }
    const missing = [...closed, ...open].filter(({ start }) => start >= from);
    followed.isWaiting = missing.length > most;
    return missing.slice(0, most);
  }
}

function canSend({ isBehind, read, isWaiting }: Followed): boolean {
  return read.length > 0 || (isWaiting && !isBehind);
}
