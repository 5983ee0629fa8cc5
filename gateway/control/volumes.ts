/**
 * Lifetime volume of every market: summed by the read model, copied from there every few seconds.
 * Owner: the gateway thread. Volumes are bigint: over a long life they pass 2^53 micro-USDC, which balances never do.
 */

export type MarketVolume = { readonly market: number; readonly volumeMicro: bigint };
export type VolumeSource = { marketVolumes(): Promise<readonly MarketVolume[]> };

const MICRO_PER_UNIT = 1_000_000n;
const DECIMALS = 6;

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

/** Micro-USDC as USDC, shortest exact form: 1,500,000 is "1.5". */
export function usdcDecimal(micro: bigint): string {
  const whole = micro / MICRO_PER_UNIT;
  const rest = micro % MICRO_PER_UNIT;
  if (rest === 0n) return String(whole);
  return `${whole}.${String(rest).padStart(DECIMALS, '0').replace(/0+$/, '')}`;
}
