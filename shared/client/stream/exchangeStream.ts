/** The stream for programs: books, channels and private events over one WebSocket that is kept open (connect.ts). */

import { Addresses } from '../addresses.ts';
import { sendRequest } from '../http.ts';
import { prepareRequest, type Signer } from '../request.ts';
import { INSPECT, type Inspecting, shown } from '../shown.ts';
import { type BookOptions, BookStream } from './bookStream.ts';
import {
  type CandlesOptions,
  CandlesStream,
  type Channel,
  type ChannelHost,
  MarketChanges,
  type MarketChangesOptions,
  type TickersOptions,
  TickersStream,
} from './channelStream.ts';
import { connect, type StreamOptions, type Tickets } from './connect.ts';
import type { StreamConnection } from './connection.ts';
import type { AnswerFrame, StreamFrame } from './frames.ts';
import { type UserOptions, UserStream } from './userStream.ts';

/** The server refused a message, or refuses the connection permanently. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The number of markets in one message; 16 KiB, the limit of a message, would hold three times as many with their
 * sequence numbers.
 */
const MARKETS_PER_MESSAGE = 50;
const LONGEST_PAUSE_MS = 10_000;
const PAUSE_MS = 100;
/** Errors that the server sends without an id before it closes the connection, and that no retry heals. */
const PERMANENT_CODES: readonly string[] = ['API_KEY_UNAUTHORIZED', 'UNAUTHORIZED', 'INSUFFICIENT_SCOPE'];

/** The subscriptions of one message. */
type Request = {
  readonly books: readonly BookStream[];
  readonly user: UserStream | null;
  /** The `user_since` of a request for private events. */
  readonly since?: number | undefined;
  readonly channel?: Channel;
};

export class ExchangeStream {
  readonly #signer: Signer | null;
  readonly #session: Tickets | null;
  readonly #connection: StreamConnection;
  readonly #books = new Map<string, BookStream>();
  /** Requests that are not caught up yet, by the id of their message. */
  readonly #requests = new Map<string, Request>();
  /** Books to subscribe at the end of this turn of the event loop. */
  readonly #due = new Set<BookStream>();
  #user: UserStream | null = null;
  readonly #channels = new Set<Channel>();
  readonly #channelHost: ChannelHost;
  #lastId = 0;
  /** Counts the connections. */
  #round = 0;
  #isClosed = false;

  constructor(options: StreamOptions) {
    this.#signer = options.signer ?? null;
    this.#session = options.session ?? null;
    if (this.#signer !== null && this.#session !== null) throw new Error('a stream has a signer or a session');
    const addresses = new Addresses(options.baseUrl);
    this.#channelHost = {
      subscribeChannel: (channel) => this.#subscribeChannel(channel),
      leaveChannel: (channel) => {
        this.#channels.delete(channel);
        this.#connection.send({ channel: 'unsubscribe', data: { [channel.member]: channel.named() } });
      },
      read: (path) => sendRequest(addresses.current, prepareRequest('GET', path, undefined)),
    };
    this.#connection = connect(options, {
      opened: () => this.#opened(),
      received: (frame) => this.#received(frame),
      lost: () => this.#lost(),
      failed: (error) => this.#failed(error),
    });
  }

  /** True after `close`, and once the server has refused the connection for good. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Opens the book of a market; each market at most once. */
  openBook(marketId: string, options: BookOptions = {}): BookStream {
    const id = marketId.toLowerCase();
    this.#assertOpen();
    if (this.#books.has(id)) throw new Error(`market ${id} is open already`);
    const book = new BookStream(
      id,
      {
        subscribe: (unsubscribed, failures) => this.#subscribeSoon(unsubscribed, failures),
        leave: (left) => {
          this.#books.delete(id);
          this.#due.delete(left);
          this.#connection.send({ channel: 'unsubscribe', data: { markets: [id] } });
        },
      },
      options,
    );
    this.#books.set(id, book);
    if (this.#connection.isOpen) this.#subscribeSoon(book, 0);
    else this.#connection.start();
    return book;
  }

  /** Opens the private events of the account; one at a time. */
  openUser(options: UserOptions = {}): UserStream {
    this.#assertOpen();
    if (this.#signer === null && this.#session === null) throw new Error('private events need a signer or a session');
    if (this.#user !== null) throw new Error('the private events are open already');
    const user = new UserStream(
      {
        subscribeUser: (unsubscribed) => this.#subscribeUser(unsubscribed),
        leaveUser: () => {
          this.#user = null;
          this.#connection.send({ channel: 'unsubscribe', data: { user: true } });
        },
      },
      options,
    );
    this.#user = user;
    if (this.#connection.isOpen) this.#subscribeUser(user);
    else this.#connection.start();
    return user;
  }

  /** Opens changes of markets: of some, of those of events, or of all; one at a time. */
  openMarketChanges(options: MarketChangesOptions): MarketChanges {
    return this.#openChannel(new MarketChanges(this.#channelHost, options));
  }

  /** Opens tickers of Yes, of some markets or of all; one at a time. */
  openTickers(options: TickersOptions): TickersStream {
    return this.#openChannel(new TickersStream(this.#channelHost, options));
  }

  /** Opens candles; each market, interval and outcome once. */
  openCandles(options: CandlesOptions): CandlesStream {
    return this.#openChannel(new CandlesStream(this.#channelHost, options));
  }

  #openChannel<C extends Channel>(channel: C): C {
    this.#assertOpen();
    const isTwice = [...this.#channels].some(({ member }) => member === channel.member && member !== 'candle');
    if (isTwice) throw new Error(`the channel ${channel.member} is open already`);
    this.#channels.add(channel);
    if (this.#connection.isOpen) this.#subscribeChannel(channel);
    else this.#connection.start();
    return channel;
  }

  /** Closes all books, the private events and the connection; with `cancelOnDisconnect` the server then cancels. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    for (const book of [...this.#books.values()]) book.close();
    this.#user?.close();
    for (const channel of [...this.#channels]) channel.close();
  }

  [INSPECT](...inspecting: Inspecting): string {
    const channels = Array.from(this.#channels, ({ member }) => member);
    const open = { books: [...this.#books.keys()], user: this.#user !== null, channels };
    return shown('ExchangeStream', { isClosed: this.#isClosed, ...open }, inspecting);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('the stream is closed');
  }

  #opened(): void {
    this.#requests.clear();
    if (this.#user !== null) this.#subscribeUser(this.#user);
    for (const book of this.#books.values()) this.#subscribeSoon(book, 0);
    for (const channel of this.#channels) this.#subscribeChannel(channel);
  }

  #lost(): void {
    this.#round++;
    this.#requests.clear();
    this.#due.clear();
    this.#user?.connectionLost();
    for (const book of this.#books.values()) book.connectionLost();
    for (const channel of this.#channels) channel.connectionLost();
  }

  #failed(error: Error): void {
    this.#isClosed = true;
    for (const book of [...this.#books.values()]) book.fail(error);
    this.#user?.fail(error);
    for (const channel of [...this.#channels]) channel.fail(error);
  }

  #received(frame: StreamFrame): void {
    switch (frame.channel) {
      case 'book':
      case 'book_delta':
      case 'trade':
      case 'bbo':
        this.#books.get(frame.market_id)?.received(frame);
        break;
      case 'market':
      case 'ticker':
      case 'candle':
        for (const channel of this.#channels) channel.received(frame);
        break;
      case 'fill':
      case 'order_status':
        this.#user?.received(frame);
        break;
      case 'heartbeat':
        this.#connection.settled();
        this.#user?.heartbeat(frame);
        for (const book of [...this.#books.values()]) book.heartbeat(frame);
        for (const channel of this.#channels) channel.heartbeat(frame);
        break;
      default:
        this.#answered(frame);
    }
  }

  /**
   * After each subscription a ping is sent; its answer arrives after all frames that the server had for the
   * subscription.
   */
  #answered(frame: AnswerFrame): void {
    const id = frame.id === undefined ? undefined : String(frame.id);
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (frame.channel === 'error') {
      const { code, error, retry_after_ms } = frame.data;
      if (request !== undefined && code === 'RATE_LIMITED') this.#repeat(id!, request, retry_after_ms);
      else if (request !== undefined) this.#refused(id!, request, new StreamError(code, error));
      else if (PERMANENT_CODES.includes(code)) this.#connection.fail(new StreamError(code, error));
      return;
    }
    if (request === undefined) return;
    if (frame.channel === 'subscribed') {
      this.#connection.settled();
      for (const book of request.books) if (this.#isOpen(book)) book.subscribed();
      if (request.user !== null && request.user === this.#user)
        request.user.subscribed(frame.data.user_sequence ?? 0, request.since);
      request.channel?.subscribed(frame.data);
    } else if (frame.channel === 'pong') {
      this.#requests.delete(id!);
      for (const book of request.books) if (this.#isOpen(book)) book.caughtUp();
      if (request.user === this.#user) request.user?.caughtUp();
      request.channel?.caughtUp();
    }
  }

  /** Another program used up the connection's limit, or a clock runs fast: the request is repeated. */
  #repeat(id: string, { books, user, channel }: Request, afterMs = PAUSE_MS): void {
    this.#requests.delete(id);
    const round = this.#round;
    setTimeout(() => {
      // A new connection has already subscribed everything again.
      if (round !== this.#round || this.#isClosed) return;
      this.#subscribe(books.filter((book) => this.#isOpen(book)));
      if (user !== null && user === this.#user) this.#subscribeUser(user);
      if (channel !== undefined) this.#subscribeChannel(channel);
    }, afterMs);
  }

  /** One unknown market makes the server refuse the whole message, so its markets are then subscribed one by one. */
  #refused(id: string, { books, user, channel }: Request, error: StreamError): void {
    this.#requests.delete(id);
    channel?.fail(error);
    if (books.length > 1) for (const book of books) this.#subscribe([book]);
    else for (const book of books) if (this.#isOpen(book)) book.fail(error);
    if (user !== null && user === this.#user) user.fail(error);
  }

  #isOpen(book: BookStream): boolean {
    return this.#books.get(book.marketId) === book;
  }

  /** Pauses before a book that failed several times in a row is subscribed again. */
  #subscribeSoon(book: BookStream, failures: number): void {
    if (failures > 1) {
      setTimeout(
        () => this.#isOpen(book) && this.#subscribeSoon(book, 0),
        Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** failures),
      );
      return;
    }
    if (this.#due.size === 0) queueMicrotask(() => this.#subscribeDue());
    this.#due.add(book);
  }

  #subscribeDue(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const wantsChecksum of [true, false]) {
      const alike = due.filter((book) => book.wantsChecksum === wantsChecksum);
      for (let at = 0; at < alike.length; at += MARKETS_PER_MESSAGE) {
        this.#subscribe(alike.slice(at, at + MARKETS_PER_MESSAGE));
      }
    }
  }

  #subscribe(books: readonly BookStream[]): void {
    if (!this.#connection.isOpen || books.length === 0) return;
    const from: Record<string, number> = {};
    for (const book of books) {
      const sequence = book.subscribing();
      if (sequence !== null) from[book.marketId] = sequence;
    }
    const markets = books.map(({ marketId }) => marketId);
    const checksum = books[0].wantsChecksum;
    this.#request({ markets, snapshot: true, from_sequence: from, checksum }, { books, user: null });
  }

  #subscribeUser(user: UserStream): void {
    if (!this.#connection.isOpen) return;
    const user_since = user.subscribing();
    const cancel_on_disconnect = user.cancelOnDisconnect;
    this.#request({ user: true, user_since, cancel_on_disconnect }, { books: [], user, since: user_since });
  }

  #subscribeChannel(channel: Channel): void {
    if (!this.#connection.isOpen || !this.#channels.has(channel)) return;
    this.#request({ [channel.member]: channel.wanted() }, { books: [], user: null, channel });
  }

  #request(data: object, request: Request): void {
    const id = String(++this.#lastId);
    this.#requests.set(id, request);
    this.#connection.send({ channel: 'subscribe', id, data });
    this.#connection.send({ channel: 'ping', id });
  }
}
