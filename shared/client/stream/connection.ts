/**
 * A WebSocket that is kept open: it reconnects after every loss, with a delay that grows with each failure, detects a
 * silent server, and sends no faster than the server allows.
 *
 * Invariants:
 *   CLIENTCONNECTION-1  At most one socket has listeners; events of an abandoned socket are ignored.
 *   CLIENTCONNECTION-2  After `close` or `failed` the handler is not called any more.
 */
import { errorMessage } from '../../base/thrown.ts';
import type { HeaderFields } from '../request.ts';
import type { StreamFrame } from './frames.ts';

/** The part of a WebSocket that is used here; browsers, Node and the `ws` package provide it. */
export type StreamSocket = {
  send(message: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
};
/** `headers` is undefined without credentials, `protocol` without a subprotocol. */
export type OpenSocket = (url: string, headers: HeaderFields | undefined, protocol?: string) => StreamSocket;

export type ConnectionTimes = {
  /** The connection is abandoned after this time without a frame. The server sends one every 5 s and answers pings. */
  readonly silentAfterMs: number;
  readonly firstRetryMs: number;
  readonly mostRetryMs: number;
};
export const DEFAULT_TIMES: ConnectionTimes = { silentAfterMs: 12_000, firstRetryMs: 250, mostRetryMs: 15_000 };

type ConnectionOptions = {
  /** Called for each connection, because the next one may go to another member of a cluster. */
  readonly url: () => string;
  /** The connection was lost, or could not be opened. */
  readonly onLost?: () => void;
  readonly openSocket: OpenSocket;
  /** For a connection with binary messages: it has no pings, so its silence means nothing. */
  readonly protocol?: string | undefined;
  /** Called for each connection, because a nonce is valid once. */
  readonly headers: () => HeaderFields | undefined;
  /** Called for each connection: a ticket replaces the headers; null if none is needed. */
  readonly ticket: (() => Promise<string>) | null;
  /**
   * Called if a connection could not be opened, with the error of its ticket if there was one. Resolves to an error
   * that no retry can heal, or to null.
   */
  readonly permanentError: (ofTicket?: unknown) => Promise<Error | null>;
  readonly times: ConnectionTimes;
  readonly random: () => number;
};

export type ConnectionHandler = {
  opened(): void;
  received(frame: StreamFrame): void;
  /** Replaces `received`: gets every message unchanged. */
  receivedRaw?(data: unknown): void;
  lost(reason: string): void;
  /** Called once; there are no further attempts. */
  failed(error: Error): void;
};

/** The server accepts 20; the others are left for pings and for clocks that differ a little. */
const MESSAGES_PER_SECOND = 15;
const SECOND_MS = 1000;
const NORMAL_CLOSE = 1000;

export class StreamConnection {
  readonly #options: ConnectionOptions;
  readonly #handler: ConnectionHandler;
  #socket: StreamSocket | null = null;
  #isOpen = false;
  #isWaitingForTicket = false;
  #isClosed = false;
  #attempts = 0;
  #lastFrameMs = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;
  #outbox: string[] = [];
  #sentMs: number[] = [];
  #sending: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConnectionOptions, handler: ConnectionHandler) {
    this.#options = options;
    this.#handler = handler;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  start(): void {
    if (this.#socket !== null || this.#isWaitingForTicket || this.#isClosed) return;
    if (this.#options.ticket === null) this.#open(this.#options.url());
    else void this.#openWithTicket(this.#options.ticket);
  }

  async #openWithTicket(ticket: () => Promise<string>): Promise<void> {
    this.#isWaitingForTicket = true;
    try {
      const text = await ticket();
      this.#isWaitingForTicket = false;
      if (!this.#isClosed) this.#open(`${this.#options.url()}?ticket=${encodeURIComponent(text)}`);
    } catch (error) {
      this.#isWaitingForTicket = false;
      await this.#reconnectUnlessPermanent(error);
    }
  }

  #open(url: string): void {
    const { headers, openSocket, times, protocol } = this.#options;
    let socket: StreamSocket;
    try {
      socket = openSocket(url, headers(), protocol);
    } catch (error) {
      // The message may contain the address, which has the ticket.
      const message = errorMessage(error);
      this.fail(new Error(message.replace(/ticket=[^&'"\s]*/g, 'ticket=…')));
      return;
    }
    this.#socket = socket;
    this.#lastFrameMs = performance.now();
    if (protocol === undefined) this.#watch = setInterval(() => this.#checkSilence(), times.silentAfterMs / 4);
    socket.onopen = () => this.#opened();
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(data);
    socket.onclose = ({ code, reason }: { code?: number; reason?: string }) =>
      this.drop(`closed with ${code ?? 'no code'}${reason ? ` (${reason})` : ''}`);
    // Some implementations report only an error when a connection cannot be opened.
    socket.onerror = ({ message }: { message?: string }) => this.drop(message || 'connection failed');
  }

  /** Sends the message as soon as the server's limit allows; it is lost if the connection is. */
  send(message: object): void {
    if (!this.#isOpen) return;
    this.#outbox.push(JSON.stringify(message));
    this.#flush();
  }

  /** Sends the message at once: requests about orders count by the limits of their routes, not with other messages. */
  sendNow(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.#isOpen) this.#socket!.send(message);
  }

  /** Called when the connection works: the delay after the next loss is the shortest again. */
  settled(): void {
    this.#attempts = 0;
  }

  /** Abandons the socket and reconnects. */
  drop(reason: string): void {
    if (this.#socket === null) return;
    const wasOpen = this.#isOpen;
    this.#leave();
    if (wasOpen) this.#handler.lost(reason);
    if (this.#isClosed) return;
    if (wasOpen) this.#reconnect();
    else void this.#reconnectUnlessPermanent();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#leave();
  }

  fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#handler.failed(error);
  }

  #opened(): void {
    this.#isOpen = true;
    this.#lastFrameMs = performance.now();
    this.#handler.opened();
  }

  #received(data: unknown): void {
    this.#lastFrameMs = performance.now();
    if (this.#handler.receivedRaw !== undefined) {
      this.#handler.receivedRaw(data);
      return;
    }
    let frame: StreamFrame;
    try {
      frame = JSON.parse(String(data));
    } catch {
      this.drop('a frame is not JSON');
      return;
    }
    try {
      this.#handler.received(frame);
    } catch (error) {
      // A socket would pass the error on to the program, which has done nothing wrong.
      this.drop(`a frame is none of the exchange: ${errorMessage(error)}`);
    }
  }

  /** CLIENTCONNECTION-1. */
  #leave(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#isOpen = false;
    this.#outbox = [];
    clearInterval(this.#watch);
    clearTimeout(this.#sending);
    this.#sending = undefined;
    if (socket === null) return;
    socket.onopen = null;
    socket.onmessage = null;
    socket.onclose = null;
    // The `ws` package throws an error event without a listener.
    socket.onerror = () => {};
    try {
      socket.close(NORMAL_CLOSE);
    } catch {
      // A socket that was never opened may refuse to be closed.
    }
  }

  async #reconnectUnlessPermanent(ofTicket?: unknown): Promise<void> {
    const error = await this.#options.permanentError(ofTicket);
    if (error === null) this.#reconnect();
    else this.fail(error);
  }

  /** Half of the delay is random: clients that lost the same server must not return at the same moment. */
  #reconnect(): void {
    if (this.#isClosed || this.#socket !== null) return;
    const { times, random, onLost } = this.#options;
    onLost?.();
    const delay = Math.min(times.mostRetryMs, times.firstRetryMs * 2 ** Math.min(this.#attempts++, 20));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.start(), delay / 2 + (random() * delay) / 2);
  }

  #checkSilence(): void {
    const silentMs = performance.now() - this.#lastFrameMs;
    if (silentMs >= this.#options.times.silentAfterMs) this.drop('silent');
    else if (silentMs >= this.#options.times.silentAfterMs / 2) this.send({ channel: 'ping' });
  }

  #flush(): void {
    if (this.#sending !== undefined) return;
    const nowMs = performance.now();
    this.#sentMs = this.#sentMs.filter((sentMs) => nowMs - sentMs < SECOND_MS);
    while (this.#outbox.length > 0 && this.#sentMs.length < MESSAGES_PER_SECOND) {
      this.#sentMs.push(nowMs);
      this.#socket!.send(this.#outbox.shift()!);
    }
    if (this.#outbox.length === 0) return;
    this.#sending = setTimeout(
      () => {
        this.#sending = undefined;
        if (this.#isOpen) this.#flush();
      },
      SECOND_MS - (nowMs - this.#sentMs[0]) + 1,
    );
  }
}
