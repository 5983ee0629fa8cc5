/**
 * The private frames of an account, each exactly once, over any number of lost connections: `user_sequence` orders
 * them, `user_since` requests missed frames, and a gap event stands for frames that cannot be sent again.
 *
 * Each subscription requests the last known frame once more and compares it: if the server has numbered its frames anew
 * (RULES.md 8.9), that frame differs even if the number fits.
 *
 * Invariants:
 *   USERSTREAM-1  `userSequence` is that of the last frame emitted; frames are emitted in order, none twice.
 *   USERSTREAM-2  A frame that is not emitted is part of a `gap` event.
 */
import { deferred } from '../../base/deferred.ts';
import { INSPECT, type Inspecting, shown } from '../shown.ts';
import { EventFeed, SlowReaderError } from './eventFeed.ts';
import type { FillFrame, HeartbeatFrame, OrderStatusFrame, PrivateFrame } from './frames.ts';

/** The methods of ExchangeClient whose answers have the content of the missing frames. */
const REREAD = ['userOrders', 'userTrades', 'balances'] as const;

export type GapEvent = {
  readonly type: 'gap';
  /** `expired`: the server no longer keeps them. `restarted`: it numbers frames anew, so the gap is unknown. */
  readonly cause: 'expired' | 'restarted';
  /** The first and the last missing `user_sequence`; `to` is null if it is unknown. */
  readonly from: number;
  readonly to: number | null;
  /** Time of the last emitted frame, in Unix milliseconds, or null: the missing events happened since. */
  readonly sinceMs: number | null;
  /** Methods of ExchangeClient to call, with `since` where they accept it. */
  readonly reread: typeof REREAD;
};

export type UserEvent =
  | { readonly type: 'fill'; readonly frame: FillFrame }
  | { readonly type: 'order_status'; readonly frame: OrderStatusFrame }
  | GapEvent
  | { readonly type: 'live' | 'stale'; readonly userSequence: number | null };

export type UserOptions = {
  /** Start after this frame, which an earlier run received; if absent, start with the next event. */
  readonly since?: number | undefined;
  /**
   * The server cancels all open orders of the account, those of its other keys and sessions too, when the connection
   * ends for any reason, even if it is only lost for a while, and at `ExchangeStream.close`. `UserStream.close` ends it
   * without cancelling.
   */
  readonly cancelOnDisconnect?: boolean;
  readonly onEvent?: (event: UserEvent) => void;
  /** The number of events that may wait for the iterator; with more it throws SlowReaderError. */
  readonly limit?: number;
};

type UserHost = { subscribeUser(user: UserStream): void; leaveUser(user: UserStream): void };

const DEFAULT_LIMIT = 10_000;
/** Attempts to get missing frames before they count as lost. */
const MOST_TRIES = 3;

export class UserStream implements AsyncIterable<UserEvent> {
  readonly cancelOnDisconnect: boolean;
  readonly #host: UserHost;
  readonly #feed: EventFeed<UserEvent>;
  #last: number | null;
  /** Content of the frame `last`, once it is known. */
  #anchor: string | null = null;
  #lastMs: number | null = null;
  #isSubscribing = false;
  #tries = 0;
  #isLive = false;
  #isClosed = false;
  #ready = deferred<void>();

  constructor(host: UserHost, options: UserOptions = {}) {
    this.#host = host;
    this.cancelOnDisconnect = options.cancelOnDisconnect ?? false;
    this.#last = options.since ?? null;
    this.#ready.promise.catch(() => {});
    this.#feed = new EventFeed<UserEvent>({
      limit: options.limit ?? DEFAULT_LIMIT,
      onEvent: options.onEvent,
      keepsUnread: true,
      onFull: () => {
        this.fail(new SlowReaderError('private events came faster than they were read; open again with `since`'));
        return null;
      },
    });
  }

  [INSPECT](...inspecting: Inspecting): string {
    const members = { userSequence: this.#last, isLive: this.#isLive, cancelOnDisconnect: this.cancelOnDisconnect };
    return shown('UserStream', members, inspecting);
  }

  /** Null before the first answer. */
  get userSequence(): number | null {
    return this.#last;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Resolves with the first subscription: every later frame is emitted. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  [Symbol.asyncIterator](): AsyncIterator<UserEvent> {
    return this.#feed[Symbol.asyncIterator]();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#end(new Error('the user stream was closed'));
    this.#feed.end();
    this.#host.leaveUser(this);
  }

  fail(error: Error): void {
    if (this.#isClosed) return;
    this.#end(error);
    this.#feed.fail(error);
    this.#host.leaveUser(this);
  }

  /** Called when a subscription is being sent. @returns its `user_since`; undefined to start with the next event. */
  subscribing(): number | undefined {
    this.#isSubscribing = true;
    return this.#last === null ? undefined : Math.max(0, this.#last - 1);
  }

  /**
   * @param sequence the `user_sequence` of the answer: the last frame before the following ones
   * @param since what this request has asked for: its answer may come late, when later frames have arrived
   */
  subscribed(sequence: number, since: number | undefined): void {
    assertCounted(sequence);
    this.#isSubscribing = false;
    if (this.#last === null) {
      this.#last = sequence;
      // Fetches that frame, to compare it after a reconnect even if no other frame arrives before.
      if (sequence > 0) this.#subscribe();
    } else if (since !== undefined && sequence < Math.min(since, this.#last)) {
      this.#restarted();
    }
    this.#ready.resolve();
  }

  caughtUp(): void {
    if (!this.#isSubscribing && this.#last !== null) this.#setLive(true);
  }

  connectionLost(): void {
    this.#isSubscribing = false;
    this.#setLive(false);
  }

  received(frame: PrivateFrame): void {
    const last = this.#last;
    assertCounted(frame.user_sequence);
    if (last === null || this.#isClosed || frame.user_sequence < last) return;
    if (frame.user_sequence === last) {
      const text = identityOf(frame);
      this.#anchor ??= text;
      if (this.#anchor !== text) this.#restarted();
    } else if (frame.user_sequence === last + 1) {
      this.#emit(frame);
    } else if (!this.#isSubscribing) {
      this.#skipped(last, frame);
    }
  }

  heartbeat({ data }: HeartbeatFrame): void {
    const sent = data.user_sequence;
    if (sent !== undefined) assertCounted(sent);
    if (this.#last === null || sent === undefined || this.#isSubscribing) {
      // An answer that does not arrive between heartbeats was lost.
      if (++this.#tries >= MOST_TRIES) this.#subscribeAnew();
    } else if (sent < this.#last) {
      // A standby may not have the last frame yet; its answer says whether the numbers differ.
      this.#subscribeAnew();
    } else if (sent > this.#last) {
      this.#skippedTo(this.#last, sent + 1, null);
    } else {
      this.#tries = 0;
      this.#setLive(true);
    }
  }

  /** The frames between `last` and this one have not arrived. */
  #skipped(last: number, frame: PrivateFrame): void {
    this.#skippedTo(last, frame.user_sequence, frame);
  }

  #skippedTo(last: number, next: number, frame: PrivateFrame | null): void {
    if (++this.#tries < MOST_TRIES) {
      this.#setLive(false);
      this.#subscribe();
      return;
    }
    this.#gap('expired', last + 1, next - 1);
    this.#last = next - 1;
    this.#anchor = null;
    if (frame === null) this.#tries = 0;
    else this.#emit(frame);
  }

  #emit(frame: PrivateFrame): void {
    this.#last = frame.user_sequence;
    this.#anchor = identityOf(frame);
    this.#lastMs = frame.timestamp;
    this.#tries = 0;
    if (frame.channel === 'fill') this.#feed.push({ type: 'fill', frame });
    else this.#feed.push({ type: 'order_status', frame });
  }

  /** After a restart every frame counts as new. */
  #restarted(): void {
    this.#gap('restarted', this.#last! + 1, null);
    this.#last = 0;
    this.#anchor = null;
    this.#subscribeAnew();
  }

  #gap(cause: GapEvent['cause'], from: number, to: number | null): void {
    this.#feed.push({ type: 'gap', cause, from, to, sinceMs: this.#lastMs, reread: REREAD });
  }

  #subscribeAnew(): void {
    this.#tries = 0;
    this.#subscribe();
  }

  #subscribe(): void {
    this.#isSubscribing = true;
    this.#host.subscribeUser(this);
  }

  #setLive(isLive: boolean): void {
    if (this.#isLive === isLive || this.#isClosed) return;
    this.#isLive = isLive;
    this.#feed.push({ type: isLive ? 'live' : 'stale', userSequence: this.#last });
  }

  #end(error: Error): void {
    this.#isClosed = true;
    this.#isLive = false;
    this.#ready.reject(error);
  }
}

/** The connection is then abandoned, because a frame without a number is none of the exchange. */
function assertCounted(sequence: number): void {
  if (!(Number.isSafeInteger(sequence) && sequence >= 0))
    throw new TypeError('a user_sequence is no number of a frame');
}

function identityOf({ channel, timestamp, data }: PrivateFrame): string {
  return JSON.stringify([channel, timestamp, data]);
}
