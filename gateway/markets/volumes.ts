/**
 * Traded volumes of every market, lifetime and of 24 hours, summed by the read model and copied from there.
 * Owner: the gateway thread. Volumes are bigint: over a long life they pass 2^53 micro-USDC, which balances never do.
 *
 * Invariants:
 *   VOLUMES-1  The volume of 24 hours covers the present hour and the 23 before it. The last two hours are read each
 *              time: trades of the hour that has just ended may still be on their way to the read model. The 22 hours
 *              before no longer change, and are read once an hour.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';
import type { WindowTask } from './exchangeQueries.ts';

/** The volume of a market is at its index; the newest markets may be missing. */
export type MarketVolumes = { readonly byMarket: BigInt64Array; readonly totalMicro: bigint };
type VolumeSource = {
  marketVolumes(): Promise<MarketVolumes | null>;
  volumesBetween(window: WindowTask): Promise<BigInt64Array | null>;
};

const HOURS = 24;
const OPEN_HOURS = 2;
const NONE = new BigInt64Array(0);

export class Volumes {
  readonly #source: VolumeSource;
  readonly #clock: Clock;
  #volumes: MarketVolumes = { byMarket: NONE, totalMicro: 0n };
  /** The hour for which `#closed` was read; null before the first. */
  #hourMs: number | null = null;
  #closed: BigInt64Array = NONE;
  #open: BigInt64Array = NONE;

  constructor(source: VolumeSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  get totalMicro(): bigint {
    return this.#volumes.totalMicro;
  }

  volumeMicro(marketIndex: number): bigint {
    return this.#volumes.byMarket[marketIndex] ?? 0n;
  }

  volume24hMicro(marketIndex: number): bigint {
    return (this.#closed[marketIndex] ?? 0n) + (this.#open[marketIndex] ?? 0n);
  }

  async refresh(): Promise<void> {
    this.#volumes = (await this.#source.marketVolumes()) ?? this.#volumes;
  }

  /** VOLUMES-1 */
  async refresh24h(): Promise<void> {
    const hourMs = bucketOf(this.#clock.nowMs(), HOUR_MS);
    const openMs = hourMs - (OPEN_HOURS - 1) * HOUR_MS;
    const isNewHour = hourMs !== this.#hourMs;
    const closedWindow = { fromMs: hourMs - (HOURS - 1) * HOUR_MS, toMs: openMs };
    const closed = isNewHour ? await this.#source.volumesBetween(closedWindow) : this.#closed;
    const open = await this.#source.volumesBetween({ fromMs: openMs, toMs: Number.MAX_SAFE_INTEGER });
    if (closed === null || open === null) return;
    this.#hourMs = hourMs;
    this.#closed = closed;
    this.#open = open;
  }
}
