/**
 * The subscriptions of a connection. A subscription is live once it has sent everything up to the newest frame; until
 * then it reads books and old frames at the client's pace and receives no pushed frames. Owner: the gateway thread,
 * between two pump batches, except for `push`.
 *
 * Invariant:
 *   SUBSCRIPTION-1  From its start on a subscription sends frames without a gap, or starts again with a `book` frame.
 *   SUBSCRIPTION-2  A client of a standby may be ahead of the standby: it receives only frames after those that it has.
 */
import { assert } from '../../shared/base/assert.ts';
import type { RecordView } from '../../shared/wire/privateRecord.ts';
import type { StreamFeeds } from './feeds.ts';
import type { MarketChannel, MarketSubscriber } from './marketChannel.ts';
import { REPLAY_FRAMES, toFrame } from './marketChannel.ts';
import { type PrivateLog, REPLAY_PRIVATE } from './privateLog.ts';
import { PrivateReplay } from './privateReplay.ts';
import type { PrivateSubscriber } from './privateSubscribers.ts';

/** The receiver of frames, which sends them in the order in which they were pushed. */
export type FrameSink = { push(frame: Buffer): void };

export type Subscription = {
  readonly isLive: boolean;
  /** Sends some of the missing frames. @returns true if the subscription is live now */
  catchUp(nowMs: number): boolean;
};

/** Frames read in one turn: enough to be quick, and few enough that other clients do not wait. */
const FRAMES_A_TURN = 64;
const NEEDS_BOOK = -1;
const NOTHING_SEEN = -1;

export class MarketSubscription implements Subscription, MarketSubscriber {
  readonly channel: MarketChannel;
  readonly #sink: FrameSink;
  #wantsChecksum: boolean;
  #isLive = true;
  /** While not live: the last sequence number sent, or NEEDS_BOOK. */
  #cursor = 0;
  #seen = NOTHING_SEEN;
  /** Frames of this replay were kept without the checksum that they should have: a book is sent after them. */
  #lacksChecksum = false;

  constructor(channel: MarketChannel, sink: FrameSink, wantsChecksum: boolean) {
    this.channel = channel;
    this.#sink = sink;
    this.#wantsChecksum = wantsChecksum;
    channel.add(this);
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get wantsChecksum(): boolean {
    return this.#wantsChecksum;
  }

  /** The sequence number of the last frame sent; null while the client still waits for its book. */
  get sequence(): number | null {
    if (this.#isLive) return Math.max(this.channel.log.last, this.#seen);
    return this.#cursor === NEEDS_BOOK ? null : this.#cursor;
  }

  get seen(): number {
    return this.#seen;
  }

  end(): void {
    this.channel.remove(this);
  }

  setChecksum(wantsChecksum: boolean): void {
    if (wantsChecksum === this.#wantsChecksum) return;
    this.channel.remove(this);
    this.#wantsChecksum = wantsChecksum;
    this.channel.add(this);
  }

  startWithBook(): void {
    this.#isLive = false;
    this.#seen = NOTHING_SEEN;
    this.#cursor = NEEDS_BOOK;
  }

  /** @param isBehind true if this process, a standby, may not have the frame yet (SUBSCRIPTION-2) */
  startAfter(sequence: number, isBehind = false): void {
    const { last } = this.channel.log;
    const isAhead = isBehind && sequence > last && sequence - last <= REPLAY_FRAMES;
    this.#isLive = isAhead;
    this.#seen = isAhead ? sequence : NOTHING_SEEN;
    this.#cursor = sequence;
    this.#lacksChecksum = false;
  }

  push(frame: Buffer): void {
    this.#sink.push(frame);
  }

  catchUp(nowMs: number): boolean {
    if (this.#isLive) return true;
    const { channel } = this;
    if (this.#cursor === NEEDS_BOOK || !channel.canReplay(this.#cursor)) {
      this.#sink.push(channel.bookFrame(nowMs));
      this.#isLive = true;
      return true;
    }
    const { last } = channel.log;
    const end = Math.min(last, this.#cursor + FRAMES_A_TURN);
    assert(this.#cursor <= last, 'SUBSCRIPTION-1: a subscription is never ahead of its channel');
    const hasReplayed = this.#cursor < last;
    if (this.#wantsChecksum && !channel.isChecked(this.#cursor)) this.#lacksChecksum = true;
    while (this.#cursor < end) this.#sink.push(channel.replayFrame(++this.#cursor, this.#wantsChecksum));
    this.#isLive = this.#cursor === last;
    if (this.#isLive && this.#lacksChecksum) this.#sink.push(channel.bookFrame(nowMs));
    // `bbo` frames are not replayed: one for each outcome shows the current best prices.
    if (this.#isLive && hasReplayed) for (const frame of channel.bestFrames(nowMs)) this.#sink.push(frame);
    return this.#isLive;
  }
}

export class UserSubscription implements Subscription, PrivateSubscriber {
  readonly account: number;
  cancelsOnDisconnect = false;
  readonly #feeds: StreamFeeds;
  readonly #log: PrivateLog;
  readonly #pushFrame: (record: RecordView) => void;
  #isLive = true;
  #replay: PrivateReplay;

  constructor(account: number, feeds: StreamFeeds, sink: FrameSink) {
    this.account = account;
    this.#feeds = feeds;
    this.#log = feeds.privateLog;
    this.#pushFrame = (record) => sink.push(toFrame(feeds.privateFrame(record)));
    this.#replay = new PrivateReplay(this.#log, account, this.#log.last(account));
    feeds.privateSubscribers.add(this);
  }

  end(): void {
    this.#feeds.privateSubscribers.remove(this);
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** The number of the last frame sent. */
  get userSequence(): number {
    return this.#replay.cursor;
  }

  /** Sends the frames after this number again, as far back as they are kept; a gap is visible in the numbers. */
  startAfter(userSequence: number): void {
    const isNear = userSequence - this.#log.last(this.account) <= REPLAY_PRIVATE;
    this.#replay = new PrivateReplay(this.#log, this.account, userSequence, this.#feeds.isBehind && isNear);
    this.#isLive = false;
  }

  /** New frames of the account are in the log. */
  follow(): void {
    if (!this.#isLive) return;
    while (!this.#replay.step(this.#pushFrame));
  }

  catchUp(): boolean {
    this.#isLive = this.#replay.step(this.#pushFrame);
    return this.#isLive;
  }
}
