/**
 * One connection: its subscriptions, the frames that wait to be sent, and the count of its messages. Owner: the gateway
 * thread.
 *
 * Invariants:
 *   CONNECTION-1  Frames leave in the order in which they were pushed.
 *   CONNECTION-2  The bytes that wait for the client are bounded: a live frame closes a connection for which
 *                 MAX_BUFFERED_BYTES wait; books and replays are read only while less than PACED_BUFFERED_BYTES wait.
 *   CONNECTION-3  After the close nothing is sent and there are no subscriptions.
 */
import type { WebSocket } from 'uWebSockets.js';
import { assert } from '../../shared/base/assert.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { credentialOf, sessionOf } from '../access/credentialOf.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { refuseFrame } from './binaryEntry.ts';
import type { CandleSubscription } from './candleSubscription.ts';
import type { CatchingUp } from './catchUps.ts';
import type { ChangesSubscription } from './changesSubscription.ts';
import type { BinaryConnection, OrderConnection, Origin, RequestId } from './entryConnection.ts';
import { Results } from './entryResults.ts';
import { CLOSE, MAX_BUFFERED_BYTES, MAX_MESSAGES_PER_SECOND, PACED_BUFFERED_BYTES } from './limits.ts';
import { toFrame } from './marketChannel.ts';
import { asciiText } from './marketText.ts';
import { MessageRate } from './messageRate.ts';
import type { FrameSink, MarketSubscription, Subscription, UserSubscription } from './subscriptions.ts';
import type { SummarySink } from './summaryParts.ts';
import type { TickerSubscription } from './summaryTickers.ts';

/** uWebSockets.js keeps this with each socket. */
export type SocketData = { readonly connection: Connection };
type Socket = Pick<WebSocket<SocketData>, 'send' | 'end' | 'close' | 'ping' | 'cork' | 'getBufferedAmount'>;

/**
 * Asking for the buffered amount costs as much as sending a small frame, so it is asked only once per this many bytes.
 */
const LOOK_EVERY_BYTES = 65_536;
/** Result of `send`: uWebSockets.js has dropped the frame and closes the connection. */
const DROPPED = 2;
const SECOND_MS = 1000;
const TOO_MANY_MESSAGES = `too many messages (max ${MAX_MESSAGES_PER_SECOND} a second)`;

/** The stream, as its connections see it. */
export type ConnectionHost = {
  nowMs(): number;
  /** A clock for limits and silences; setting the system's clock does not change it. */
  steadyMs(): number;
  /** Called when the first frames wait for a `flush`. */
  pushed(connection: Connection): void;
  /** Reports the number of bytes that wait for the client. */
  buffered(connection: Connection, bytes: number): void;
  /** Frames can now be sent at the client's pace. */
  waiting(connection: Connection): void;
  /** Frames that the connection needs could not be made. */
  failed(connection: Connection, error: unknown): void;
};

export class Connection implements FrameSink, CatchingUp, OrderConnection {
  /** Null for an anonymous connection. */
  readonly principal: AccountPrincipal | null;
  readonly origin: Origin;
  /** Answers to binary records; null on a connection with JSON frames. */
  readonly results: Results | null;
  ordersInFlight = 0;
  /** By market index. */
  readonly markets = new Map<number, MarketSubscription>();
  user: UserSubscription | null = null;
  changes: ChangesSubscription | null = null;
  tickers: TickerSubscription | null = null;
  candles: CandleSubscription | null = null;
  lastReceivedMs: number;
  nextPingMs = 0;
  nextHeartbeatMs = 0;
  readonly #host: ConnectionHost;
  #socket: Socket | null = null;
  #outbox: Buffer[] = [];
  /** Subscriptions that are not live, in the order in which they are served. */
  readonly #catchingUp = new Set<Subscription>();
  /** The newer connection that replaced this one. */
  successor: Connection | null = null;
  readonly #rate = new MessageRate();
  /** A ping was sent and not answered yet. */
  #isPongDue = false;

  constructor(principal: AccountPrincipal | null, origin: Origin, host: ConnectionHost, isBinary = false) {
    assert(!isBinary || principal !== null, 'connection: records come from those who have logged in');
    this.principal = principal;
    this.origin = origin;
    this.results = isBinary ? new Results() : null;
    this.#host = host;
    this.lastReceivedMs = host.steadyMs();
  }

  get isAnonymous(): boolean {
    return this.principal === null;
  }

  get owner(): string {
    if (this.principal === null) return `address ${this.origin.subject}`;
    return credentialOf(this.principal).socketOwner(this.principal);
  }

  isOfSession(sessionId: string): boolean {
    return this.principal !== null && sessionOf(this.principal)?.sessionId === sessionId;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  opened(socket: Socket): void {
    assert(this.#socket === null, 'connection: a socket opens once');
    this.#socket = socket;
  }

  /** CONNECTION-3. */
  closed(): void {
    this.#socket = null;
    this.#outbox = [];
    this.results?.take();
    this.#catchingUp.clear();
    for (const subscription of this.markets.values()) subscription.end();
    this.markets.clear();
    this.user?.end();
    this.user = null;
    for (const summary of [this.changes, this.tickers, this.candles]) summary?.end();
    this.changes = null;
    this.tickers = null;
    this.candles = null;
  }

  /** True if the connection has any subscription. */
  get isSubscribed(): boolean {
    const hasSummaries = this.changes !== null || this.tickers !== null || this.candles !== null;
    return this.markets.size > 0 || this.user !== null || hasSummaries;
  }

  /**
   * Counts a message, and refuses it if there are too many; a client that persists is disconnected.
   * @param idOf the id of the message, for its refusal
   * @returns true if the message should be processed
   */
  countMessage(idOf: () => RequestId | undefined = () => undefined): boolean {
    const waitMs = this.#rate.count(this.#host.steadyMs());
    if (waitMs === 0) return true;
    if (this.#rate.isFlood) this.refuseAndClose(ERRORS.RATE_LIMITED, TOO_MANY_MESSAGES);
    else if (this.#rate.isAnswered) this.#refuseForNow(idOf(), waitMs);
    return false;
  }

  #refuseForNow(id: RequestId | undefined, waitMs: number): void {
    const row = ERRORS.RATE_LIMITED;
    const retryAfterSec = Math.ceil(waitMs / SECOND_MS);
    if (hasRecords(this)) refuseFrame(this, { row, message: TOO_MANY_MESSAGES, retryAfterSec });
    else this.answer('error', id, { code: row.code, error: TOO_MANY_MESSAGES, retry_after_ms: waitMs });
  }

  /** Counts a pong that answers no ping. */
  countPong(): void {
    if (this.#isPongDue) this.#isPongDue = false;
    else this.countMessage();
  }

  push(frame: Buffer): void {
    if (this.#socket === null) return;
    if (this.#outbox.length === 0) this.#host.pushed(this);
    this.#outbox.push(frame);
  }

  resultsPushed(): void {
    if (this.#socket === null) this.results!.take();
    else this.#host.pushed(this);
  }

  answer(channel: string, id: RequestId | undefined, data: object): void {
    this.push(toFrame(asciiText(JSON.stringify({ channel, id, data }))));
  }

  refuse(id: RequestId | undefined, refusal: Refusal): void {
    const { row, message, details } = refusal;
    if (hasRecords(this)) refuseFrame(this, refusal);
    else this.answer('error', id, { code: row.code, error: message ?? row.message, details });
  }

  /** Sends the reason, and closes. */
  refuseAndClose(row: ErrorRow, message: string = row.message): void {
    this.refuse(undefined, { row, message });
    this.flush();
    this.end(CLOSE.POLICY, message);
  }

  end(code: number, reason: string): void {
    this.#socket?.end(code, reason);
  }

  ping(): void {
    this.#isPongDue = true;
    this.#socket?.ping();
  }

  /** Sends the missing frames of a subscription at the client's pace. */
  serve(subscription: Subscription): void {
    this.#catchingUp.delete(subscription);
    this.#catchingUp.add(subscription);
  }

  /** A sink for a subscription whose frames are made outside messages and batches. */
  sinkOf(subscription: () => Subscription | null): SummarySink {
    return {
      push: (frame) => this.push(frame),
      wake: () => {
        const waiting = subscription();
        if (waiting === null || this.#socket === null) return;
        this.serve(waiting);
        this.#host.waiting(this);
      },
    };
  }

  forget(subscription: Subscription): void {
    this.#catchingUp.delete(subscription);
  }

  /** Sends the frames that have been pushed. */
  flush(): void {
    const socket = this.#socket;
    const outbox = this.#outbox;
    if (socket === null || (outbox.length === 0 && (this.results === null || this.results.isEmpty))) return;
    this.#outbox = [];
    // The bytes added by this flush show at the next one, or when the socket drains.
    const bufferedBytes = socket.getBufferedAmount();
    this.#host.buffered(this, bufferedBytes);
    let isSlow = bufferedBytes > MAX_BUFFERED_BYTES;
    if (!isSlow) {
      socket.cork(() => {
        isSlow = !sendAll(socket, outbox) || !this.#sendResults(socket);
      });
    }
    if (isSlow) this.end(CLOSE.TRY_AGAIN_LATER, 'slow consumer');
  }

  /** All results since the last flush form one message. */
  #sendResults(socket: Socket): boolean {
    const { results } = this;
    return results === null || results.isEmpty || socket.send(results.take(), true) !== DROPPED;
  }

  /** The socket has sent all or part of what waited for its client. */
  drained(): void {
    if (this.#socket !== null) this.#host.buffered(this, this.#socket.getBufferedAmount());
  }

  /** Closes at once without a close frame, and frees what waits for the client. */
  cut(): void {
    this.#socket?.close();
  }

  failed(error: unknown): void {
    this.#host.failed(this, error);
  }

  get canStep(): boolean {
    if (this.#socket === null || this.#catchingUp.size === 0) return false;
    return this.#socket.getBufferedAmount() <= PACED_BUFFERED_BYTES;
  }

  /** Sends some of the missing frames of the next subscription. */
  step(): number {
    const [subscription] = this.#catchingUp;
    if (subscription.catchUp(this.#host.nowMs())) this.#catchingUp.delete(subscription);
    let bytes = 0;
    for (const frame of this.#outbox) bytes += frame.length;
    this.flush();
    return bytes;
  }
}

/** True for a connection with the binary subprotocol. */
export function hasRecords(connection: Connection): connection is Connection & BinaryConnection {
  return connection.results !== null;
}

/** CONNECTION-2. @returns true if the client keeps up */
function sendAll(socket: Socket, frames: readonly Buffer[]): boolean {
  let unseenBytes = 0;
  for (const frame of frames) {
    if (unseenBytes >= LOOK_EVERY_BYTES) {
      if (socket.getBufferedAmount() > MAX_BUFFERED_BYTES) return false;
      unseenBytes = 0;
    }
    unseenBytes += frame.length;
    if (socket.send(frame) === DROPPED) return false;
  }
  return true;
}
