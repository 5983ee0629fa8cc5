/**
 * One WebSocket that is always wanted open: it comes back after every loss, later each time that fails, notices when
 * the other end has fallen silent, and sends no faster than the server allows.
 *
 * Invariants:
 *   C1  At most one socket is listened to; what a given-up one still has to say is not heard.
 *   C2  After `close` or `failed` nothing is called any more.
 */
import type { HeaderFields } from '../request.ts';
import type { StreamFrame } from './frames.ts';

/** What is used of a WebSocket; the one of browsers and Node, and that of the `ws` package, have it. */
export type StreamSocket = {
  send(text: string): void;
  close(code?: number): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
};
/** `headers` is undefined without credentials. */
export type OpenSocket = (url: string, headers: HeaderFields | undefined) => StreamSocket;

export type ConnectionTimes = {
  /** Without any frame for so long the connection is given up. The server speaks every 5 s, and answers a ping. */
  readonly silentAfterMs: number;
  readonly firstRetryMs: number;
  readonly mostRetryMs: number;
};
export const DEFAULT_TIMES: ConnectionTimes = { silentAfterMs: 12_000, firstRetryMs: 250, mostRetryMs: 15_000 };

export type ConnectionOptions = {
  readonly url: string;
  readonly openSocket: OpenSocket;
  /** Made anew for each connection: a nonce is good once. */
  readonly headers: () => HeaderFields | undefined;
  /** Asked when a connection could not be opened: an error that no retry will heal, or null. */
  readonly hopeless: () => Promise<Error | null>;
  readonly times: ConnectionTimes;
  readonly random: () => number;
};

export type ConnectionHandler = {
  opened(): void;
  received(frame: StreamFrame): void;
  lost(reason: string): void;
  /** It will not be tried again. */
  failed(error: Error): void;
};

/** Of the 20 the server takes; pings and a clock that runs a little differently have the rest. */
const MESSAGES_PER_SECOND = 15;
const SECOND_MS = 1000;
const NORMAL_CLOSE = 1000;

export class StreamConnection {
  readonly #options: ConnectionOptions;
  readonly #handler: ConnectionHandler;
  #socket: StreamSocket | null = null;
  #isOpen = false;
  #isClosed = false;
  #attempts = 0;
  #heardMs = 0;
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
    if (this.#socket !== null || this.#isClosed) return;
    const { url, headers, openSocket, times } = this.#options;
    let socket: StreamSocket;
    try {
      socket = openSocket(url, headers());
    } catch (error) {
      this.fail(error as Error);
      return;
    }
    this.#socket = socket;
    this.#heardMs = performance.now();
    this.#watch = setInterval(() => this.#listenForSilence(), times.silentAfterMs / 4);
    socket.onopen = () => this.#opened();
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(data);
    socket.onclose = ({ code, reason }: { code?: number; reason?: string }) =>
      this.drop(`closed with ${code ?? 'no code'}${reason ? ` (${reason})` : ''}`);
    // Some implementations say only this when a connection cannot be opened.
    socket.onerror = ({ message }: { message?: string }) => this.drop(message || 'connection failed');
  }

  /** Goes out when the server takes it; lost with the connection. */
  send(message: object): void {
    if (!this.#isOpen) return;
    this.#outbox.push(JSON.stringify(message));
    this.#flush();
  }

  /** All is well: the next loss is the first again. */
  settled(): void {
    this.#attempts = 0;
  }

  /** Gives the socket up and comes back. */
  drop(reason: string): void {
    if (this.#socket === null) return;
    const wasOpen = this.#isOpen;
    this.#leave();
    if (wasOpen) this.#handler.lost(reason);
    if (this.#isClosed) return;
    if (wasOpen) this.#comeBack();
    else void this.#askWhy();
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
    this.#heardMs = performance.now();
    this.#handler.opened();
  }

  #received(data: unknown): void {
    this.#heardMs = performance.now();
    let frame: StreamFrame;
    try {
      frame = JSON.parse(String(data)) as StreamFrame;
    } catch {
      this.drop('a frame is not JSON');
      return;
    }
    this.#handler.received(frame);
  }

  /** C1. */
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
    // The `ws` package throws what nobody listens to.
    socket.onerror = () => {};
    try {
      socket.close(NORMAL_CLOSE);
    } catch {
      // One that has never been opened may refuse to be closed.
    }
  }

  async #askWhy(): Promise<void> {
    const error = await this.#options.hopeless();
    if (error === null) this.#comeBack();
    else this.fail(error);
  }

  /** Half of the delay is chance: clients that lost the same server must not come back at the same moment. */
  #comeBack(): void {
    if (this.#isClosed || this.#socket !== null) return;
    const { times, random } = this.#options;
    const delay = Math.min(times.mostRetryMs, times.firstRetryMs * 2 ** Math.min(this.#attempts++, 20));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.start(), delay / 2 + (random() * delay) / 2);
  }

  #listenForSilence(): void {
    const silentMs = performance.now() - this.#heardMs;
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
      SECOND_MS - (nowMs - this.#sentMs[0]!) + 1,
    );
  }
}
