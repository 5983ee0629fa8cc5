/**
 * A backtest adds up here, in exact integers, where the gain came from and how it went on the way.
 *
 *     gain = edge + drift - fees
 *
 * Edge is what fills were better than the middle of the market at their moment, drift what the tokens held then gained
 * or lost as the middle moved. Fees in tokens count as what the tokens were worth in the fill.
 */
import { mulDivFloor } from '../../base/int.ts';

/** The middle is looked at again so long after a fill: what was bought before bad news shows there. */
const MARKOUT_MS = 60_000;

type BacktestFill = {
  readonly atMs: number;
  readonly marketId: string;
  /** Of the outcome that was bought. */
  readonly ticks: number;
  readonly ticksPerUnit: number;
  readonly quantityAtomic: number;
  readonly feeAtomic: number;
};

export type BacktestReport = {
  readonly fills: number;
  readonly boughtAtomic: number;
  readonly gainMicro: number;
  readonly edgeMicro: number;
  readonly driftMicro: number;
  readonly feesMicro: number;
  /** The edge of the same fills against the middle a minute later, or the last one of the recording. */
  readonly markoutMicro: number;
  /** The largest fall of the account's worth from an earlier peak. */
  readonly drawdownMicro: number;
};

type Pending = { readonly dueMs: number; readonly fill: BacktestFill; readonly mid: () => number };

export class Tally {
  readonly #startMicro: number;
  #worthMicro: number;
  #peakMicro: number;
  #drawdownMicro = 0;
  #fills = 0;
  #boughtAtomic = 0;
  #feesMicro = 0;
  /** Halves of a micro-USDC, since the middle of two prices is half a tick exactly. */
  #edgeHalves = 0;
  #markoutHalves = 0;
  readonly #pending: Pending[] = [];

  constructor(startMicro: number) {
    this.#startMicro = startMicro;
    this.#worthMicro = startMicro;
    this.#peakMicro = startMicro;
  }

  /** @param mid twice the ticks of the outcome's middle, now and whenever it is asked again */
  filled(fill: BacktestFill, mid: () => number): void {
    this.#fills++;
    this.#boughtAtomic += fill.quantityAtomic;
    this.#feesMicro += mulDivFloor(fill.feeAtomic, fill.ticks, fill.ticksPerUnit);
    this.#edgeHalves += edgeHalves(fill, mid());
    this.#pending.push({ dueMs: fill.atMs + MARKOUT_MS, fill, mid });
  }

  /** @param worthMicro cash and tokens at the middle of their markets */
  at(nowMs: number, worthMicro: number): void {
    this.#worthMicro = worthMicro;
    this.#peakMicro = Math.max(this.#peakMicro, worthMicro);
    this.#drawdownMicro = Math.max(this.#drawdownMicro, this.#peakMicro - worthMicro);
    while (this.#pending.length > 0 && this.#pending[0].dueMs <= nowMs) this.#markOut();
  }

  report(): BacktestReport {
    while (this.#pending.length > 0) this.#markOut();
    const gainMicro = this.#worthMicro - this.#startMicro;
    const edgeMicro = Math.floor(this.#edgeHalves / 2);
    return {
      fills: this.#fills,
      boughtAtomic: this.#boughtAtomic,
      gainMicro,
      edgeMicro,
      driftMicro: gainMicro - edgeMicro + this.#feesMicro,
      feesMicro: this.#feesMicro,
      markoutMicro: Math.floor(this.#markoutHalves / 2),
      drawdownMicro: this.#drawdownMicro,
    };
  }

  #markOut(): void {
    const { fill, mid } = this.#pending.shift()!;
    this.#markoutHalves += edgeHalves(fill, mid());
  }
}

/** Fills are whole lots, so this is an integer. */
function edgeHalves({ quantityAtomic, ticks, ticksPerUnit }: BacktestFill, midHalfTicks: number): number {
  return (quantityAtomic / ticksPerUnit) * (midHalfTicks - 2 * ticks);
}
