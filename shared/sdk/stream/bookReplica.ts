/**
 * A market's book as frames describe it, and whether it is the one the server has. Knows nothing of connections: frames
 * go in, in order, and every answer but `applied` says what is wrong.
 *
 * Invariants:
 *   B1  `sequence` is that of the last frame applied; the book is exactly the one after it.
 *   B2  Levels are sorted best first and none is empty.
 *   B3  After `mismatch` nothing is applied until the next book frame.
 */
import { crc32OfText } from '../../crc32.ts';
import { tickToPrice, tryParsePriceTicks } from '../../units.ts';
import type { BboFrame, BookFrame, DeltaFrame, FrameLevel, FrameLevels, MarketFrame } from './frames.ts';

/** Prices of every grid are a multiple of this grid's step. */
const FINEST = 10_000;

export type Level = Readonly<FrameLevel>;
export type Levels = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
/**
 * `repeated`: the book has it already. `gap`: frames before it are missing. `mismatch`: the server has another book.
 * `unready`: no book has come yet, or none since the last mismatch.
 */
export type Verdict = 'applied' | 'repeated' | 'gap' | 'mismatch' | 'unready';

type Row = { ticks: number; level: Level };

export class BookReplica {
  #sequence: number | null = null;
  #timestamp = 0;
  #bids: Row[] = [];
  #asks: Row[] = [];

  /** Null until a book is there to be trusted. */
  get sequence(): number | null {
    return this.#sequence;
  }

  /** Of the last frame, Unix milliseconds. */
  get timestamp(): number {
    return this.#timestamp;
  }

  apply(frame: MarketFrame): Verdict {
    if (frame.channel === 'book') return this.#load(frame);
    if (this.#sequence === null) return 'unready';
    if (frame.channel === 'bbo') return this.#compareBest(frame);
    if (frame.sequence <= this.#sequence) return 'repeated';
    if (frame.sequence !== this.#sequence + 1) return 'gap';
    this.#sequence = frame.sequence;
    this.#timestamp = frame.timestamp;
    return frame.channel === 'trade' ? 'applied' : this.#change(frame);
  }

  /** Full depth in terms of one outcome: a bid for Yes at 0.65 is an ask for No at 0.35 (RULES.md 2.1). */
  levels(outcome: 0 | 1): Levels {
    const [bids, asks] = outcome === 0 ? [this.#bids, this.#asks] : [this.#asks, this.#bids];
    const toLevel = outcome === 0 ? ({ level }: Row) => level : mirrored;
    return { bids: bids.map(toLevel), asks: asks.map(toLevel) };
  }

  best(outcome: 0 | 1): { readonly bid: Level | null; readonly ask: Level | null } {
    const [bid, ask] = [this.#bids[0], this.#asks[0]];
    if (outcome === 0) return { bid: bid?.level ?? null, ask: ask?.level ?? null };
    return { bid: ask === undefined ? null : mirrored(ask), ask: bid === undefined ? null : mirrored(bid) };
  }

  /** RULES.md 8.8. */
  checksum(): number {
    const parts: string[] = [];
    for (const { level } of this.#bids) parts.push(`${level.price}:${level.token_quantity_atomic}`);
    for (const { level } of this.#asks) parts.push(`${level.price}:${level.token_quantity_atomic}`);
    return crc32OfText(parts.join('|'));
  }

  /** As a `book` frame has it, but for what follows from price and quantity. */
  toFrame(marketId: string, timestamp: number): BookFrame {
    const data = { outcome_0: copy(this.levels(0)), outcome_1: copy(this.levels(1)), checksum: this.checksum() };
    return { channel: 'book', market_id: marketId, sequence: this.#sequence ?? 0, timestamp, data };
  }

  #load({ sequence, timestamp, data }: BookFrame): Verdict {
    this.#bids = data.outcome_0.bids.map(toRow);
    this.#asks = data.outcome_0.asks.map(toRow);
    this.#sequence = sequence;
    this.#timestamp = timestamp;
    return this.#isRight(data.checksum) ? 'applied' : this.#mistrust();
  }

  #change({ data }: DeltaFrame): Verdict {
    const { side, price, token_quantity_atomic, num_orders } = data.level;
    const isBid = side === 'BUY';
    const rows = isBid ? this.#bids : this.#asks;
    const ticks = toTicks(price);
    const at = placeOf(rows, ticks, isBid ? -1 : 1);
    const isThere = rows[at]?.ticks === ticks;
    const row = { ticks, level: { price, num_orders, token_quantity_atomic } };
    if (num_orders > 0) rows.splice(at, isThere ? 1 : 0, row);
    else if (isThere) rows.splice(at, 1);
    else return this.#mistrust();
    return data.checksum === undefined || this.#isRight(data.checksum) ? 'applied' : this.#mistrust();
  }

  /** A `bbo` belongs to the frame with its sequence; an older one says nothing of this book. */
  #compareBest({ sequence, data }: BboFrame): Verdict {
    if (sequence < this.#sequence!) return 'repeated';
    if (sequence > this.#sequence!) return 'gap';
    const { bid, ask } = this.best(data.outcome_index);
    const isSame =
      (bid?.price ?? null) === data.best_bid &&
      (ask?.price ?? null) === data.best_ask &&
      (bid?.token_quantity_atomic ?? null) === data.best_bid_quantity_atomic &&
      (ask?.token_quantity_atomic ?? null) === data.best_ask_quantity_atomic;
    return isSame ? 'applied' : this.#mistrust();
  }

  #isRight(checksum: number): boolean {
    return this.checksum() === checksum;
  }

  /** B3. */
  #mistrust(): Verdict {
    this.#sequence = null;
    return 'mismatch';
  }
}

function toRow({ price, num_orders, token_quantity_atomic }: FrameLevel): Row {
  return { ticks: toTicks(price), level: { price, num_orders, token_quantity_atomic } };
}

function toTicks(price: string): number {
  return tryParsePriceTicks(price, FINEST);
}

function mirrored({ ticks, level }: Row): Level {
  return { ...level, price: tickToPrice(FINEST - ticks, FINEST) };
}

function copy({ bids, asks }: Levels): FrameLevels {
  return { bids: bids.map((level) => ({ ...level })), asks: asks.map((level) => ({ ...level })) };
}

/** Where a price is in a sorted side, or belongs. @param direction 1 for ascending, -1 for descending. */
function placeOf(rows: readonly Row[], ticks: number, direction: 1 | -1): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]!.ticks - ticks) * direction < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
