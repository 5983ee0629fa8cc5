/**
 * What a connection listens to. A subscription is live when it has been brought to the end; until then it reads books
 * and old frames at the pace of its client and is left out of what is told to all.
 * Owner: the gateway thread, between two pump batches, but for `push`.
 *
 * Invariant:
 *   S1  What a subscription sends is without a gap from its start on, or begins anew with a `book` frame that says so.
 */
import type { RecordPlace } from '../../shared/privateRecord.ts';
import type { MarketChannel, MarketListener } from './marketChannel.ts';
import { toFrame } from './marketChannel.ts';
import type { PrivateLog } from './privateLog.ts';
import { PrivateReplay } from './privateReplay.ts';

/** Where frames go, in this order. */
export type FrameSink = { push(frame: Buffer): void };

/** Sends some of what is missing. @returns whether it is live now. */
export type Subscription = { readonly isLive: boolean; catchUp(nowMs: number): boolean };

/** Frames read in one turn: enough to be quick, and little enough that nobody else waits for it. */
const FRAMES_A_TURN = 64;
const NEEDS_BOOK = -1;

export class MarketSubscription implements Subscription, MarketListener {
  readonly channel: MarketChannel;
  readonly #sink: FrameSink;
  #wantsChecksum: boolean;
  #isLive = true;
  /** While not live: the last sequence sent, or NEEDS_BOOK. */
  #cursor = 0;

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

  /** How far the client has been brought, or null while its book is still to come. */
  get sequence(): number | null {
    if (this.#isLive) return this.channel.log.last;
    return this.#cursor === NEEDS_BOOK ? null : this.#cursor;
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
    this.#cursor = NEEDS_BOOK;
  }

  startBehind(sequence: number): void {
    this.#isLive = false;
    this.#cursor = sequence;
  }

  push(frame: Buffer): void {
    this.#sink.push(frame);
  }

  catchUp(nowMs: number): boolean {
    const { channel } = this;
    if (this.#cursor === NEEDS_BOOK || !channel.canReplay(this.#cursor, this.#wantsChecksum)) {
      this.#sink.push(channel.bookFrame(nowMs));
      this.#isLive = true;
      return true;
    }
    const { last } = channel.log;
    const end = Math.min(last, this.#cursor + FRAMES_A_TURN);
    const hasReplayed = this.#cursor < last;
    while (this.#cursor < end) this.#sink.push(channel.replayFrame(++this.#cursor, this.#wantsChecksum));
    this.#isLive = this.#cursor === last;
    // The best prices are no part of the sequence: one frame an outcome tells what became of them.
    if (this.#isLive && hasReplayed) for (const frame of channel.bestFrames(nowMs)) this.#sink.push(frame);
    return this.#isLive;
  }
}

export class UserSubscription implements Subscription {
  readonly account: number;
  cancelsOnDisconnect = false;
  readonly #log: PrivateLog;
  readonly #sendFrame: (place: RecordPlace) => void;
  #isLive = true;
  #replay: PrivateReplay;

  constructor(account: number, log: PrivateLog, render: (place: RecordPlace) => string, sink: FrameSink) {
    this.account = account;
    this.#log = log;
    this.#sendFrame = (place) => sink.push(toFrame(render(place)));
    this.#replay = new PrivateReplay(log, account, log.last(account));
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Of the last frame sent. */
  get userSequence(): number {
    return this.#replay.cursor;
  }

  /** Goes back to this frame, or as far back as frames are kept; the gap is in the numbers for all to see. */
  startBehind(userSequence: number): void {
    this.#replay = new PrivateReplay(this.#log, this.account, userSequence);
    this.#isLive = false;
  }

  /** There are new records. */
  follow(): void {
    if (!this.#isLive) return;
    while (!this.#replay.step(this.#sendFrame));
  }

  catchUp(): boolean {
    this.#isLive = this.#replay.step(this.#sendFrame);
    return this.#isLive;
  }
}
