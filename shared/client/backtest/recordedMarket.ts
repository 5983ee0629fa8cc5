/**
 * A recorded market with bids of one account put between what was recorded: which of them would have been filled?
 *
 * The recording does not react to them, so a backtest says nothing about orders that are large for their market.
 *
 * Invariants:
 *   BACKTEST-1  A bid is filled only by quantity that the recording shows: by a trade at its price once the trades
 *               there have used up what stood before it, by a trade at a price worse for the taker, or by a recorded
 *               order that would have met it on arrival.
 *   BACKTEST-2  Recorded quantity fills bids once: the best first, then the earliest.
 */
import { OUTCOME, type Outcome } from '../../base/codes.ts';
import { tryParsePriceTicks } from '../../base/units.ts';
import { BookReplica, type Level } from '../stream/bookReplica.ts';
import type { DeltaFrame, MarketFrame, TradeFrame } from '../stream/frames.ts';

/** A resting bid for Yes or No. In Yes terms a bid for No at q is an ask at 1 - q (RULES.md 2.1). */
export type OwnBid = {
  readonly hash: string;
  readonly marketId: string;
  readonly outcome: Outcome;
  readonly ticks: number;
  readonly quantityAtomic: number;
  remainingAtomic: number;
  /** Recorded quantity that stands before it at its price. */
  aheadAtomic: number;
};

type OnFill = (bid: OwnBid, quantityAtomic: number) => void;

export class RecordedMarket {
  readonly id: string;
  readonly ticksPerUnit: number;
  readonly #onFill: OnFill;
  readonly #book = new BookReplica();
  #midHalfTicks: number | null = null;
  /** Best first, then earliest, for each outcome. */
  readonly #bids: readonly [OwnBid[], OwnBid[]] = [[], []];

  /** @param onFill is called for each fill, after `remainingAtomic` of the bid has changed; it may cancel any bid. */
  constructor(id: string, ticksPerUnit: number, onFill: OnFill) {
    this.id = id;
    this.ticksPerUnit = ticksPerUnit;
    this.#onFill = onFill;
  }

  /** The sum of the best prices for Yes, in ticks, when there last were both; null before that. */
  get midHalfTicks(): number | null {
    return this.#midHalfTicks;
  }

  bids(): readonly OwnBid[] {
    return this.#bids.flat();
  }

  /** The best bid for the outcome, recorded or own; 0 without one. */
  bestTicks(outcome: Outcome): number {
    const { bid } = this.#book.best(outcome);
    return Math.max(bid === null ? 0 : this.#ticks(bid.price), this.#bids[outcome][0]?.ticks ?? 0);
  }

  apply(frame: MarketFrame): void {
    this.#book.apply(frame);
    const { bid, ask } = this.#book.best(OUTCOME.YES);
    if (bid !== null && ask !== null) this.#midHalfTicks = this.#ticks(bid.price) + this.#ticks(ask.price);
    if (frame.channel === 'trade') this.#trade(frame);
    else if (frame.channel === 'book_delta') this.#change(frame);
    else if (frame.channel === 'book') this.#load();
  }

  /**
   * @param replaced leaves the book in the same step, if the new bid is accepted
   * @returns false if it would meet a recorded order or another bid of its own: a post-only order is refused then
   */
  place(bid: Omit<OwnBid, 'remainingAtomic' | 'aheadAtomic'>, replaced: OwnBid | null): boolean {
    const { bids, asks } = this.#book.levels(bid.outcome);
    if (asks.length > 0 && this.#ticks(asks[0].price) <= bid.ticks) return false;
    const complement = this.ticksPerUnit - bid.ticks;
    if (this.#bids[other(bid.outcome)].some((own) => own.ticks >= complement && own !== replaced)) return false;
    if (replaced !== null) this.cancel(replaced.hash);
    const own = this.#bids[bid.outcome];
    const at = own.findIndex(({ ticks }) => ticks < bid.ticks);
    const aheadAtomic = this.#quantityAt(bids, bid.ticks);
    own.splice(at < 0 ? own.length : at, 0, { ...bid, remainingAtomic: bid.quantityAtomic, aheadAtomic });
    return true;
  }

  /** @returns whether it was there */
  cancel(hash: string): boolean {
    for (const own of this.#bids) {
      const at = own.findIndex((bid) => bid.hash === hash);
      if (at >= 0) return own.splice(at, 1).length > 0;
    }
    return false;
  }

  /** A taker that sells an outcome, or buys the other one, meets bids for it. */
  #trade({ data }: TradeFrame): void {
    const isSale = data.taker_side === 'SELL';
    const outcome = isSale ? data.outcome_index : other(data.outcome_index);
    const takerTicks = this.#ticks(data.price);
    const ticks = isSale ? takerTicks : this.ticksPerUnit - takerTicks;
    const traded = Number(data.token_quantity_atomic);
    let left = traded;
    for (const bid of [...this.#bids[outcome]]) {
      if (bid.ticks < ticks) break;
      const reaching = bid.ticks > ticks ? left : Math.min(left, traded - bid.aheadAtomic);
      if (bid.ticks === ticks) bid.aheadAtomic = Math.max(0, bid.aheadAtomic - traded);
      left -= this.#fill(bid, reaching);
    }
  }

  #change({ data }: DeltaFrame): void {
    const { event, level } = data;
    const ticks = this.#ticks(level.price);
    const isBid = level.side === 'BUY';
    if (event === 'open' || event === 'wake') {
      // In terms of the bids that it would meet: an ask for their outcome.
      const outcome = isBid ? OUTCOME.NO : OUTCOME.YES;
      const asked = isBid ? this.ticksPerUnit - ticks : ticks;
      this.#meet(outcome, asked, Number(data.token_quantity_atomic));
    } else if (event !== 'fill') {
      // A trade has been counted already; what was cancelled may have stood before the bid, and at most the rest does.
      const outcome = isBid ? OUTCOME.YES : OUTCOME.NO;
      this.#queueAtMost(outcome, isBid ? ticks : this.ticksPerUnit - ticks, Number(level.token_quantity_atomic));
    }
  }

  /** After a loss of frames: bids that the book has passed are filled, others stand behind all that it shows. */
  #load(): void {
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
      const { bids, asks } = this.#book.levels(outcome);
      for (const { price, token_quantity_atomic } of asks) {
        this.#meet(outcome, this.#ticks(price), Number(token_quantity_atomic));
      }
      for (const { ticks } of this.#bids[outcome]) this.#queueAtMost(outcome, ticks, this.#quantityAt(bids, ticks));
    }
  }

  /** A recorded order that asks so much for the outcome. */
  #meet(outcome: Outcome, askTicks: number, quantityAtomic: number): void {
    let left = quantityAtomic;
    for (const bid of [...this.#bids[outcome]]) {
      if (bid.ticks < askTicks) break;
      left -= this.#fill(bid, left);
    }
  }

  /** @returns what it took of the quantity: nothing if it was cancelled meanwhile */
  #fill(bid: OwnBid, quantityAtomic: number): number {
    const own = this.#bids[bid.outcome];
    const filled = Math.min(bid.remainingAtomic, quantityAtomic);
    if (filled <= 0 || !own.includes(bid)) return 0;
    bid.remainingAtomic -= filled;
    if (bid.remainingAtomic === 0) own.splice(own.indexOf(bid), 1);
    this.#onFill(bid, filled);
    return filled;
  }

  #queueAtMost(outcome: Outcome, ticks: number, quantityAtomic: number): void {
    for (const bid of this.#bids[outcome]) {
      if (bid.ticks === ticks) bid.aheadAtomic = Math.min(bid.aheadAtomic, quantityAtomic);
    }
  }

  #quantityAt(levels: readonly Level[], ticks: number): number {
    const level = levels.find(({ price }) => this.#ticks(price) === ticks);
    return Number(level?.token_quantity_atomic ?? 0);
  }

  #ticks(price: string): number {
    return tryParsePriceTicks(price, this.ticksPerUnit);
  }
}

function other(outcome: Outcome): Outcome {
  return outcome === OUTCOME.YES ? OUTCOME.NO : OUTCOME.YES;
}
