/**
 * Lifetime volume of every market: summed by the read model, copied from there twice a second.
 * Owner: the gateway thread. Volumes are bigint: over a long life they pass 2^53 micro-USDC, which balances never do.
 */

/** The volume of a market is at its index; the newest markets may be missing. */
export type MarketVolumes = { readonly byMarket: BigInt64Array; readonly totalMicro: bigint };
type VolumeSource = { marketVolumes(): Promise<MarketVolumes | null> };

export class Volumes {
  readonly #source: VolumeSource;
  #volumes: MarketVolumes = { byMarket: new BigInt64Array(0), totalMicro: 0n };

  constructor(source: VolumeSource) {
    this.#source = source;
  }

  get totalMicro(): bigint {
    return this.#volumes.totalMicro;
  }

  volumeMicro(marketIndex: number): bigint {
    return this.#volumes.byMarket[marketIndex] ?? 0n;
  }

  async refresh(): Promise<void> {
    this.#volumes = (await this.#source.marketVolumes()) ?? this.#volumes;
  }
}
