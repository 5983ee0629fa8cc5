/** Sums up several turns of a load that alternates with another one. */
import { Histogram } from './histogram.ts';
import type { Noise, NoiseMeter } from './noise.ts';

export type Wait = {
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of all processes of the bench, per request. */
  readonly processorUs: number;
  readonly noise: Noise;
};
export type Rate = Wait & { readonly perSecond: number };

export class Turns {
  readonly #latency = new Histogram();
  #seconds = 0;
  #processorSeconds = 0;
  #stolenSeconds = 0;
  #othersSeconds = 0;

  add(latency: Histogram, seconds: number, meter: Pick<NoiseMeter, 'read' | 'usedSeconds'>): void {
    const { stolen, others } = meter.read();
    this.#latency.add(latency);
    this.#seconds += seconds;
    this.#processorSeconds += meter.usedSeconds();
    this.#stolenSeconds += stolen * seconds;
    this.#othersSeconds += others * seconds;
  }

  get sum(): Rate {
    const { count } = this.#latency;
    return {
      perSecond: count / this.#seconds,
      p50Us: this.#latency.quantileUs(0.5),
      p99Us: this.#latency.quantileUs(0.99),
      processorUs: (this.#processorSeconds * 1e6) / count,
      noise: { stolen: this.#stolenSeconds / this.#seconds, others: this.#othersSeconds / this.#seconds },
    };
  }
}
