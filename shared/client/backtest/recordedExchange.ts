/**
 * A recorded day as an exchange with one account in it, whose clock goes forward only while the account waits. A market
 * maker trades with it by the same calls as with a real one (examples/marketMaker.ts).
 *
 * Invariants:
 *   RECORDED-1  A request takes effect `latencyMs` after it was made, in the book of that moment.
 *   RECORDED-2  Two runs over the same recordings with the same settings give the same fills.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OUTCOME, type Outcome } from '../../base/codes.ts';
import { bpsFloor, divFloor, mulDivFloor } from '../../base/int.ts';
import { NOT_A_NUMBER, tickToPrice, tryParsePriceTicks } from '../../base/units.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain, ZERO_ADDRESS } from '../../crypto/eip712.ts';
import type { MakerExchange } from '../examples/marketMaker.ts';
import { ApiError } from '../http.ts';
import type { OrderMarket } from '../order.ts';
import type { MarketFrame } from '../stream/frames.ts';
import type { RecordedFrame, Recording } from '../stream/recording.ts';
import type { Balances, OrderGroupSettings, PlacementBody } from '../types.ts';
import { type OwnBid, RecordedMarket } from './recordedMarket.ts';
import { type BacktestReport, Tally } from './tally.ts';

export type BacktestSettings = {
  readonly cashMicro: number;
  readonly feeRateBps: number;
  /** From a request until it takes effect. */
  readonly latencyMs: number;
};

type Strategy = { run(marketIds: readonly string[]): Promise<void>; stop(): void };
type Sleeper = { readonly atMs: number; readonly wake: () => void };
type Group = {
  windowMs: number;
  maxAtomic: number;
  fills: { atMs: number; quantityAtomic: number }[];
  isTripped: boolean;
};
type Holding = readonly [yes: { atomic: number }, no: { atomic: number }];

export class RecordedExchange implements MakerExchange {
  readonly wallets = { nonceFloor: async () => ({ nonce_floor: 0 }) };
  readonly #settings: BacktestSettings;
  readonly #markets = new Map<string, RecordedMarket>();
  readonly #frames: readonly RecordedFrame[];
  readonly #tally: Tally;
  readonly #sleepers: Sleeper[] = [];
  readonly #holdings = new Map<string, Holding>();
  #group: Group = { windowMs: 0, maxAtomic: 0, fills: [], isTripped: false };
  #cashMicro: number;
  #nowMs: number;
  #nextFrame = 0;
  #placed = 0;

  /** @param recordings of different markets, of the same time */
  constructor(recordings: Recording[], settings: BacktestSettings) {
    this.#settings = settings;
    this.#cashMicro = settings.cashMicro;
    this.#tally = new Tally(settings.cashMicro);
    for (const { marketId, ticksPerUnit, frames } of recordings) {
      const market = new RecordedMarket(marketId, ticksPerUnit ?? gridOf(frames), (bid, quantity) =>
        this.#filled(bid, quantity),
      );
      this.#markets.set(marketId, market);
      this.#holdings.set(marketId, [{ atomic: 0 }, { atomic: 0 }]);
    }
    this.#frames = recordings.flatMap(({ frames }) => frames).sort((a, b) => a.receivedMs - b.receivedMs);
    if (this.#frames.length === 0) throw new Error('the recording has no frames');
    this.#nowMs = this.#frames[0].receivedMs;
  }

  get marketIds(): readonly string[] {
    return [...this.#markets.keys()];
  }

  /** Runs the strategy from the first frame to the last. */
  async play(strategy: Strategy): Promise<BacktestReport & { readonly placed: number }> {
    let isRunning = true;
    const running = strategy.run(this.marketIds).finally(() => {
      isRunning = false;
    });
    while (isRunning) {
      // The strategy goes on until it waits for an answer or for time to pass.
      await nextTurn();
      const sleeper = this.#sleepers.shift();
      if (sleeper === undefined) continue;
      this.#advance(sleeper.atMs);
      if (this.#nextFrame === this.#frames.length) strategy.stop();
      sleeper.wake();
    }
    await running;
    return { ...this.#tally.report(), placed: this.#placed };
  }

  /** The clock of the strategy. */
  readonly pause = (ms: number): Promise<void> => {
    const atMs = this.#nowMs + ms;
    return new Promise((wake) => {
      const at = this.#sleepers.findLastIndex((sleeper) => sleeper.atMs <= atMs) + 1;
      this.#sleepers.splice(at, 0, { atMs, wake });
    });
  };

  /** The middle of the recorded book is the value of a Yes, from 0 to 1; it is a half before there is one. */
  readonly mid = (marketId: string): number => {
    const market = this.#markets.get(marketId)!;
    return (market.midHalfTicks ?? market.ticksPerUnit) / (2 * market.ticksPerUnit);
  };

  async heartbeat(): Promise<void> {}

  async refreshConfig(): Promise<void> {}

  async signingDomain(): Promise<Eip712Domain> {
    return { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 1, verifyingContract: ZERO_ADDRESS };
  }

  async orderMarket(id: string): Promise<OrderMarket> {
    const { ticksPerUnit } = this.#markets.get(id)!;
    return { id, yes_token_id: '1', no_token_id: '2', ticks_per_unit: ticksPerUnit };
  }

  async feeRate(): Promise<{ maker_fee_bps: number }> {
    return { maker_fee_bps: this.#settings.feeRateBps };
  }

  async bbo(id: string): Promise<{ best_bid: string | null; best_ask: string | null }> {
    await this.#arrive();
    const market = this.#markets.get(id)!;
    const { ticksPerUnit } = market;
    const bestOf = (outcome: Outcome, priceOf: (ticks: number) => number): string | null => {
      const ticks = market.bestTicks(outcome);
      return ticks === 0 ? null : tickToPrice(priceOf(ticks), ticksPerUnit);
    };
    return {
      best_bid: bestOf(OUTCOME.YES, (ticks) => ticks),
      best_ask: bestOf(OUTCOME.NO, (ticks) => ticksPerUnit - ticks),
    };
  }

  async setOrderGroup(_name: string, settings: OrderGroupSettings): Promise<void> {
    const { window_seconds, max_token_quantity_atomic } = settings;
    this.#group.windowMs = window_seconds * 1000;
    this.#group.maxAtomic = Number(max_token_quantity_atomic);
  }

  async resetOrderGroup(): Promise<void> {
    await this.#arrive();
    Object.assign(this.#group, { fills: [], isTripped: false });
  }

  async balances(): Promise<Balances> {
    await this.#arrive();
    const reservedMicro = this.#reservedMicro();
    const tokens = [...this.#holdings].flatMap(([market_id, holding]) =>
      holding.map(({ atomic }, outcome) => {
        return { market_id, outcome_index: outcome as Outcome, available: String(atomic), reserved: '0' };
      }),
    );
    const usdc = { available: String(this.#cashMicro - reservedMicro), reserved: String(reservedMicro) };
    return { usdc, tokens };
  }

  async openOrders(id: string): Promise<{ order_hash: string }[]> {
    await this.#arrive();
    return this.#markets
      .get(id)!
      .bids()
      .map(({ hash }) => ({ order_hash: hash }));
  }

  async placeOrder(body: PlacementBody): Promise<{ order_hash: string }> {
    await this.#arrive();
    return this.#place(body, null);
  }

  /** As RULES.md 7.10 has it: a replacement that is refused leaves the old order where it was. */
  async cancelReplace(hash: string, body: PlacementBody): Promise<{ order: { order_hash: string } }> {
    await this.#arrive();
    const old = this.#bids().find((bid) => bid.hash === hash);
    if (old === undefined) throw refusal(404, 'ORDER_NOT_FOUND');
    return { order: this.#place(body, old) };
  }

  async cancelOrder(hash: string): Promise<void> {
    await this.#arrive();
    const isCancelled = [...this.#markets.values()].some((market) => market.cancel(hash));
    if (!isCancelled) throw refusal(404, 'ORDER_NOT_FOUND');
  }

  async cancelMarket(id: string): Promise<void> {
    await this.#arrive();
    const market = this.#markets.get(id)!;
    for (const { hash } of market.bids()) market.cancel(hash);
  }

  async merge(marketId: string, amountAtomic: number): Promise<void> {
    await this.#arrive();
    for (const held of this.#holdings.get(marketId)!) held.atomic -= amountAtomic;
    this.#cashMicro += amountAtomic;
  }

  /** RECORDED-1. */
  #arrive(): Promise<void> {
    return this.pause(this.#settings.latencyMs);
  }

  #place({ market_id, outcome_index, maker_amount, taker_amount }: PlacementBody, replaced: OwnBid | null) {
    if (this.#group.isTripped) throw refusal(400, 'ORDER_GROUP_TRIGGERED');
    const market = this.#markets.get(market_id)!;
    const [notionalMicro, quantityAtomic] = [Number(maker_amount), Number(taker_amount)];
    const freedMicro = replaced === null ? 0 : this.#costMicro(replaced);
    const availableMicro = this.#cashMicro - this.#reservedMicro() + freedMicro;
    if (notionalMicro > availableMicro) throw refusal(400, 'INSUFFICIENT_BALANCE');
    const hash = `recorded-${this.#placed}`;
    const ticks = divFloor(notionalMicro, divFloor(quantityAtomic, market.ticksPerUnit));
    const bid = { hash, marketId: market_id, outcome: outcome_index, ticks, quantityAtomic };
    if (!market.place(bid, replaced)) throw refusal(400, 'POST_ONLY_WOULD_CROSS');
    this.#placed++;
    return { order_hash: hash };
  }

  #filled(bid: OwnBid, quantityAtomic: number): void {
    const { marketId, outcome, ticks } = bid;
    const market = this.#markets.get(marketId)!;
    const { ticksPerUnit } = market;
    const { feeRateBps } = this.#settings;
    const receivedAtomic = bid.quantityAtomic - bid.remainingAtomic;
    // The fee accumulates over the life of the order (RULES.md 2.3).
    const feeAtomic = bpsFloor(receivedAtomic, feeRateBps) - bpsFloor(receivedAtomic - quantityAtomic, feeRateBps);
    this.#cashMicro -= divFloor(quantityAtomic, ticksPerUnit) * ticks;
    this.#holdings.get(marketId)![outcome].atomic += quantityAtomic - feeAtomic;
    const mid = () => {
      const yesHalfTicks = market.midHalfTicks ?? ticksPerUnit;
      return outcome === OUTCOME.YES ? yesHalfTicks : 2 * ticksPerUnit - yesHalfTicks;
    };
    this.#tally.filled({ atMs: this.#nowMs, marketId, ticks, ticksPerUnit, quantityAtomic, feeAtomic }, mid);
    this.#countInGroup(quantityAtomic);
  }

  /** RULES.md 7.9: the fill that reaches the maximum cancels every order of the group in the same step. */
  #countInGroup(quantityAtomic: number): void {
    const group = this.#group;
    const since = this.#nowMs - group.windowMs;
    group.fills = [...group.fills.filter(({ atMs }) => atMs > since), { atMs: this.#nowMs, quantityAtomic }];
    const sum = group.fills.reduce((total, fill) => total + fill.quantityAtomic, 0);
    if (sum < group.maxAtomic) return;
    group.isTripped = true;
    for (const market of this.#markets.values()) for (const { hash } of market.bids()) market.cancel(hash);
  }

  #bids(): OwnBid[] {
    return [...this.#markets.values()].flatMap((market) => market.bids());
  }

  #reservedMicro(): number {
    return this.#bids().reduce((sum, bid) => sum + this.#costMicro(bid), 0);
  }

  #costMicro({ marketId, ticks, remainingAtomic }: OwnBid): number {
    return divFloor(remainingAtomic, this.#markets.get(marketId)!.ticksPerUnit) * ticks;
  }

  #advance(untilMs: number): void {
    while (this.#nextFrame < this.#frames.length && this.#frames[this.#nextFrame].receivedMs <= untilMs) {
      const { receivedMs, frame } = this.#frames[this.#nextFrame++];
      this.#nowMs = Math.max(this.#nowMs, receivedMs);
      this.#markets.get(frame.market_id)!.apply(frame);
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    this.#tally.at(this.#nowMs, this.#worthMicro());
  }

  #worthMicro(): number {
    let worth = this.#cashMicro;
    for (const [marketId, [yes, no]] of this.#holdings) {
      const { ticksPerUnit, midHalfTicks } = this.#markets.get(marketId)!;
      const halfTicks = midHalfTicks ?? ticksPerUnit;
      worth += mulDivFloor(yes.atomic, halfTicks, 2 * ticksPerUnit);
      worth += mulDivFloor(no.atomic, 2 * ticksPerUnit - halfTicks, 2 * ticksPerUnit);
    }
    return worth;
  }
}

/** Recordings without their grid are of a time that had these. */
const OLD_GRIDS = [10, 100, 1000, 10_000];

/** The coarsest grid that has every price of the recording. */
function gridOf(frames: readonly RecordedFrame[]): number {
  const prices = new Set(frames.flatMap(({ frame }) => pricesOf(frame)));
  const isOn = (grid: number) => [...prices].every((price) => tryParsePriceTicks(price, grid) !== NOT_A_NUMBER);
  const grid = OLD_GRIDS.find(isOn);
  if (grid === undefined) throw new Error('the recording has prices that are on no grid');
  return grid;
}

function pricesOf(frame: MarketFrame): string[] {
  if (frame.channel === 'trade') return [frame.data.price];
  if (frame.channel === 'book_delta') return [frame.data.level.price];
  if (frame.channel === 'bbo') return [];
  const { bids, asks } = frame.data.outcome_0;
  return [...bids, ...asks].map(({ price }) => price);
}

function refusal(status: number, code: string): ApiError {
  return new ApiError(status, code, code, undefined, null);
}
