/**
 * The private frames of an account, each exactly once, over any number of lost connections: `user_sequence` orders
 * them, `user_since` brings back what was missed, and what cannot be brought back is told as a gap.
 *
 * Each time it asks for the last frame it knows once more. That one must be the same as before: a server whose numbers
 * began anew (RULES.md 8.9) is noticed by it, whatever the numbers say.
 *
 * Invariants:
 *   E1  `userSequence` is that of the last frame told; frames are told in order, none twice.
 *   E2  A frame that is not told is part of a `gap` event.
 */
import { EventFeed, SlowReaderError } from './eventFeed.ts';
import type { FillFrame, HeartbeatFrame, OrderStatusFrame, PrivateFrame } from './frames.ts';

/** Answers by REST that tell what frames would have told. */
export const REREAD = ['userOrders', 'userTrades', 'balances'] as const;

export type GapEvent = {
  readonly type: 'gap';
  /** `expired`: the server no longer has them. `restarted`: its numbers began anew; nobody knows what is missing. */
  readonly cause: 'expired' | 'restarted';
  /** The first and last `user_sequence` that is missing; `to` is null when that is unknown. */
  readonly from: number;
  readonly to: number | null;
  /** Of the last frame told, Unix milliseconds, or null: what is missing happened since. */
  readonly sinceMs: number | null;
  /** Methods of ExchangeClient to call, with `since` where they take it. */
  readonly reread: typeof REREAD;
};

export type UserEvent =
  | { readonly type: 'fill'; readonly frame: FillFrame }
  | { readonly type: 'order_status'; readonly frame: OrderStatusFrame }
  | GapEvent
  | { readonly type: 'live' | 'stale'; readonly userSequence: number | null };

export type UserOptions = {
  /** Begin behind this frame, one that an earlier run has seen; without it, with what happens from now on. */
  readonly since?: number;
  /**
   * The server cancels all open orders of the account when the connection ends, for whatever reason: also when it is
   * lost and comes back, and at `ExchangeStream.close`. `UserStream.close` ends it without cancelling.
   */
  readonly cancelOnDisconnect?: boolean;
  readonly onEvent?: (event: UserEvent) => void;
  /** Events that may wait for the iterator; with more it throws SlowReaderError. */
  readonly limit?: number;
};

export type UserHost = { subscribeUser(user: UserStream): void; leaveUser(user: UserStream): void };

const DEFAULT_LIMIT = 10_000;
/** So often frames are asked for again before they are taken for lost. */
const TRIES = 3;

export class UserStream implements AsyncIterable<UserEvent> {
  readonly cancelOnDisconnect: boolean;
  readonly #host: UserHost;
  readonly #feed: EventFeed<UserEvent>;
  #last: number | null;
  /** What frame `last` said, once it is known. */
  #anchor: string | null = null;
  #lastMs: number | null = null;
  #isAsking = false;
  #tries = 0;
  #isLive = false;
  #isClosed = false;
  #ready = Promise.withResolvers<void>();

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

  /** Null before the first answer. */
  get userSequence(): number | null {
    return this.#last;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Resolves when every frame from now on will be told. */
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

  /** The `user_since` to subscribe with; undefined to learn where the account is. */
  asking(): number | undefined {
    this.#isAsking = true;
    return this.#last === null ? undefined : Math.max(0, this.#last - 1);
  }

  /** @param told the `user_sequence` of the answer: how far this connection has been brought. */
  answered(told: number): void {
    this.#isAsking = false;
    if (this.#last === null) {
      this.#last = told;
      // To know the frame again, even if this connection ends before another one comes.
      if (told > 0) this.#ask();
    } else if (told < this.#last - 1) {
      this.#restarted();
    }
    this.#ready.resolve();
  }

  caughtUp(): void {
    if (!this.#isAsking && this.#last !== null) this.#setLive(true);
  }

  connectionLost(): void {
    this.#isAsking = false;
    this.#setLive(false);
  }

  received(frame: PrivateFrame): void {
    const last = this.#last;
    if (last === null || this.#isClosed || frame.user_sequence < last) return;
    if (frame.user_sequence === last) {
      const text = identityOf(frame);
      this.#anchor ??= text;
      if (this.#anchor !== text) this.#restarted();
    } else if (frame.user_sequence === last + 1) {
      this.#tell(frame);
    } else if (!this.#isAsking) {
      this.#skipped(last, frame);
    }
  }

  heartbeat({ data }: HeartbeatFrame): void {
    const told = data.user_sequence;
    if (this.#last === null || told === undefined || this.#isAsking) {
      // No answer between two heartbeats: it was lost.
      if (++this.#tries >= TRIES) this.#askAnew();
    } else if (told < this.#last) {
      this.#restarted();
    } else if (told > this.#last) {
      this.#skippedTo(this.#last, told + 1, null);
    } else {
      this.#tries = 0;
      this.#setLive(true);
    }
  }

  /** Frames between `last` and this one have not come. */
  #skipped(last: number, frame: PrivateFrame): void {
    this.#skippedTo(last, frame.user_sequence, frame);
  }

  #skippedTo(last: number, next: number, frame: PrivateFrame | null): void {
    if (++this.#tries < TRIES) {
      this.#setLive(false);
      this.#ask();
      return;
    }
    this.#gap('expired', last + 1, next - 1);
    this.#last = next - 1;
    this.#anchor = null;
    if (frame === null) this.#tries = 0;
    else this.#tell(frame);
  }

  #tell(frame: PrivateFrame): void {
    this.#last = frame.user_sequence;
    this.#anchor = identityOf(frame);
    this.#lastMs = frame.timestamp;
    this.#tries = 0;
    if (frame.channel === 'fill') this.#feed.push({ type: 'fill', frame });
    else this.#feed.push({ type: 'order_status', frame });
  }

  /** Every frame of the new numbers is a new one. */
  #restarted(): void {
    this.#gap('restarted', this.#last! + 1, null);
    this.#last = 0;
    this.#anchor = null;
    this.#askAnew();
  }

  #gap(cause: GapEvent['cause'], from: number, to: number | null): void {
    this.#feed.push({ type: 'gap', cause, from, to, sinceMs: this.#lastMs, reread: REREAD });
  }

  #askAnew(): void {
    this.#tries = 0;
    this.#ask();
  }

  #ask(): void {
    this.#isAsking = true;
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

function identityOf({ channel, timestamp, data }: PrivateFrame): string {
  return JSON.stringify([channel, timestamp, data]);
}
