/**
 * Rounds of tickers and candles: once a second, the markets touched since the last round are read from the read model,
 * in one query each, and changes are passed on. While no client follows any, no rounds run. Owner: the gateway thread.
 * `applied` runs inside the pump, after the views.
 *
 * Invariant:
 *   ROUNDS-1  A touched market is read only from a read model that already has the record which touched it. If that
 *             takes too long, the market stays for the next round.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Logger } from '../base/log.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import type { Views } from '../shardlink/views.ts';
import { CandleFeed } from './summaryCandles.ts';
import type { SummaryQueries } from './summaryParts.ts';
import { TickerFeed } from './summaryTickers.ts';

const ROUND_MS = 1000;

type RoundsOptions = {
  readonly views: Views;
  readonly queries: SummaryQueries;
  readonly clock: Clock;
  readonly log: Logger;
};

export class SummaryRounds {
  readonly tickers: TickerFeed;
  readonly candles: CandleFeed;
  readonly #options: RoundsOptions;
  #touched = new Set<number>();
  /** By shard: the last record that touched one of its markets. */
  readonly #through: Float64Array;
  #timer: NodeJS.Timeout | null = null;
  #isUnderWay = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#through = new Float64Array(options.views.orders.length);
    this.tickers = new TickerFeed({ ...options, onFollowed: () => this.#begin() });
    this.candles = new CandleFeed({ ...options, onFollowed: () => this.#begin() });
  }

  applied(shard: number, { shardSequence }: RecordResult, words: Uint32Array, word: number): void {
    if (this.#timer === null) return;
    const isOfBook = readSafe(words, word + ANY_EVENT.marketSequence) !== 0;
    if (!isOfBook && typeOf(words[word + ANY_EVENT.type]) !== EVENT.MARKET.TYPE) return;
    this.#touched.add(words[word + ANY_EVENT.market]);
    this.#through[shard] = shardSequence;
  }

  /** Events of the shard may have been lost when it died. */
  recovered(shard: number, shardSequence: number): void {
    this.#through[shard] = shardSequence;
    if (this.#timer === null) return;
    for (const market of this.#options.views.markets.ofShard(shard)) this.#touched.add(market);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #begin(): void {
    if (this.#timer !== null) return;
    this.#timer = setInterval(() => void this.#round(), ROUND_MS);
    this.#timer.unref();
  }

  /** ROUNDS-1. */
  async #round(): Promise<void> {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    const touched = this.#touched;
    this.#touched = new Set();
    const { tickers, candles } = this;
    const through = this.#through.slice();
    const nowMs = this.#options.clock.nowMs();
    let isDone = false;
    try {
      const parts = [tickers, candles].map((feed) => feed.round(touched, nowMs, (shard) => through[shard]));
      isDone = (await Promise.all(parts)).every(Boolean);
    } catch (error) {
      // The process is ending, or the read model is damaged and being recreated.
      if (this.#timer !== null)
        this.#options.log.warn(
          { err: error },
          'tickers and candles of the stream could not be read; they are tried again',
        );
    }
    if (!isDone) for (const market of touched) this.#touched.add(market);
    this.#isUnderWay = false;
    if (!tickers.isFollowed && !candles.isFollowed) this.close();
  }
}
