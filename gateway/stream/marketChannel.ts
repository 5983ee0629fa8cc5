/**
 * One market's public channel: its frames are numbered, kept, and written as text once for all who listen.
 * Owner: the gateway thread, inside the pump; subscribers are added and removed between two pump batches.
 *
 * Invariants:
 *   M1  The log's last record is the market's last public sequence: what the book in the views holds.
 *   M2  A live subscriber has been sent, or has in this batch, every frame up to M1. One that is not live reads the log
 *       at its own pace and becomes live when it has reached the end.
 *   M3  Where frames are missing (a shard died with frames committed that it never published), the log starts anew and
 *       every live subscriber gets a `book` frame in their place.
 *   M4  Every delta from `checksumFrom` on has its checksum, as long as one is wanted.
 */
import type { CloseReason, Outcome } from '../../shared/codes.ts';
import { CLOSE_REASON, OUTCOME } from '../../shared/codes.ts';
import { kindOutcome, kindSide } from '../../shared/commands.ts';
import { writeSafe } from '../../shared/record.ts';
import { type Book, NO_TICK } from '../views/books.ts';
import { isBid, mirrorTicks, type OpenOrders } from '../views/orders.ts';
import { BookChecksum } from './checksum.ts';
import { FrameLog } from './frameLog.ts';
import { bboFrame, bookFrame, recordFrame, type StreamMarket } from './marketFrames.ts';
import * as rec from './marketRecord.ts';

/** Frames of a market that a reconnecting client finds again, at least. */
export const REPLAY_FRAMES = 65_536;

/** A frame on its way to the subscribers of a market; `plain` and `summed` are the same where no checksum belongs. */
type Outgoing = { readonly plain: Buffer; readonly summed: Buffer };

export type MarketListener = {
  readonly isLive: boolean;
  readonly wantsChecksum: boolean;
  push(frame: Buffer): void;
};

/** Best bid and ask in Yes terms, as it was told last. */
type Best = { bidTick: number; bidLots: number; askTick: number; askLots: number };

export class MarketChannel {
  readonly market: StreamMarket;
  readonly log: FrameLog;
  /** The first sequence whose delta has a checksum, and all after it. */
  checksumFrom = Number.POSITIVE_INFINITY;
  readonly #listeners = new Set<MarketListener>();
  readonly #bookOf: () => Book | undefined;
  #outgoing: Outgoing[] = [];
  #checksum: BookChecksum | null = null;
  #checksumListeners = 0;
  /** Since when nobody has wanted a checksum. */
  #checksumUnusedFrom = 0;
  readonly #best: Best = { bidTick: NO_TICK, bidLots: 0, askTick: NO_TICK, askLots: 0 };
  /** A book frame is the same for everyone who asks before the next change. */
  #bookText: { readonly sequence: number; readonly frame: Buffer } | null = null;

  constructor(market: StreamMarket, sequence: number, bookOf: () => Book | undefined) {
    this.market = market;
    this.log = new FrameLog(rec.MARKET_RECORD_WORDS, REPLAY_FRAMES, sequence);
    this.#bookOf = bookOf;
  }

  add(listener: MarketListener): void {
    if (this.#listeners.size === 0) this.#noteBest();
    this.#listeners.add(listener);
    if (!listener.wantsChecksum) return;
    this.#checksumListeners++;
    if (this.#checksum === null) this.#startChecksum();
  }

  remove(listener: MarketListener): void {
    this.#listeners.delete(listener);
    if (!listener.wantsChecksum) return;
    this.#checksumListeners--;
    this.#checksumUnusedFrom = this.log.last;
  }

  /** `sequence` is the trade's; the maker's delta follows. */
  trade(
    sequence: number,
    timeMs: number,
    tradeSequence: number,
    takerKind: number,
    matchType: number,
    yesTicks: number,
    lots: number,
  ): void {
    if (sequence !== this.log.last + 1) {
      // The book already shows what the delta behind it did.
      this.#jump(sequence + 1, timeMs);
      return;
    }
    const word = this.log.append();
    const { words } = this.log;
    const outcome = kindOutcome(takerKind);
    words[word + rec.REC_KIND] = rec.packRecordKind(rec.RECORD_KIND.TRADE, outcome, kindSide(takerKind), matchType);
    words[word + rec.REC_TICKS] = yesTicks;
    writeSafe(words, word + rec.REC_ID_MS, timeMs);
    writeSafe(words, word + rec.REC_ID_SEQUENCE, tradeSequence);
    writeSafe(words, word + rec.REC_LOTS, lots);
    writeSafe(words, word + rec.REC_TIME_MS, timeMs);
    this.#tell(word, sequence);
  }

  /** What an order did to the book that the views show now. */
  delta(
    kind: rec.RecordKind,
    sequence: number,
    timeMs: number,
    orders: OpenOrders,
    slot: number,
    lots: number,
    remainingLots: number,
  ): void {
    if (sequence <= this.log.last) return; // a jump has it in its book
    if (sequence !== this.log.last + 1) {
      this.#jump(sequence, timeMs);
      return;
    }
    const orderKind = orders.kind[slot]!;
    const isBidOrder = isBid(orderKind);
    const yesTicks = mirrorTicks(orderKind, orders.limitTicks[slot]!, this.market.ticksPerUnit);
    const book = this.#bookOf()!;
    const side = isBidOrder ? book.bids : book.asks;
    const word = this.log.append();
    const { words } = this.log;
    words[word + rec.REC_KIND] = rec.packRecordKind(kind, kindOutcome(orderKind), kindSide(orderKind), 0);
    words[word + rec.REC_TICKS] = yesTicks;
    writeSafe(words, word + rec.REC_ID_MS, orders.createdMs[slot]!);
    writeSafe(words, word + rec.REC_ID_SEQUENCE, orders.orderSequence[slot]!);
    writeSafe(words, word + rec.REC_LOTS, lots);
    writeSafe(words, word + rec.REC_REMAINING_LOTS, remainingLots);
    writeSafe(words, word + rec.REC_LEVEL_LOTS, side.lots[yesTicks]!);
    words[word + rec.REC_LEVEL_ORDERS] = side.orders[yesTicks]!;
    writeSafe(words, word + rec.REC_TIME_MS, timeMs);
    this.#sum(book, isBidOrder, yesTicks, words, word);
    this.#tell(word, sequence);
    this.#tellBest(sequence, timeMs);
  }

  /** The shard has told everything anew; `sequence` is the market's last. Nobody shall go on blind (M3). */
  retold(sequence: number, timeMs: number): void {
    this.#jump(sequence, timeMs);
  }

  /** Hands the batch to whoever is live. */
  flush(): void {
    const outgoing = this.#outgoing;
    if (outgoing.length === 0) return;
    this.#outgoing = [];
    for (const listener of this.#listeners) {
      if (!listener.isLive) continue;
      for (const frame of outgoing) listener.push(listener.wantsChecksum ? frame.summed : frame.plain);
    }
  }

  /** The whole book as it stands. */
  bookFrame(timeMs: number): Buffer {
    const sequence = this.log.last;
    if (this.#bookText?.sequence !== sequence) {
      this.#bookText = { sequence, frame: toFrame(bookFrame(this.market, sequence, timeMs, this.#bookOf())) };
    }
    return this.#bookText.frame;
  }

  /** The best prices as they stand, one frame an outcome. */
  bestFrames(timeMs: number): Buffer[] {
    return OUTCOMES.map((outcome) => toFrame(bboFrame(this.market, this.log.last, timeMs, this.#bookOf(), outcome)));
  }

  /** Whether every frame behind `sequence` can be read again, as wanted. */
  canReplay(sequence: number, withChecksum: boolean): boolean {
    if (sequence > this.log.last || sequence + 1 < this.log.first) return false;
    return !withChecksum || sequence === this.log.last || sequence + 1 >= this.checksumFrom;
  }

  replayFrame(sequence: number, withChecksum: boolean): Buffer {
    const word = this.log.locate(sequence);
    return toFrame(recordFrame(this.market, sequence, this.log.words, word, withChecksum));
  }

  #jump(sequence: number, timeMs: number): void {
    if (sequence !== this.log.last) this.log.restart(sequence);
    this.#bookText = null;
    if (this.#checksum !== null) this.#startChecksum();
    if (this.#listeners.size === 0) return;
    const frame = this.bookFrame(timeMs);
    this.#outgoing.push({ plain: frame, summed: frame });
    this.#tellBest(sequence, timeMs);
  }

  #tell(word: number, sequence: number): void {
    if (this.#listeners.size === 0) return;
    const { words } = this.log;
    const plain = toFrame(recordFrame(this.market, sequence, words, word, false));
    const isSummed = (words[word + rec.REC_TICKS]! & rec.REC_HAS_CHECKSUM) !== 0 && this.#checksumListeners > 0;
    const summed = isSummed ? toFrame(recordFrame(this.market, sequence, words, word, true)) : plain;
    this.#outgoing.push({ plain, summed });
  }

  /** One frame an outcome when price or quantity of a best has changed. */
  #tellBest(sequence: number, timeMs: number): void {
    if (this.#listeners.size === 0 || !this.#noteBest()) return;
    for (const outcome of OUTCOMES) {
      const frame = toFrame(bboFrame(this.market, sequence, timeMs, this.#bookOf(), outcome));
      this.#outgoing.push({ plain: frame, summed: frame });
    }
  }

  /** @returns whether it is another one than before. */
  #noteBest(): boolean {
    const book = this.#bookOf();
    const best = this.#best;
    const bidTick = book?.bids.highest() ?? NO_TICK;
    const askTick = book?.asks.lowest() ?? NO_TICK;
    const bidLots = bidTick === NO_TICK ? 0 : book!.bids.lots[bidTick]!;
    const askLots = askTick === NO_TICK ? 0 : book!.asks.lots[askTick]!;
    const isSame =
      best.bidTick === bidTick && best.askTick === askTick && best.bidLots === bidLots && best.askLots === askLots;
    if (isSame) return false;
    best.bidTick = bidTick;
    best.askTick = askTick;
    best.bidLots = bidLots;
    best.askLots = askLots;
    return true;
  }

  #startChecksum(): void {
    this.#checksum = new BookChecksum(this.market.ticksPerUnit, this.#bookOf());
    this.checksumFrom = this.log.last + 1;
  }

  /** Goes on for as long as a client that was here may come back and ask for a replay. */
  #sum(book: Book, isBidLevel: boolean, tick: number, words: Uint32Array, word: number): void {
    if (this.#checksum === null) return;
    if (this.#checksumListeners === 0 && this.log.last - this.#checksumUnusedFrom > REPLAY_FRAMES) {
      this.#checksum = null;
      this.checksumFrom = Number.POSITIVE_INFINITY;
      return;
    }
    this.#checksum.update(book, isBidLevel, tick);
    words[word + rec.REC_CHECKSUM] = this.#checksum.value;
    words[word + rec.REC_TICKS]! |= rec.REC_HAS_CHECKSUM;
  }
}

const OUTCOMES: readonly Outcome[] = [OUTCOME.YES, OUTCOME.NO];

/** What a public close is called. */
export function closeKind(reason: CloseReason): rec.RecordKind {
  return reason === CLOSE_REASON.EXPIRED ? rec.RECORD_KIND.EXPIRE : rec.RECORD_KIND.CANCEL;
}

/** Everything a frame says is ASCII. */
export function toFrame(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
