/**
 * The stream as a program uses it: books and private events over one WebSocket that is kept open.
 *
 * Runs on the WebSocket of Node and browsers. Node's takes headers, which the signed upgrade needs; a browser's does
 * not, and there only the public channels work. `openSocket` puts another implementation in its place.
 */
import type { Clock } from '../../clock.ts';
import { ApiError, sendRequest } from '../http.ts';
import { type Credentials, type HeaderFields, prepareRequest, RequestSigner } from '../request.ts';
import { type BookOptions, BookStream } from './bookStream.ts';
import {
  type ConnectionTimes,
  DEFAULT_TIMES,
  type OpenSocket,
  StreamConnection,
  type StreamSocket,
} from './connection.ts';
import { type AnswerFrame, STREAM_PATH, type StreamFrame } from './frames.ts';
import { type UserOptions, UserStream } from './userStream.ts';

export type StreamOptions = {
  readonly baseUrl: string;
  /** Without them there are books only. */
  readonly credentials?: Credentials;
  readonly clock?: Clock;
  readonly openSocket?: OpenSocket;
  readonly times?: Partial<ConnectionTimes>;
  /** 0 up to 1; spreads reconnects. */
  readonly random?: () => number;
};

/** The server refused a message, or the connection for good. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Markets of one message: 16 KiB hold so many with their sequences, three times over. */
const MARKETS_PER_MESSAGE = 50;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const LONGEST_PAUSE_MS = 10_000;
const PAUSE_MS = 100;
/** Said without an id right before the server closes; trying again changes nothing. */
const HOPELESS_CODES: readonly string[] = ['API_KEY_UNAUTHORIZED', 'UNAUTHORIZED', 'INSUFFICIENT_SCOPE'];

type Asked = { readonly books: readonly BookStream[]; readonly user: UserStream | null };

export class ExchangeStream {
  readonly #origin: string;
  readonly #signer: RequestSigner | null;
  readonly #connection: StreamConnection;
  readonly #books = new Map<string, BookStream>();
  readonly #asked = new Map<string, Asked>();
  /** Will be subscribed at the end of this turn. */
  readonly #due = new Set<BookStream>();
  #user: UserStream | null = null;
  #ids = 0;
  #isClosed = false;

  constructor(options: StreamOptions) {
    this.#origin = new URL(options.baseUrl).origin;
    this.#signer = options.credentials === undefined ? null : new RequestSigner(options.credentials, options.clock);
    this.#connection = new StreamConnection(
      {
        url: this.#origin.replace(/^http/, 'ws') + STREAM_PATH,
        openSocket: options.openSocket ?? openGlobalSocket,
        headers: () => this.#signer?.headers('GET', STREAM_PATH, ''),
        hopeless: () => this.#hopeless(),
        times: { ...DEFAULT_TIMES, ...options.times },
        random: options.random ?? Math.random,
      },
      {
        opened: () => this.#opened(),
        received: (frame) => this.#received(frame),
        lost: () => this.#lost(),
        failed: (error) => this.#failed(error),
      },
    );
  }

  /** A book that is kept from now on; each market once. */
  openBook(marketId: string, options: BookOptions = {}): BookStream {
    const id = marketId.toLowerCase();
    this.#assertOpen();
    if (this.#books.has(id)) throw new Error(`market ${id} is open already`);
    const book = new BookStream(
      id,
      {
        subscribe: (asking, failures) => this.#subscribeSoon(asking, failures),
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

  /** The account's private events; one at a time. */
  openUser(options: UserOptions = {}): UserStream {
    this.#assertOpen();
    if (this.#signer === null) throw new Error('private events need credentials');
    if (this.#user !== null) throw new Error('the private events are open already');
    const user = new UserStream(
      {
        subscribeUser: (asking) => this.#subscribeUser(asking),
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

  /** Ends everything. With `cancelOnDisconnect` the server then cancels, as at any end of the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    for (const book of [...this.#books.values()]) book.close();
    this.#user?.close();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('the stream is closed');
  }

  #opened(): void {
    this.#asked.clear();
    if (this.#user !== null) this.#subscribeUser(this.#user);
    for (const book of this.#books.values()) this.#subscribeSoon(book, 0);
  }

  #lost(): void {
    this.#asked.clear();
    this.#due.clear();
    this.#user?.connectionLost();
    for (const book of this.#books.values()) book.connectionLost();
  }

  #failed(error: Error): void {
    this.#isClosed = true;
    for (const book of [...this.#books.values()]) book.fail(error);
    this.#user?.fail(error);
  }

  #received(frame: StreamFrame): void {
    switch (frame.channel) {
      case 'book':
      case 'book_delta':
      case 'trade':
      case 'bbo':
        this.#books.get(frame.market_id)?.received(frame);
        break;
      case 'fill':
      case 'order_status':
        this.#user?.received(frame);
        break;
      case 'heartbeat':
        this.#connection.settled();
        this.#user?.heartbeat(frame);
        for (const book of [...this.#books.values()]) book.heartbeat(frame);
        break;
      default:
        this.#answered(frame);
    }
  }

  /** The ping behind each subscription is answered after what the server had for it. */
  #answered(frame: AnswerFrame): void {
    const id = frame.id === undefined ? undefined : String(frame.id);
    const asked = id === undefined ? undefined : this.#asked.get(id);
    if (frame.channel === 'error') {
      if (asked !== undefined) this.#refused(id!, asked, new StreamError(frame.data.code, frame.data.error));
      else if (HOPELESS_CODES.includes(frame.data.code)) {
        this.#connection.fail(new StreamError(frame.data.code, frame.data.error));
      }
      return;
    }
    if (asked === undefined) return;
    if (frame.channel === 'subscribed') {
      this.#connection.settled();
      for (const book of asked.books) if (this.#isHere(book)) book.answered();
      if (asked.user !== null && asked.user === this.#user) asked.user.answered(frame.data.user_sequence ?? 0);
    } else if (frame.channel === 'pong') {
      this.#asked.delete(id!);
      for (const book of asked.books) if (this.#isHere(book)) book.caughtUp();
      if (asked.user === this.#user) asked.user?.caughtUp();
    }
  }

  /** One bad market spoils a message for all of it, so those of several are asked for one by one. */
  #refused(id: string, { books, user }: Asked, error: StreamError): void {
    this.#asked.delete(id);
    if (error.code === 'RATE_LIMITED') return; // the close follows
    if (books.length > 1) for (const book of books) this.#subscribe([book]);
    else for (const book of books) if (this.#isHere(book)) book.fail(error);
    if (user !== null && user === this.#user) user.fail(error);
  }

  #isHere(book: BookStream): boolean {
    return this.#books.get(book.marketId) === book;
  }

  /** A book that fails again and again asks more slowly. */
  #subscribeSoon(book: BookStream, failures: number): void {
    if (failures > 1) {
      setTimeout(
        () => this.#isHere(book) && this.#subscribeSoon(book, 0),
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
      const sequence = book.asking();
      if (sequence !== null) from[book.marketId] = sequence;
    }
    const markets = books.map(({ marketId }) => marketId);
    const checksum = books[0]!.wantsChecksum;
    this.#ask({ markets, snapshot: true, from_sequence: from, checksum }, { books, user: null });
  }

  #subscribeUser(user: UserStream): void {
    if (!this.#connection.isOpen) return;
    const user_since = user.asking();
    const cancel_on_disconnect = user.cancelOnDisconnect;
    this.#ask({ user: true, user_since, cancel_on_disconnect }, { books: [], user });
  }

  #ask(data: object, asked: Asked): void {
    const id = String(++this.#ids);
    this.#asked.set(id, asked);
    this.#connection.send({ channel: 'subscribe', id, data });
    this.#connection.send({ channel: 'ping', id });
  }

  /** A WebSocket does not tell why it could not be opened; the same request without an upgrade does. */
  async #hopeless(): Promise<Error | null> {
    if (this.#signer === null) return null;
    const signer = this.#signer;
    try {
      const request = prepareRequest('GET', STREAM_PATH, undefined, (...parts) => signer.headers(...parts));
      await sendRequest(this.#origin, request);
      return null;
    } catch (error) {
      const isRefused = error instanceof ApiError && [UNAUTHORIZED, FORBIDDEN].includes(error.status);
      return isRefused ? error : null;
    }
  }
}

function openGlobalSocket(url: string, headers: HeaderFields | undefined): StreamSocket {
  // A browser takes a second argument for a list of protocols and refuses any other.
  const socket = headers === undefined ? new WebSocket(url) : new WebSocket(url, { headers });
  return socket as unknown as StreamSocket;
}
