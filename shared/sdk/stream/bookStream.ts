/**
 * One market followed over the stream: a book that is verified and heals itself. A gap, a silent server, a lost
 * connection or a wrong checksum makes it stale, says so, and has it brought up to date again: from the last sequence
 * where that is enough, with a new book where it is not.
 *
 * Invariants:
 *   K1  While `state` is `live` the book is the server's at `sequence`, as far as anything received can tell.
 *   K2  Every trade and delta is told once and in order, or a `book` event stands for those that are missing.
 */
import { BookReplica, type Level, type Levels } from './bookReplica.ts';
import { EventFeed, SlowReaderError } from './eventFeed.ts';
import type { BboFrame, BookFrame, DeltaFrame, HeartbeatFrame, MarketFrame, TradeFrame } from './frames.ts';

export type StaleCause = 'connection' | 'gap' | 'checksum' | 'behind' | 'unsubscribed';
export type BookState = 'starting' | 'live' | 'stale' | 'closed';

export type BookEvent =
  | { readonly type: 'trade'; readonly frame: TradeFrame }
  | { readonly type: 'delta'; readonly frame: DeltaFrame }
  | { readonly type: 'bbo'; readonly frame: BboFrame }
  /** Everything up to its sequence at once: the start, what follows a gap, or more than a slow reader read. */
  | { readonly type: 'book'; readonly cause: 'start' | 'resync' | 'slow_reader'; readonly frame: BookFrame }
  | { readonly type: 'stale'; readonly cause: StaleCause; readonly sequence: number | null }
  | { readonly type: 'live'; readonly sequence: number };

export type BookOptions = {
  /** `snapshots`: a checksum with every book, and best prices with every bbo. `every`: with each delta as well. */
  readonly verify?: 'snapshots' | 'every';
  readonly onEvent?: (event: BookEvent) => void;
  /** Events that may wait for the iterator. */
  readonly limit?: number;
  /** An iterator that is too slow gets a `book` event in place of what waits, or an error. */
  readonly onSlow?: 'resync' | 'error';
};

/** What a book asks of its connection. */
export type BookHost = {
  /** Subscribe it (again), after a while when it has failed before. */
  subscribe(book: BookStream, failures: number): void;
  leave(book: BookStream): void;
};

const DEFAULT_LIMIT = 10_000;
/** Heartbeats without the market before it is asked for again: a book may be on its way. */
const BEATS_WITHOUT = 2;

export class BookStream implements AsyncIterable<BookEvent> {
  readonly marketId: string;
  readonly wantsChecksum: boolean;
  readonly #host: BookHost;
  readonly #book = new BookReplica();
  readonly #feed: EventFeed<BookEvent>;
  #state: BookState = 'starting';
  #hasBegun = false;
  /** Asked for and not answered yet. */
  #isAsking = false;
  #askedForBook = false;
  #failures = 0;
  #beatsWithout = 0;
  #ready = Promise.withResolvers<void>();

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

  /** Null while there is no book to be trusted. */
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

  checksum(): number {
    return this.#book.checksum();
  }

  /** Resolves when the first book is there. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Begins with a `book` event when there is one already. */
  [Symbol.asyncIterator](): AsyncIterator<BookEvent> {
    const iterator = this.#feed[Symbol.asyncIterator]();
    if (this.#book.sequence !== null) this.#feed.push(this.#bookEvent('start'));
    return iterator;
  }

  /** Unsubscribes; iterators end. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#end(new Error('the book was closed'));
    this.#feed.end();
    this.#host.leave(this);
  }

  /** Iterators throw the error. */
  fail(error: Error): void {
    if (this.#state === 'closed') return;
    this.#end(error);
    this.#feed.fail(error);
    this.#host.leave(this);
  }

  /** What a subscription has to ask for: every frame after this sequence, or the book when it is null. */
  asking(): number | null {
    this.#isAsking = true;
    this.#beatsWithout = 0;
    this.#askedForBook = this.#book.sequence === null;
    return this.#book.sequence;
  }

  /** What was asked for comes from now on. */
  answered(): void {
    this.#isAsking = false;
    if (this.#book.sequence === null && !this.#askedForBook) this.#ask();
  }

  /** Everything the server had for it when it answered has come, unless it is a long replay: then frames follow. */
  caughtUp(): void {
    if (this.#book.sequence !== null && !this.#isAsking) this.#becomeLive();
  }

  connectionLost(): void {
    this.#isAsking = false;
    this.#becomeStale('connection');
  }

  received(frame: MarketFrame): void {
    if (this.#state === 'closed') return;
    switch (this.#book.apply(frame)) {
      case 'applied':
        this.#applied(frame);
        break;
      case 'gap':
        // While something is asked for, the answer has what is missing.
        if (!this.#isAsking) this.#resync('gap');
        break;
      case 'mismatch':
        this.#failures++;
        this.#resync('checksum');
        break;
      default:
    }
  }

  heartbeat({ data }: HeartbeatFrame): void {
    const told = data.sequences[this.marketId];
    const { sequence } = this.#book;
    if (this.#isAsking) {
      // The answer itself may have been lost.
      if (++this.#beatsWithout >= BEATS_WITHOUT) this.#resync('unsubscribed');
    } else if (told === undefined || sequence === null) {
      if (++this.#beatsWithout >= BEATS_WITHOUT) this.#resync('unsubscribed');
    } else if (told === sequence) {
      this.#failures = 0;
      this.#beatsWithout = 0;
      this.#becomeLive();
    } else {
      this.#resync('behind');
    }
  }

  #applied(frame: MarketFrame): void {
    if (frame.channel === 'book') {
      const cause = this.#hasBegun ? 'resync' : 'start';
      this.#hasBegun = true;
      this.#ready.resolve();
      this.#feed.push({ type: 'book', cause, frame });
      this.#becomeLive();
      return;
    }
    if (!this.#isAsking && frame.channel !== 'bbo') this.#becomeLive();
    if (frame.channel === 'trade') this.#feed.push({ type: 'trade', frame });
    else if (frame.channel === 'book_delta') this.#feed.push({ type: 'delta', frame });
    else this.#feed.push({ type: 'bbo', frame });
  }

  #resync(cause: StaleCause): void {
    this.#becomeStale(cause);
    this.#ask();
  }

  #ask(): void {
    this.#isAsking = true;
    this.#beatsWithout = 0;
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
