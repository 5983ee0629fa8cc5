/**
 * One market's public channel: it numbers its frames, keeps them for replays, and formats each frame once for all
 * subscribers. Owner: the gateway thread, inside the pump; subscribers are added and removed between two pump batches.
 *
 * Invariants:
 *   CHANNEL-1  At the end of a batch, the sequence of the log's last record is that of the market in the views.
 *   CHANNEL-2  A live subscriber has received every frame up to the last of the log, or will at the end of this batch.
 *              A subscriber that is not live reads the log at its own pace and becomes live at its end.
 *   CHANNEL-3  If frames are missing (a shard died with committed frames that it never published), the log starts anew
 *              and every live subscriber receives a `book` frame instead.
 *   CHANNEL-4  Every delta from `checksumFrom` on has its checksum, as long as a subscriber wants checksums.
 */
import { assert } from '../../shared/base/assert.ts';
import type { CloseReason, Outcome } from '../../shared/base/codes.ts';
import { CLOSE_REASON, OUTCOME } from '../../shared/base/codes.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { isBidInYes, kindOutcome, kindSide } from '../../shared/wire/commands.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { type Book, NO_TICK } from '../shardlink/bookViews.ts';
import type { OpenOrders } from '../shardlink/orderViews.ts';
import { BookChecksum } from './checksum.ts';
import { FrameLog } from './frameLog.ts';
import { bboFrame, bookFrame, recordFrame, type StreamMarket } from './marketFrames.ts';
import * as rec from './marketRecord.ts';

/** At least this many of a market's frames are kept for clients that reconnect. */
export const REPLAY_FRAMES = 65_536;

/** A frame to push at the end of the batch; frames that never have a checksum have the same text twice. */
type Outgoing = { readonly sequence: number; readonly plain: Buffer; readonly withChecksum: Buffer };

export type MarketSubscriber = {
  readonly isLive: boolean;
  /** The client has every frame up to this one already. */
  readonly seen: number;
  readonly wantsChecksum: boolean;
  push(frame: Buffer): void;
};

/** Best bid and ask in Yes terms, as last published. */
type Best = { bidTick: number; bidLots: number; askTick: number; askLots: number };

export class MarketChannel {
  readonly market: StreamMarket;
  readonly log: FrameLog;
  /** The first sequence number whose delta has a checksum; all later deltas have one too. */
  checksumFrom = Number.POSITIVE_INFINITY;
  readonly #subscribers = new Set<MarketSubscriber>();
  readonly #bookOf: () => Book | undefined;
  #outgoing: Outgoing[] = [];
  #checksum: BookChecksum | null = null;
  #checksumSubscribers = 0;
  /** The last sequence number at which a subscriber wanted checksums. */
  #checksumUnusedFrom = 0;
  readonly #best: Best = { bidTick: NO_TICK, bidLots: 0, askTick: NO_TICK, askLots: 0 };
  /** The book frame at a sequence number: all who ask before the next change receive the same one. */
  #bookFrame: { readonly sequence: number; readonly frame: Buffer } | null = null;

  constructor(market: StreamMarket, sequence: number, bookOf: () => Book | undefined) {
    this.market = market;
    this.log = new FrameLog(rec.MARKET_FRAME.WORDS, REPLAY_FRAMES, sequence);
    this.#bookOf = bookOf;
  }

  add(subscriber: MarketSubscriber): void {
    if (this.#subscribers.size === 0) this.#updateBest();
    this.#subscribers.add(subscriber);
    if (!subscriber.wantsChecksum) return;
    this.#checksumSubscribers++;
    if (this.#checksum === null) this.#startChecksum();
  }

  remove(subscriber: MarketSubscriber): void {
    this.#subscribers.delete(subscriber);
    if (!subscriber.wantsChecksum) return;
    this.#checksumSubscribers--;
    this.#checksumUnusedFrom = this.log.last;
  }

  /** Publishes a trade; the delta of the maker's level follows and has the next sequence. */
  trade(
    sequence: number,
    timeMs: number,
    afterMicros: number,
    tradeSequence: number,
    takerKind: number,
    matchType: number,
    yesTicks: number,
    lots: number,
  ): void {
    if (sequence !== this.log.last + 1) {
      // The book already includes the delta that follows.
      this.#jump(sequence + 1, timeMs);
      return;
    }
    const word = this.log.append();
    const { words } = this.log;
    const outcome = kindOutcome(takerKind);
    words[word + rec.MARKET_FRAME.kind] = rec.packRecordKind(
      rec.RECORD_KIND.TRADE,
      outcome,
      kindSide(takerKind),
      matchType,
    );
    words[word + rec.MARKET_FRAME.ticks] = yesTicks;
    writeSafe(words, word + rec.MARKET_FRAME.idMs, timeMs);
    writeSafe(words, word + rec.MARKET_FRAME.idSequence, tradeSequence);
    writeSafe(words, word + rec.MARKET_FRAME.lots, lots);
    words[word + rec.MARKET_FRAME.levelOrders] = afterMicros;
    writeSafe(words, word + rec.MARKET_FRAME.timeMs, timeMs);
    this.#publish(word, sequence);
  }

  /** Publishes the change that an order made to its level, in the state that the views show now. */
  delta(
    kind: rec.RecordKind,
    sequence: number,
    timeMs: number,
    orders: OpenOrders,
    slot: number,
    lots: number,
    remainingLots: number,
  ): void {
    if (sequence <= this.log.last) return; // the book frame of a jump contains it
    if (sequence !== this.log.last + 1) {
      this.#jump(sequence, timeMs);
      return;
    }
    const orderKind = orders.kind[slot];
    const isBidOrder = isBidInYes(orderKind) === 1;
    const yesTicks = ownTicks(kindOutcome(orderKind), orders.limitTicks[slot], this.market.ticksPerUnit);
    const book = this.#bookOf();
    assert(book !== undefined, 'channel: a market with a delta has a book');
    const side = isBidOrder ? book.bids : book.asks;
    const word = this.log.append();
    const { words } = this.log;
    words[word + rec.MARKET_FRAME.kind] = rec.packRecordKind(kind, kindOutcome(orderKind), kindSide(orderKind), 0);
    words[word + rec.MARKET_FRAME.ticks] = rec.packRecordTicks(yesTicks, orders.origin[slot]);
    writeSafe(words, word + rec.MARKET_FRAME.idMs, orders.createdMs[slot]);
    writeSafe(words, word + rec.MARKET_FRAME.idSequence, orders.orderSequence[slot]);
    writeSafe(words, word + rec.MARKET_FRAME.lots, lots);
    writeSafe(words, word + rec.MARKET_FRAME.remainingLots, remainingLots);
    writeSafe(words, word + rec.MARKET_FRAME.levelLots, side.lots[yesTicks]);
    words[word + rec.MARKET_FRAME.levelOrders] = side.orders[yesTicks];
    writeSafe(words, word + rec.MARKET_FRAME.timeMs, timeMs);
    this.#addChecksum(book, isBidOrder, yesTicks, words, word);
    this.#publish(word, sequence);
    this.#publishBest(sequence, timeMs);
  }

  /** CHANNEL-3. The shard has recovered; `sequence` is the market's last one. */
  recovered(sequence: number, timeMs: number): void {
    this.#jump(sequence, timeMs);
  }

  /** Pushes the frames of the batch to every live subscriber. */
  flush(): void {
    const outgoing = this.#outgoing;
    if (outgoing.length === 0) return;
    this.#outgoing = [];
    for (const subscriber of this.#subscribers) {
      if (!subscriber.isLive) continue;
      const { wantsChecksum, seen } = subscriber;
      for (const frame of outgoing) {
        if (frame.sequence > seen) subscriber.push(wantsChecksum ? frame.withChecksum : frame.plain);
      }
    }
  }

  /** The whole book. */
  bookFrame(timeMs: number): Buffer {
    const sequence = this.log.last;
    if (this.#bookFrame?.sequence !== sequence) {
      this.#bookFrame = { sequence, frame: toFrame(bookFrame(this.market, sequence, timeMs, this.#bookOf())) };
    }
    return this.#bookFrame.frame;
  }

  /** The best prices, one frame for each outcome. */
  bestFrames(timeMs: number): Buffer[] {
    return OUTCOMES.map((outcome) => toFrame(bboFrame(this.market, this.log.last, timeMs, this.#bookOf(), outcome)));
  }

  /** True when every frame after `sequence` is kept. */
  canReplay(sequence: number): boolean {
    return sequence <= this.log.last && sequence + 1 >= this.log.first;
  }

  /** True when every delta after `sequence` was kept with its checksum. */
  isChecked(sequence: number): boolean {
    return sequence === this.log.last || sequence + 1 >= this.checksumFrom;
  }

  replayFrame(sequence: number, withChecksum: boolean): Buffer {
    const word = this.log.locate(sequence);
    return toFrame(recordFrame(this.market, sequence, this.log.words, word, withChecksum));
  }

  #jump(sequence: number, timeMs: number): void {
    if (sequence !== this.log.last) this.log.restart(sequence);
    this.#bookFrame = null;
    if (this.#checksum !== null) this.#startChecksum();
    if (this.#subscribers.size === 0) return;
    const frame = this.bookFrame(timeMs);
    this.#outgoing.push({ sequence, plain: frame, withChecksum: frame });
    this.#publishBest(sequence, timeMs);
  }

  #publish(word: number, sequence: number): void {
    if (this.#subscribers.size === 0) return;
    const { words } = this.log;
    const plain = toFrame(recordFrame(this.market, sequence, words, word, false));
    const hasChecksum =
      (words[word + rec.MARKET_FRAME.ticks] & rec.REC_HAS_CHECKSUM) !== 0 && this.#checksumSubscribers > 0;
    const withChecksum = hasChecksum ? toFrame(recordFrame(this.market, sequence, words, word, true)) : plain;
    this.#outgoing.push({ sequence, plain, withChecksum });
  }

  /** Publishes one frame for each outcome when the price or quantity of a best level has changed. */
  #publishBest(sequence: number, timeMs: number): void {
    if (this.#subscribers.size === 0 || !this.#updateBest()) return;
    for (const outcome of OUTCOMES) {
      const frame = toFrame(bboFrame(this.market, sequence, timeMs, this.#bookOf(), outcome));
      this.#outgoing.push({ sequence, plain: frame, withChecksum: frame });
    }
  }

  /** @returns true when the best prices or quantities have changed. */
  #updateBest(): boolean {
    const book = this.#bookOf();
    const best = this.#best;
    const bidTick = book?.bids.highest() ?? NO_TICK;
    const askTick = book?.asks.lowest() ?? NO_TICK;
    const bidLots = bidTick === NO_TICK ? 0 : book!.bids.lots[bidTick];
    const askLots = askTick === NO_TICK ? 0 : book!.asks.lots[askTick];
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

  /** Checksums continue until a client that wanted them and left can no longer ask for a replay with them. */
  #addChecksum(book: Book, isBidLevel: boolean, tick: number, words: Uint32Array, word: number): void {
    if (this.#checksum === null) return;
    if (this.#checksumSubscribers === 0 && this.log.last - this.#checksumUnusedFrom > REPLAY_FRAMES) {
      this.#checksum = null;
      this.checksumFrom = Number.POSITIVE_INFINITY;
      return;
    }
    assert(this.log.last >= this.checksumFrom, 'CHANNEL-4: a delta before `checksumFrom` has no checksum');
    this.#checksum.update(book, isBidLevel, tick);
    words[word + rec.MARKET_FRAME.checksum] = this.#checksum.value;
    words[word + rec.MARKET_FRAME.ticks] |= rec.REC_HAS_CHECKSUM;
  }
}

const OUTCOMES: readonly Outcome[] = [OUTCOME.YES, OUTCOME.NO];

/** The kind of the delta that a public close causes. */
export function closeKind(reason: CloseReason): rec.RecordKind {
  return reason === CLOSE_REASON.EXPIRED ? rec.RECORD_KIND.EXPIRE : rec.RECORD_KIND.CANCEL;
}

/** Frames are ASCII only, which latin1 encodes fastest. */
export function toFrame(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
