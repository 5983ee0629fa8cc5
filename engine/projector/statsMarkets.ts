/**
 * Projection of the statistics of markets: state and last trade (shared/tables/statsMarkets.ts), and candles.
 * Owner: the projector thread.
 *
 * Invariants:
 *   MARKETSTATS-1  A market has its row before its first trade.
 *   MARKETSTATS-2  After `flush` every row agrees with memory.
 *   MARKETSTATS-3  `holders` counts the accounts whose position in Yes or in No is above zero.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { filledMicros } from '../../shared/base/fillTimes.ts';
import { MARKET_STATS } from '../../shared/tables/statsMarkets.ts';
import { type RowOf, selectAll } from '../../shared/tables/table.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import { CandleProjection, type CandleTrade } from './candles.ts';
import type { RecordContext } from './orders.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';

type Market = {
  readonly market: number;
  readonly shard: number;
  status: number;
  payoutYesPpm: number;
  resolvedMs: number;
  decidedSequence: number;
  openInterestAtomic: number;
  holders: number;
  lastYesTicks: number;
  lastTradeMs: number;
  lastFillMicros: number;
  isDirty: boolean;
};

const STATS = selectAll(MARKET_STATS);
export class MarketStats {
  /** By market index. */
  readonly #markets: Market[] = [];
  readonly #dirty: Market[] = [];
  readonly #write: RowInserter<typeof MARKET_STATS>;
  readonly #candles: CandleProjection;

  constructor(db: Database.Database) {
    this.#write = new RowInserter(db, MARKET_STATS, REPLACE);
    this.#candles = new CandleProjection(db);
    const known = db.prepare<[], RowOf<typeof MARKET_STATS>>(`SELECT ${STATS.sql} FROM market_stats`);
    for (const row of known.iterate()) {
      const { market, shard, status } = row;
      this.#markets[market] = {
        ...newMarket(market, shard, status),
        payoutYesPpm: row.payout_yes_ppm,
        resolvedMs: row.resolved_ms,
        decidedSequence: row.decided_sequence,
        openInterestAtomic: row.open_interest_atomic,
        holders: row.holders,
        lastYesTicks: row.last_yes_ticks,
        lastTradeMs: row.last_trade_ms,
        lastFillMicros: row.last_fill_us,
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

  traded(index: number, trade: CandleTrade): void {
    const market = this.#known(index);
    this.#candles.traded(index, market.lastTradeMs, trade);
    market.lastYesTicks = trade.yesTicks;
    market.lastTradeMs = trade.timeMs;
    this.#markDirty(market);
  }

  /** One account more, or one less, has tokens of the market. MARKETSTATS-3 */
  held(index: number, added: 1 | -1): void {
    const market = this.#known(index);
    market.holders += added;
    this.#markDirty(market);
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
        holders: market.holders,
        last_yes_ticks: market.lastYesTicks,
        last_trade_ms: market.lastTradeMs,
        last_fill_us: market.lastFillMicros,
      });
    }
    this.#dirty.length = 0;
    this.#write.flush();
    this.#candles.flush();
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
}

function newMarket(market: number, shard: number, status: number): Market {
  return {
    market,
    shard,
    status,
    payoutYesPpm: 0,
    resolvedMs: 0,
    decidedSequence: 0,
    openInterestAtomic: 0,
    holders: 0,
    lastYesTicks: 0,
    lastTradeMs: 0,
    lastFillMicros: 0,
    isDirty: false,
  };
}
