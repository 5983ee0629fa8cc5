/**
 * Follows orders until they are closed: over the private stream, which is open while an order is followed, and by
 * reading the order itself where the stream has missed something or cannot be opened.
 *
 * Invariants:
 *   ORDERTRACKER-1  An order is read after it is followed and after the stream has begun, and whenever the stream may
 *                   have missed something; so its end is seen by a read, or by a frame that comes later.
 *   ORDERTRACKER-2  The result is that of a read made after the order was closed, however the end was seen.
 *   ORDERTRACKER-3  The stream is open only while an order is followed: it keeps no program alive that awaits nothing.
 */
import { type Deferred, deferred } from '../base/deferred.ts';
import { isRefusal } from './answers.ts';
import type { OrderRecord, OrderStatusName } from './types.ts';

/** The end of an order. `rejected`: it never became one, and never will. */
export type FinalOrder = {
  readonly status: 'filled' | 'cancelled' | 'expired' | 'rejected';
  readonly orderHash: string;
  /** The reason of RULES.md 7.6, where the stream has said it. */
  readonly reason: string | null;
  /** The order as it is now; null if it was rejected. */
  readonly record: OrderRecord | null;
};

/** The parts of the stream (stream/exchangeStream.ts) that are used. */
type UserEvent =
  | { readonly type: 'order_status'; readonly frame: { readonly data: StatusData } }
  | { readonly type: 'fill' | 'gap' | 'live' | 'stale' };
type StatusData = { readonly order_hash: string; readonly status: OrderStatusName; readonly reason: string };
type UserStream = { readonly isLive: boolean; ready(): Promise<void> };
type Stream = { openUser(options: { onEvent: (event: UserEvent) => void }): UserStream; close(): void };

type TrackerOptions = {
  readonly openStream: () => Promise<Stream>;
  readonly read: (orderHash: string) => Promise<OrderRecord>;
  /** Between reads while the stream cannot be relied on: 2 seconds unless it is given. */
  readonly pollMs?: number;
};

type Followed = {
  readonly orderHash: string;
  readonly result: Deferred<FinalOrder>;
  reason: string | null;
  /** The order may have reached the exchange or not: none there is no news. */
  isUncertain: boolean;
  isReading: boolean;
  /** A read was requested while an earlier one was under way, which may have been too early. */
  isDue: boolean;
};

const POLL_MS = 2000;
const NOT_FOUND = 404;
const FINAL_REFUSALS: readonly number[] = [401, 403];
const CLOSED: readonly OrderStatusName[] = ['filled', 'cancelled', 'expired'];

export class OrderTracker {
  readonly #options: TrackerOptions;
  readonly #followed = new Map<string, Followed>();
  #stream: Stream | null = null;
  #user: UserStream | null = null;
  #poll: ReturnType<typeof setInterval> | undefined;
  /** Counts the times that the stream was opened: what an earlier one still reports is ignored. */
  #round = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** @param isUncertain true if the answer to the placement was lost */
  follow(orderHash: string, isUncertain = false): Promise<FinalOrder> {
    const hash = orderHash.toLowerCase();
    const before = this.#followed.get(hash);
    if (before !== undefined) return before.result.promise;
    const result = deferred<FinalOrder>();
    const followed = { orderHash: hash, result, reason: null, isUncertain, isReading: false, isDue: false };
    this.#followed.set(hash, followed);
    if (this.#followed.size === 1) this.#open();
    this.#read(followed);
    return result.promise;
  }

  /** The order never arrived, and a tombstone stands for it. */
  rejected(orderHash: string): void {
    const followed = this.#followed.get(orderHash.toLowerCase());
    if (followed !== undefined) this.#end(followed, { status: 'rejected', reason: null, record: null });
  }

  close(): void {
    const reason = new Error('the client was closed');
    for (const { result } of this.#followed.values()) result.reject(reason);
    this.#followed.clear();
    this.#leave();
  }

  #open(): void {
    const round = ++this.#round;
    this.#poll = setInterval(() => this.#readDoubtful(), this.#options.pollMs ?? POLL_MS);
    void this.#openStream(round).catch(() => {
      // Without a stream the reads go on.
    });
  }

  async #openStream(round: number): Promise<void> {
    const stream = await this.#options.openStream();
    if (round !== this.#round) return stream.close();
    this.#stream = stream;
    this.#user = stream.openUser({ onEvent: (event) => round === this.#round && this.#received(event) });
    await this.#user.ready();
    if (round === this.#round) this.#readAll();
  }

  #received(event: UserEvent): void {
    if (event.type === 'gap') this.#readAll();
    if (event.type !== 'order_status') return;
    const { order_hash, status, reason } = event.frame.data;
    const followed = this.#followed.get(order_hash);
    if (followed === undefined || !CLOSED.includes(status)) return;
    followed.reason = reason;
    this.#read(followed);
  }

  #readAll(): void {
    for (const followed of this.#followed.values()) this.#read(followed);
  }

  #readDoubtful(): void {
    const isLive = this.#user?.isLive ?? false;
    for (const followed of this.#followed.values()) {
      // With a reason the order is closed, and the read that was to say so has failed.
      if (!isLive || followed.isUncertain || followed.reason !== null) this.#read(followed);
    }
  }

  #read(followed: Followed): void {
    followed.isDue = true;
    if (!followed.isReading) void this.#readWhileDue(followed);
  }

  async #readWhileDue(followed: Followed): Promise<void> {
    followed.isReading = true;
    while (followed.isDue && this.#followed.get(followed.orderHash) === followed) {
      followed.isDue = false;
      try {
        const record = await this.#options.read(followed.orderHash);
        followed.isUncertain = false;
        const { status } = record;
        if (isClosed(status)) this.#end(followed, { status, reason: followed.reason, record });
      } catch (error) {
        this.#failed(followed, error);
      }
    }
    followed.isReading = false;
  }

  /** A failure of a moment is left to the next read. */
  #failed(followed: Followed, error: unknown): void {
    if (!isRefusal(error)) return;
    const isMissing = error.status === NOT_FOUND && !followed.isUncertain;
    if (!isMissing && !FINAL_REFUSALS.includes(error.status)) return;
    if (this.#followed.delete(followed.orderHash)) followed.result.reject(error);
    if (this.#followed.size === 0) this.#leave();
  }

  #end(followed: Followed, end: Omit<FinalOrder, 'orderHash'>): void {
    if (!this.#followed.delete(followed.orderHash)) return;
    followed.result.resolve({ orderHash: followed.orderHash, ...end });
    if (this.#followed.size === 0) this.#leave();
  }

  /** ORDERTRACKER-3. */
  #leave(): void {
    this.#round++;
    clearInterval(this.#poll);
    this.#stream?.close();
    this.#stream = null;
    this.#user = null;
  }
}

function isClosed(status: OrderStatusName): status is 'filled' | 'cancelled' | 'expired' {
  return CLOSED.includes(status);
}
