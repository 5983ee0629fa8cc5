/**
 * Lifetime volume of every market: summed by the read model, copied from there every few seconds.
 * Owner: the gateway thread. Volumes are bigint: over a long life they pass 2^53 micro-USDC, which balances never do.
 */

export type MarketVolume = { readonly market: number; readonly volumeMicro: bigint };
type VolumeSource = { marketVolumes(): Promise<readonly MarketVolume[]> };

export class Volumes {
  readonly #source: VolumeSource;
  readonly #byMarket = new Map<number, bigint>();
  #totalMicro = 0n;

  constructor(source: VolumeSource) {
    this.#source = source;
  }

  get totalMicro(): bigint {
    return this.#totalMicro;
  }

  volumeMicro(marketIndex: number): bigint {
    return this.#byMarket.get(marketIndex) ?? 0n;
  }

  async refresh(): Promise<void> {
    let totalMicro = 0n;
    for (const { market, volumeMicro } of await this.#source.marketVolumes()) {
      this.#byMarket.set(market, volumeMicro);
      totalMicro += volumeMicro;
    }
    this.#totalMicro = totalMicro;
  }
}
