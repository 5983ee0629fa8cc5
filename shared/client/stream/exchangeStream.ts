/**
 * The stream for programs: books and private events over one WebSocket that is kept open.
 *
 * It runs on the WebSocket of Node and of browsers. Node's accepts headers, which the upgrade signed with an API key
 * needs; a browser's does not, and opens private events with the tickets of a session. `openSocket` replaces the
 * implementation.
 */

import { Addresses, type BaseUrl } from '../addresses.ts';
import { isRefusal } from '../answers.ts';
import { type ApiError, sendRequest } from '../http.ts';
import { type HeaderFields, prepareRequest, type Signer } from '../request.ts';
import { type BookOptions, BookStream } from './bookStream.ts';
import {
  type ConnectionHandler,
  type ConnectionTimes,
  DEFAULT_TIMES,
  type OpenSocket,
  StreamConnection,
  type StreamSocket,
} from './connection.ts';
import { type AnswerFrame, STREAM_PATH, type StreamFrame } from './frames.ts';
import { type UserOptions, UserStream } from './userStream.ts';

/** The part of a session that opens sockets at an address. */
type Tickets = { ticket(origin: string): Promise<string> };

export type StreamOptions = {
  /** Of a cluster those of its members, each of which has every stream. */
  readonly baseUrl: BaseUrl;
  /** Signs the upgrade with an API key; without it and without a session only books are available. */
  readonly signer?: Signer;
  /** Every connection has a ticket of its own. */
  readonly session?: Tickets;
  readonly openSocket?: OpenSocket;
  readonly times?: Partial<ConnectionTimes>;
  /** A random number from 0 up to 1 that spreads reconnects. */
  readonly random?: () => number;
};

/** The server refused a message, or refuses the connection permanently. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Markets of one message; 16 KiB, the limit of a message, would hold three times as many with their sequences. */
const MARKETS_PER_MESSAGE = 50;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const LONGEST_PAUSE_MS = 10_000;
const PAUSE_MS = 100;
/** Errors that the server sends without an id before it closes the connection, and that no retry heals. */
const PERMANENT_CODES: readonly string[] = ['API_KEY_UNAUTHORIZED', 'UNAUTHORIZED', 'INSUFFICIENT_SCOPE'];

/** The subscriptions of one message. */
type Request = { readonly books: readonly BookStream[]; readonly user: UserStream | null };

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
  #lastId = 0;
  /** Counts the connections. */
  #round = 0;
  #isClosed = false;

  constructor(options: StreamOptions) {
    this.#signer = options.signer ?? null;
    this.#session = options.session ?? null;
    if (this.#signer !== null && this.#session !== null) throw new Error('a stream has a signer or a session');
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

  /** Closes all books, the private events and the connection; with `cancelOnDisconnect` the server then cancels. */
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
    this.#requests.clear();
    if (this.#user !== null) this.#subscribeUser(this.#user);
    for (const book of this.#books.values()) this.#subscribeSoon(book, 0);
  }

  #lost(): void {
    this.#round++;
    this.#requests.clear();
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

  /** The answer to the ping that follows each subscription arrives after all frames the server had for it. */
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
      if (request.user !== null && request.user === this.#user) request.user.subscribed(frame.data.user_sequence ?? 0);
    } else if (frame.channel === 'pong') {
      this.#requests.delete(id!);
      for (const book of request.books) if (this.#isOpen(book)) book.caughtUp();
      if (request.user === this.#user) request.user?.caughtUp();
    }
  }

  /** Another program on the same connection's limit, or a clock that runs fast: what was asked for is still wanted. */
  #repeat(id: string, { books, user }: Request, afterMs = PAUSE_MS): void {
    this.#requests.delete(id);
    const round = this.#round;
    setTimeout(() => {
      // A new connection has asked for everything anew.
      if (round !== this.#round || this.#isClosed) return;
      this.#subscribe(books.filter((book) => this.#isOpen(book)));
      if (user !== null && user === this.#user) this.#subscribeUser(user);
    }, afterMs);
  }

  /** One unknown market makes the server refuse the whole message, so its markets are then subscribed one by one. */
  #refused(id: string, { books, user }: Request, error: StreamError): void {
    this.#requests.delete(id);
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
    this.#request({ user: true, user_since, cancel_on_disconnect }, { books: [], user });
  }

  #request(data: object, request: Request): void {
    const id = String(++this.#lastId);
    this.#requests.set(id, request);
    this.#connection.send({ channel: 'subscribe', id, data });
    this.#connection.send({ channel: 'ping', id });
  }
}

/** The connection of a stream, or with another handler that of other messages. */
export function connect(options: StreamOptions, handler: ConnectionHandler, protocol?: string): StreamConnection {
  const { signer, session } = options;
  const addresses = new Addresses(options.baseUrl);
  return new StreamConnection(
    {
      url: () => addresses.current.replace(/^http/, 'ws') + STREAM_PATH,
      onLost: () => addresses.moveFrom(addresses.current),
      openSocket: options.openSocket ?? openGlobalSocket,
      protocol,
      headers: () => signer?.headers('GET', STREAM_PATH, ''),
      ticket: session === undefined ? null : () => session.ticket(addresses.current),
      permanentError: (ofTicket) => permanentError(addresses.current, signer, ofTicket),
      times: { ...DEFAULT_TIMES, ...options.times },
      random: options.random ?? Math.random,
    },
    handler,
  );
}

/** A WebSocket does not report why it could not be opened; the answer to the same request without an upgrade does. */
async function permanentError(origin: string, signer: Signer | undefined, ofTicket: unknown): Promise<Error | null> {
  if (signer === undefined) return isPermanent(ofTicket) ? ofTicket : null;
  try {
    const request = prepareRequest('GET', STREAM_PATH, undefined, (...parts) => signer.headers(...parts));
    await sendRequest(origin, request);
    return null;
  } catch (error) {
    return isPermanent(error) ? error : null;
  }
}

function isPermanent(error: unknown): error is ApiError {
  return isRefusal(error) && [UNAUTHORIZED, FORBIDDEN].includes(error.status);
}

const NO_WEB_SOCKET =
  'this Node has no WebSocket: use Node 22 or later, start it with --experimental-websocket, or give openSocket';

function openGlobalSocket(url: string, headers: HeaderFields | undefined, protocol?: string): StreamSocket {
  if (globalThis.WebSocket === undefined) throw new Error(NO_WEB_SOCKET);
  const protocols = protocol === undefined ? [] : [protocol];
  // A browser expects a list of protocols as the second argument, so this is for Node's, whose types are not there.
  const socket = new WebSocket(url, headers === undefined ? protocols : ({ headers, protocols } as never));
  socket.binaryType = 'arraybuffer';
  return socket as unknown as StreamSocket;
}
