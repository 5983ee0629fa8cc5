/**
 * Follows one market over the stream: the book is verified and resynchronised. A gap, a silent server, a lost
 * connection or a wrong checksum makes it stale and emits an event; the book is then subscribed again, from its last
 * sequence if the book is still right, else with a new book frame.
 *
 * Invariants:
 *   BOOKSTREAM-1  While `state` is `live`, no received frame contradicts that the book equals the server's at
 *                 `sequence`.
 *   BOOKSTREAM-2  Every trade and delta is emitted once and in order, or a `book` event replaces those that are
 *                 missing.
 */
import { deferred } from '../../base/deferred.ts';
import { INSPECT, type Inspecting, shown } from '../shown.ts';
import type { Side } from '../sweep.ts';
import { BookReplica, type Depth, type Level, type Levels } from './bookReplica.ts';
import { EventFeed, SlowReaderError } from './eventFeed.ts';
import type { BboFrame, BookFrame, DeltaFrame, HeartbeatFrame, MarketFrame, TradeFrame } from './frames.ts';

export type StaleCause = 'connection' | 'gap' | 'checksum' | 'behind' | 'unsubscribed';
export type BookState = 'starting' | 'live' | 'stale' | 'closed';

export type BookEvent =
  | { readonly type: 'trade'; readonly frame: TradeFrame }
  | { readonly type: 'delta'; readonly frame: DeltaFrame }
  | { readonly type: 'bbo'; readonly frame: BboFrame }
  /** Replaces all events up to its sequence: at the start, after a gap, or for a reader that was too slow. */
  | { readonly type: 'book'; readonly cause: 'start' | 'resync' | 'slow_reader'; readonly frame: BookFrame }
  | { readonly type: 'stale'; readonly cause: StaleCause; readonly sequence: number | null }
  | { readonly type: 'live'; readonly sequence: number };

export type BookOptions = {
  /** `snapshots` verifies every book and the best prices of every bbo; `every` verifies each delta as well. */
  readonly verify?: 'snapshots' | 'every';
  readonly onEvent?: (event: BookEvent) => void;
  /** The number of events that may wait for the iterator. */
  readonly limit?: number;
  /** An iterator that is too slow gets one `book` event in place of the waiting events, or an error. */
  readonly onSlow?: 'resync' | 'error';
};

/** The stream that a book belongs to. */
type BookHost = {
  /** Subscribes the book, or subscribes it again; the more failures, the longer the pause before. */
  subscribe(book: BookStream, failures: number): void;
  leave(book: BookStream): void;
};

const DEFAULT_LIMIT = 10_000;
/**
 * After this many heartbeats without the market it is subscribed again; fewer are normal, because its book may be on
 * the way.
 */
const MOST_HEARTBEATS_WITHOUT = 2;

export class BookStream implements AsyncIterable<BookEvent> {
  readonly marketId: string;
  readonly wantsChecksum: boolean;
  readonly #host: BookHost;
  readonly #book = new BookReplica();
  readonly #feed: EventFeed<BookEvent>;
  #state: BookState = 'starting';
  #hasStarted = false;
  /** True while a subscription was sent and is not answered yet. */
  #isSubscribing = false;
  #wantsBook = false;
  #failures = 0;
  #heartbeatsWithout = 0;
  #ready = deferred<void>();

  constructor(marketId: string, host: BookHost, options: BookOptions = {}) {
    this.marketId = marketId.toLowerCase();
    this.wantsChecksum = options.verify === 'every';
    this.#host = host;
    this.#ready.promise.catch(() => {});
    this.#feed = new EventFeed<BookEvent>({
      limit: options.limit ?? DEFAULT_LIMIT,
      onEvent: options.onEvent,
      keepsUnread: false,
      onFull: () => {
        if (options.onSlow !== 'error' && this.#book.sequence !== null) return this.#bookEvent('slow_reader');
        this.fail(new SlowReaderError(`events of market ${marketId} came faster than they were read`));
        return null;
      },
    });
  }

  get state(): BookState {
    return this.#state;
  }

  /** Null while no book is known to be right. */
  get sequence(): number | null {
    return this.#book.sequence;
  }

  get timestamp(): number {
    return this.#book.timestamp;
  }

  levels(outcome: 0 | 1 = 0): Levels {
    return this.#book.levels(outcome);
  }

  best(outcome: 0 | 1 = 0): { readonly bid: Level | null; readonly ask: Level | null } {
    return this.#book.best(outcome);
  }

  /** The fills of an order for this many tokens now: `notionalMicro` is its cost, or its proceeds, before fees. */
  depthOf(side: Side, sizeAtomic: bigint, outcome: 0 | 1 = 0): Depth {
    return this.#book.depthOf(side, sizeAtomic, outcome);
  }

  /** The tokens that this USDC would buy now, in whole lots of a market with this many ticks (`client.tickSize`). */
  depthFor(budgetMicro: bigint, ticksPerUnit: number, outcome: 0 | 1 = 0): Depth {
    return this.#book.depthFor(budgetMicro, ticksPerUnit, outcome);
  }

  [INSPECT](...inspecting: Inspecting): string {
    const { marketId, state, sequence } = this;
    return shown('BookStream', { marketId, state, sequence, ...this.best() }, inspecting);
  }

  checksum(): number {
    return this.#book.checksum();
  }

  /** Resolves with the first book frame. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Starts with a `book` event if the book is already there. */
  [Symbol.asyncIterator](): AsyncIterator<BookEvent> {
    const iterator = this.#feed[Symbol.asyncIterator]();
    if (this.#book.sequence !== null) this.#feed.push(this.#bookEvent('start'));
    return iterator;
  }

  /** Unsubscribes and ends the iterators. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#end(new Error('the book was closed'));
    this.#feed.end();
    this.#host.leave(this);
  }

  /** Ends the stream; iterators throw the error. */
  fail(error: Error): void {
    if (this.#state === 'closed') return;
    this.#end(error);
    this.#feed.fail(error);
    this.#host.leave(this);
  }

  /**
   * Called when a subscription is being sent.
   * @returns the sequence number after which to continue, or null for a new book.
   */
  subscribing(): number | null {
    this.#isSubscribing = true;
    this.#heartbeatsWithout = 0;
    this.#wantsBook = this.#book.sequence === null;
    return this.#book.sequence;
  }

  /** The server answered the subscription: its frames follow. */
  subscribed(): void {
    this.#isSubscribing = false;
    if (this.#book.sequence === null && !this.#wantsBook) this.#subscribe();
  }

  /** Every frame that the server had when it answered has arrived; only a long replay may still continue. */
  caughtUp(): void {
    if (this.#book.sequence !== null && !this.#isSubscribing) this.#becomeLive();
  }

  connectionLost(): void {
    this.#isSubscribing = false;
    this.#becomeStale('connection');
  }

  received(frame: MarketFrame): void {
    if (this.#state === 'closed') return;
    switch (this.#book.apply(frame)) {
      case 'applied':
        this.#applied(frame);
        break;
      case 'gap':
        // A subscription that is under way brings the missing frames.
        if (!this.#isSubscribing) this.#resync('gap');
        break;
      case 'mismatch':
        this.#failures++;
        this.#resync('checksum');
        break;
      default:
    }
  }

  heartbeat({ data }: HeartbeatFrame): void {
    const sent = data.sequences[this.marketId];
    const { sequence } = this.#book;
    // While subscribing, the answer itself may have been lost.
    if (this.#isSubscribing || sent === undefined || sequence === null) {
      if (++this.#heartbeatsWithout >= MOST_HEARTBEATS_WITHOUT) this.#resync('unsubscribed');
    } else if (sent === sequence) {
      this.#failures = 0;
      this.#heartbeatsWithout = 0;
      this.#becomeLive();
    } else {
      this.#resync('behind');
    }
  }

  #applied(frame: MarketFrame): void {
    if (frame.channel === 'book') {
      const cause = this.#hasStarted ? 'resync' : 'start';
      this.#hasStarted = true;
      this.#ready.resolve();
      this.#feed.push({ type: 'book', cause, frame });
      this.#becomeLive();
      return;
    }
    if (!this.#isSubscribing && frame.channel !== 'bbo') this.#becomeLive();
    if (frame.channel === 'trade') this.#feed.push({ type: 'trade', frame });
    else if (frame.channel === 'book_delta') this.#feed.push({ type: 'delta', frame });
    else this.#feed.push({ type: 'bbo', frame });
  }

  #resync(cause: StaleCause): void {
    this.#becomeStale(cause);
    this.#subscribe();
  }

  #subscribe(): void {
    this.#isSubscribing = true;
    this.#heartbeatsWithout = 0;
    this.#host.subscribe(this, this.#failures);
  }

  #becomeLive(): void {
    if (this.#state === 'live' || this.#state === 'closed') return;
    this.#state = 'live';
    this.#feed.push({ type: 'live', sequence: this.#book.sequence! });
  }

  #becomeStale(cause: StaleCause): void {
    if (this.#state !== 'live') return;
    this.#state = 'stale';
    this.#feed.push({ type: 'stale', cause, sequence: this.#book.sequence });
  }

  #end(error: Error): void {
    this.#state = 'closed';
    this.#ready.reject(error);
  }

  #bookEvent(cause: 'start' | 'slow_reader'): BookEvent {
    return { type: 'book', cause, frame: this.#book.toFrame(this.marketId, this.#book.timestamp) };
  }
}
