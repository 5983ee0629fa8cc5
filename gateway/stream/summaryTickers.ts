/**
 * The channel `ticker` (RULES.md 8.24): changed tickers of Yes, for some markets or for all. Owner: the gateway thread.
 *
 * Invariants:
 *   TICKERFEED-1  After a round, `#sent` has the newest ticker of every market that is followed by name and, while a
 *                 client follows all markets, of every market that has changed.
 *   TICKERFEED-2  A client without room receives the newest ticker of each market once it has room: only intermediate
 *                 states are skipped.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { isDecided, OUTCOME } from '../../shared/base/codes.ts';
import type { NamedDay } from '../markets/dayTradingQueries.ts';
import { TickerTexts } from '../markets/summaryTickerTexts.ts';
import type { Views } from '../shardlink/views.ts';
import { toFrame } from './marketChannel.ts';
import type { SummaryQueries, SummarySink, Through } from './summaryParts.ts';

const MINUTE_MS = 60_000;
/** Frames sent in one turn. */
const FRAMES_A_TURN = 64;

type TickerFeedOptions = {
  readonly views: Views;
  readonly queries: SummaryQueries;
  readonly clock: Clock;
  readonly onFollowed: () => void;
};

export class TickerFeed {
  readonly texts: TickerTexts;
  readonly #options: TickerFeedOptions;
  readonly #subscribers = new Set<TickerSubscription>();
  /** TICKERFEED-1. */
  readonly #sent = new Map<number, string>();
  /** By market: the number of clients that follow it by name. */
  readonly #named = new Map<number, number>();
  /** Markets that were named and not read since. */
  readonly #asked = new Set<number>();
  #followsAll = 0;
  /** Time of the last round. */
  #roundMs = 0;

  constructor(options: TickerFeedOptions) {
    this.#options = options;
    this.texts = new TickerTexts(options);
  }

  get isFollowed(): boolean {
    return this.#subscribers.size > 0;
  }

  add(subscriber: TickerSubscription): void {
    if (!this.isFollowed) this.#roundMs = this.#options.clock.nowMs();
    this.#subscribers.add(subscriber);
    this.#options.onFollowed();
  }

  remove(subscriber: TickerSubscription): void {
    this.#subscribers.delete(subscriber);
  }

  followAll(by: 1 | -1): void {
    this.#followsAll += by;
    if (this.#followsAll > 0) return;
    for (const market of this.#sent.keys()) if (!this.#named.has(market)) this.#sent.delete(market);
  }

  /** @returns true if the ticker is known; otherwise it comes with the next round */
  name(market: number): boolean {
    this.#named.set(market, (this.#named.get(market) ?? 0) + 1);
    const isKnown = this.#sent.has(market);
    if (!isKnown) this.#asked.add(market);
    return isKnown;
  }

  unname(market: number): void {
    const left = (this.#named.get(market) ?? 1) - 1;
    if (left > 0) {
      this.#named.set(market, left);
      return;
    }
    this.#named.delete(market);
    this.#asked.delete(market);
    if (this.#followsAll === 0) this.#sent.delete(market);
  }

  frame(market: number): Buffer | null {
    const text = this.#sent.get(market);
    return text === undefined ? null : toFrame(`{"channel":"ticker","data":${text}}`);
  }

  /** @returns true if they were read */
  async round(touched: ReadonlySet<number>, nowMs: number, through: Through): Promise<boolean> {
    if (!this.isFollowed) return true;
    const followsAll = this.#followsAll > 0;
    const markets = new Set([...touched].filter((market) => followsAll || this.#named.has(market)));
    for (const market of this.#asked) markets.add(market);
    const isNewMinute = Math.floor(nowMs / MINUTE_MS) !== Math.floor(this.#roundMs / MINUTE_MS);
    // The window of 24 hours slides by the minute.
    if (isNewMinute) for (const market of this.#named.keys()) markets.add(market);
    const leftSinceMs = isNewMinute && followsAll ? this.#roundMs : null;
    if (markets.size > 0 || leftSinceMs !== null) {
      const task = { markets: [...markets], leftSinceMs, nowMs };
      const days = await this.#options.queries.ofStream(through, 'marketDaysOf', task);
      if (days === null) return false;
      for (const day of days) this.#take(day, touched.has(day.market));
    }
    this.#roundMs = nowMs;
    if (isNewMinute) this.#forgetDecided();
    for (const subscriber of this.#subscribers) subscriber.wakeIfWaiting();
    return true;
  }

  #take(day: NamedDay, isTouched: boolean): void {
    const { market } = day;
    const isFollowed = this.#followsAll > 0 || this.#named.has(market);
    if (!isFollowed || !this.#options.views.markets.has(market)) return;
    const text = this.texts.text(market, OUTCOME.YES, day);
    const before = this.#sent.get(market);
    const wasAsked = this.#asked.delete(market);
    // A ticker that is read for the first time counts as changed, unless a client has just asked for it.
    const hasChanged = before === undefined ? isTouched || !wasAsked : before !== text;
    if (!hasChanged && !wasAsked) return;
    this.#sent.set(market, text);
    for (const subscriber of this.#subscribers) subscriber.changed(market, hasChanged);
  }

  /** Decided markets have no further tickers, and would be kept for ever. */
  #forgetDecided(): void {
    const { markets } = this.#options.views;
    for (const market of this.#sent.keys()) {
      if (!isDecided(markets.status(market)) || this.#named.has(market)) continue;
      const isWaiting = [...this.#subscribers].some((subscriber) => subscriber.isWaiting(market));
      if (!isWaiting) this.#sent.delete(market);
    }
  }
}

export class TickerSubscription {
  readonly markets = new Set<number>();
  isAll = false;
  readonly #feed: TickerFeed;
  readonly #sink: SummarySink;
  /** Markets whose ticker is to be sent. */
  readonly #waiting = new Set<number>();
  /** Markets that were just named, whose first ticker is still to come. */
  readonly #starting = new Set<number>();

  constructor(feed: TickerFeed, sink: SummarySink) {
    this.#feed = feed;
    this.#sink = sink;
    feed.add(this);
  }

  get isLive(): boolean {
    return this.#waiting.size === 0;
  }

  get isEmpty(): boolean {
    return !this.isAll && this.markets.size === 0;
  }

  isWaiting(market: number): boolean {
    return this.#waiting.has(market);
  }

  follow(markets: Iterable<number>, all: boolean): void {
    for (const market of markets) {
      const isNew = !this.markets.has(market);
      this.markets.add(market);
      if (isNew && !this.#feed.name(market)) this.#starting.add(market);
      else if (!this.#starting.has(market)) this.#waiting.add(market);
    }
    if (all && !this.isAll) this.#feed.followAll(1);
    this.isAll ||= all;
  }

  leave(markets: Iterable<number>, all: boolean): void {
    for (const market of markets) {
      if (!this.markets.delete(market)) continue;
      this.#starting.delete(market);
      this.#feed.unname(market);
    }
    if (all && this.isAll) this.#feed.followAll(-1);
    if (all) this.isAll = false;
    for (const market of this.#waiting) if (!this.#wants(market)) this.#waiting.delete(market);
  }

  end(): void {
    this.leave([...this.markets], true);
    this.#feed.remove(this);
  }

  /** @param hasChanged false if it was read for clients that have just named the market */
  changed(market: number, hasChanged: boolean): void {
    const isFirst = this.#starting.delete(market);
    if (isFirst || (hasChanged && this.#wants(market))) this.#waiting.add(market);
  }

  wakeIfWaiting(): void {
    if (!this.isLive) this.#sink.wake();
  }

  /** TICKERFEED-2. */
  catchUp(): boolean {
    let sent = 0;
    for (const market of this.#waiting) {
      if (sent++ === FRAMES_A_TURN) break;
      this.#waiting.delete(market);
      const frame = this.#feed.frame(market);
      if (frame !== null) this.#sink.push(frame);
    }
    return this.isLive;
  }

  #wants(market: number): boolean {
    return this.isAll || this.markets.has(market);
  }
}
