/**
 * Projection of the statistics of the whole exchange (shared/tables/statsExchange.ts).
 * Owner: the projector thread.
 *
 * Invariants:
 *   EXCHANGESTATS-1  A row of exchange_hours has only what its shard has done, and those of trade_maxima are maxima:
 *                    they do not depend on how the projector takes turns among the journals.
 *   EXCHANGESTATS-2  `#active` counts the active markets of each shard, as exchange_shards does after `flush`; a row of
 *                    exchange_hours has their number before the hour's first change.
 *   EXCHANGESTATS-3  The trades whose volume is counted have at most MOST_COUNTED_ATOMIC tokens, an equal part in each
 *                    shard: no sum of volumes exceeds what a row can hold.
 */
import type Database from 'better-sqlite3';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';
import {
  EXCHANGE_HOURS,
  EXCHANGE_SHARDS,
  MAXIMA_SPANS_MS,
  MOST_COUNTED_ATOMIC,
  TRADE_MAXIMA,
} from '../../shared/tables/statsExchange.ts';
import { insert, type NewRowOf, type RowOf } from '../../shared/tables/table.ts';
import type { RecordContext } from './orders.ts';

/** The changes of one hour since the last flush. */
type Hour = {
  readonly hourMs: number;
  readonly shard: number;
  /** Before the first of these changes. */
  readonly activeMarkets: number;
  volumeMicro: bigint;
  trades: number;
  settledMicro: bigint;
};

/** As `safeIntegers` reads it. */
type ShardRow = Record<keyof RowOf<typeof EXCHANGE_SHARDS>, bigint>;

export class ExchangeStats {
  /** By shard. */
  readonly #active: number[];
  /** By shard: the tokens of the trades whose volume is counted. */
  readonly #counted: bigint[];
  readonly #mostCounted: bigint;
  /** Shards whose row is not written yet. */
  readonly #changed = new Set<number>();
  readonly #hours = new Map<string, Hour>();
  /** By second: the largest trade since the last flush. */
  readonly #maxima = new Map<number, number>();
  readonly #addHour: Database.Statement<[NewRowOf<typeof EXCHANGE_HOURS>]>;
  readonly #setShard: Database.Statement<[NewRowOf<typeof EXCHANGE_SHARDS>]>;
  readonly #addMaximum: Database.Statement<[NewRowOf<typeof TRADE_MAXIMA>]>;

  constructor(db: Database.Database, shards: number) {
    this.#addHour = db.prepare(`${insert(EXCHANGE_HOURS)}
      ON CONFLICT DO UPDATE SET volume_micro = volume_micro + excluded.volume_micro, trades = trades + excluded.trades,
        settled_micro = settled_micro + excluded.settled_micro`);
    this.#addMaximum = db.prepare(`${insert(TRADE_MAXIMA)}
      ON CONFLICT DO UPDATE SET notional_micro = max(notional_micro, excluded.notional_micro)`);
    this.#setShard = db.prepare(insert(EXCHANGE_SHARDS, 'OR REPLACE'));
    this.#active = new Array(shards).fill(0);
    this.#counted = new Array(shards).fill(0n);
    this.#mostCounted = MOST_COUNTED_ATOMIC / BigInt(shards);
    const known = db.prepare<[], ShardRow>('SELECT * FROM exchange_shards').safeIntegers();
    for (const { shard, active_markets, counted_atomic } of known.iterate()) {
      this.#active[Number(shard)] = Number(active_markets);
      this.#counted[Number(shard)] = counted_atomic;
    }
  }

  /** EXCHANGESTATS-3. @returns whether the volume of a trade of so many tokens counts. */
  counts(tokensAtomic: number, { shard }: RecordContext): boolean {
    const counted = this.#counted[shard] + BigInt(tokensAtomic);
    if (counted > this.#mostCounted) return false;
    this.#counted[shard] = counted;
    this.#changed.add(shard);
    return true;
  }

  traded(notionalMicro: number, volumeMicro: number, record: RecordContext): void {
    const hour = this.#hour(record);
    hour.trades++;
    hour.volumeMicro += BigInt(volumeMicro);
    const second = bucketOf(record.timeMs, MAXIMA_SPANS_MS.at(-1)!);
    this.#maxima.set(second, Math.max(notionalMicro, this.#maxima.get(second) ?? 0));
  }

  settled(micro: number, record: RecordContext): void {
    this.#hour(record).settledMicro += BigInt(micro);
  }

  /** @param before null of a new market */
  changedStatus(before: number | null, status: number, record: RecordContext): void {
    const change = isActive(status) - isActive(before);
    if (change === 0) return;
    this.#hour(record);
    this.#active[record.shard] += change;
    this.#changed.add(record.shard);
  }

  flush(): void {
    for (const { hourMs, shard, volumeMicro, trades, settledMicro, activeMarkets } of this.#hours.values()) {
      this.#addHour.run({
        hour_ms: hourMs,
        shard,
        volume_micro: volumeMicro,
        trades,
        settled_micro: settledMicro,
        active_markets: activeMarkets,
      });
    }
    this.#hours.clear();
    for (const shard of this.#changed) {
      this.#setShard.run({ shard, active_markets: this.#active[shard], counted_atomic: this.#counted[shard] });
    }
    this.#changed.clear();
    for (const span_ms of MAXIMA_SPANS_MS) {
      const maxima = new Map<number, number>();
      for (const [second, notionalMicro] of this.#maxima) {
        const start = bucketOf(second, span_ms);
        maxima.set(start, Math.max(notionalMicro, maxima.get(start) ?? 0));
      }
      for (const [start_ms, notional_micro] of maxima) this.#addMaximum.run({ span_ms, start_ms, notional_micro });
    }
    this.#maxima.clear();
  }

  #hour({ shard, timeMs }: RecordContext): Hour {
    const hourMs = bucketOf(timeMs, HOUR_MS);
    const key = `${hourMs}/${shard}`;
    let hour = this.#hours.get(key);
    if (hour === undefined) {
      const activeMarkets = this.#active[shard];
      hour = { hourMs, shard, activeMarkets, volumeMicro: 0n, trades: 0, settledMicro: 0n };
      this.#hours.set(key, hour);
    }
    return hour;
  }
}

function isActive(status: number | null): 0 | 1 {
  return status === MARKET_STATUS.ACTIVE ? 1 : 0;
}
