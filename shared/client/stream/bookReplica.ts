/**
 * A copy of a market's book, built from frames and verified against the server's checksums and best prices. It does not
 * know connections: the caller applies frames in the order of arrival, and every result except `applied` says what is
 * wrong.
 *
 * Invariants:
 *   REPLICA-1  `sequence` is that of the last applied frame, and the book equals the server's book after that frame.
 *   REPLICA-2  Levels are sorted best first, and every level has at least one order.
 *   REPLICA-3  After `mismatch` no frame is applied until the next book frame.
 */
import { crc32OfText } from '../../base/crc32.ts';
import { tickToPrice, tryParsePriceTicks } from '../../base/units.ts';
import { type Side, type Sweep, sweep, sweepBudget } from '../sweep.ts';
import type { BboFrame, BookFrame, DeltaFrame, FrameLevel, FrameLevels, MarketFrame } from './frames.ts';

/** Prices of every grid are a multiple of this grid's step. */
const FINEST = 10_000;

export type Level = Readonly<FrameLevel>;
export type Levels = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
/**
 * `repeated`: the frame was applied before. `gap`: frames before it are missing. `mismatch`: the server's book differs.
 * `unready`: no book frame has arrived yet, or none since the last mismatch.
 */
export type ApplyResult = 'applied' | 'repeated' | 'gap' | 'mismatch' | 'unready';

/** A part of the book, before fees: the tokens, the USDC for them, and the worst price in it, null if it is empty. */
export type Depth = Omit<Sweep, 'lastTicks'> & { readonly lastPrice: string | null };

type PricedLevel = { ticks: number; level: Level };

export class BookReplica {
  #sequence: number | null = null;
  #timestamp = 0;
  #bids: PricedLevel[] = [];
  #asks: PricedLevel[] = [];

  /** Null before the first book frame and after a mismatch. */
  get sequence(): number | null {
    return this.#sequence;
  }

  /** Time of the last frame, in Unix milliseconds. */
  get timestamp(): number {
    return this.#timestamp;
  }

  /** Throws at what is no frame, and then knows no book that is right. */
  apply(frame: MarketFrame): ApplyResult {
    try {
      return this.#apply(frame);
    } catch (error) {
      this.#sequence = null;
      throw error;
    }
  }

  #apply(frame: MarketFrame): ApplyResult {
    if (frame.channel === 'book') return this.#load(frame);
    if (this.#sequence === null) return 'unready';
    if (frame.channel === 'bbo') return this.#compareBest(frame);
    if (frame.sequence <= this.#sequence) return 'repeated';
    if (frame.sequence !== this.#sequence + 1) return 'gap';
    this.#sequence = frame.sequence;
    this.#timestamp = frame.timestamp;
    return frame.channel === 'trade' ? 'applied' : this.#change(frame);
  }

  /** The full depth in terms of one outcome: a bid for Yes at 0.65 is an ask for No at 0.35 (RULES.md 2.1). */
  levels(outcome: 0 | 1): Levels {
    const [bids, asks] = outcome === 0 ? [this.#bids, this.#asks] : [this.#asks, this.#bids];
    const toLevel = outcome === 0 ? ({ level }: PricedLevel) => level : mirrored;
    return { bids: bids.map(toLevel), asks: asks.map(toLevel) };
  }

  best(outcome: 0 | 1): { readonly bid: Level | null; readonly ask: Level | null } {
    const [bid, ask] = [this.#bids[0], this.#asks[0]];
    if (outcome === 0) return { bid: bid?.level ?? null, ask: ask?.level ?? null };
    return { bid: ask === undefined ? null : mirrored(ask), ask: bid === undefined ? null : mirrored(bid) };
  }

  /** The part of the book that an order for this many tokens would take, as far as the book goes. */
  depthOf(side: Side, sizeAtomic: bigint, outcome: 0 | 1): Depth {
    return depthOf(sweep(this.levels(outcome), side, FINEST, sizeAtomic), FINEST);
  }

  /** The part of the book that this amount of USDC buys in whole lots; a lot is `ticksPerUnit` units. */
  depthFor(budgetMicro: bigint, ticksPerUnit: number, outcome: 0 | 1): Depth {
    return depthOf(sweepBudget(this.levels(outcome), ticksPerUnit, budgetMicro), ticksPerUnit);
  }

  /** The checksum of RULES.md 8.8. */
  checksum(): number {
    const parts: string[] = [];
    for (const { level } of this.#bids) parts.push(`${level.price}:${level.token_quantity_atomic}`);
    for (const { level } of this.#asks) parts.push(`${level.price}:${level.token_quantity_atomic}`);
    return crc32OfText(parts.join('|'));
  }

  /** The book as a frame that would load it. */
  toFrame(marketId: string, timestamp: number): BookFrame {
    const data = { outcome_0: copy(this.levels(0)), outcome_1: copy(this.levels(1)), checksum: this.checksum() };
    return { channel: 'book', market_id: marketId, sequence: this.#sequence ?? 0, timestamp, data };
  }

  #load({ sequence, timestamp, data }: BookFrame): ApplyResult {
    this.#bids = data.outcome_0.bids.map(toPricedLevel);
    this.#asks = data.outcome_0.asks.map(toPricedLevel);
    this.#sequence = sequence;
    this.#timestamp = timestamp;
    return this.#isRight(data.checksum) ? 'applied' : this.#mismatch();
  }

  #change({ data }: DeltaFrame): ApplyResult {
    const { side, price, token_quantity_atomic, num_orders } = data.level;
    const isBid = side === 'BUY';
    const levels = isBid ? this.#bids : this.#asks;
    const ticks = toTicks(price);
    const at = indexOfPrice(levels, ticks, isBid ? -1 : 1);
    const isThere = levels[at]?.ticks === ticks;
    const changed = { ticks, level: { price, num_orders, token_quantity_atomic } };
    if (num_orders > 0) levels.splice(at, isThere ? 1 : 0, changed);
    else if (isThere) levels.splice(at, 1);
    else return this.#mismatch();
    return data.checksum === undefined || this.#isRight(data.checksum) ? 'applied' : this.#mismatch();
  }

  /** A `bbo` describes the book at its sequence; an older one cannot be compared with this book. */
  #compareBest({ sequence, data }: BboFrame): ApplyResult {
    if (sequence < this.#sequence!) return 'repeated';
    if (sequence > this.#sequence!) return 'gap';
    const { bid, ask } = this.best(data.outcome_index);
    const isSame =
      (bid?.price ?? null) === data.best_bid &&
      (ask?.price ?? null) === data.best_ask &&
      (bid?.token_quantity_atomic ?? null) === data.best_bid_quantity_atomic &&
      (ask?.token_quantity_atomic ?? null) === data.best_ask_quantity_atomic;
    return isSame ? 'applied' : this.#mismatch();
  }

  #isRight(checksum: number): boolean {
    return this.checksum() === checksum;
  }

  /** REPLICA-3. */
  #mismatch(): ApplyResult {
    this.#sequence = null;
    return 'mismatch';
  }
}

function toPricedLevel({ price, num_orders, token_quantity_atomic }: FrameLevel): PricedLevel {
  return { ticks: toTicks(price), level: { price, num_orders, token_quantity_atomic } };
}

function toTicks(price: string): number {
  return tryParsePriceTicks(price, FINEST);
}

function mirrored({ ticks, level }: PricedLevel): Level {
  return { ...level, price: tickToPrice(FINEST - ticks, FINEST) };
}

function copy({ bids, asks }: Levels): FrameLevels {
  return { bids: bids.map((level) => ({ ...level })), asks: asks.map((level) => ({ ...level })) };
}

/**
 * The index of a price in a sorted side, or where to insert it. @param direction 1 for ascending, -1 for descending.
 */
function indexOfPrice(levels: readonly PricedLevel[], ticks: number, direction: 1 | -1): number {
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((levels[middle].ticks - ticks) * direction < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function depthOf({ lastTicks, ...taken }: Sweep, ticksPerUnit: number): Depth {
  return { ...taken, lastPrice: lastTicks === null ? null : tickToPrice(lastTicks, ticksPerUnit) };
}
