/**
 * The stream: every WebSocket connection, its subscriptions, and the messages it may send (RULES.md 8).
 *
 *   shard events ─► views ─► feeds ─► channels, private log ─┐  once a pump batch
 *                                                            ▼
 *   client ──upgrade──► connection ──subscribe──► subscriptions ──► outbox ──► socket
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   STREAM-1  The frames of a pump batch are pushed at its end, and each connection sends its part at once.
 *   STREAM-2  A connection counts towards the limit of its key or address from its open to its close.
 *   STREAM-3  The end of a connection ends its subscriptions and, if it asked for that, cancels its account's orders.
 *   STREAM-4  An error that one connection causes does not leave this file: it closes only that connection.
 */
import type { WebSocketBehavior } from 'uWebSockets.js';
import { type Clock, SteadyClock } from '../../shared/base/clock.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { credentialOf } from '../access/credentialOf.ts';
import type { Logger } from '../base/log.ts';
import type { AccountPrincipal, SessionPrincipal } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { TurnLimit } from '../http/turnLimit.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { Outbox } from '../shardlink/outbox.ts';
import type { Views } from '../shardlink/views.ts';
import { BinaryEntry } from './binaryEntry.ts';
import { CatchUps } from './catchUps.ts';
import { Connection, type ConnectionHost, hasRecords, type SocketData } from './connection.ts';
import type { BinaryConnection, Origin } from './entryConnection.ts';
import { MAX_ORDER_MESSAGE_BYTES } from './entryLimits.ts';
import type { StreamFeeds } from './feeds.ts';
import { Handovers, longestSilent } from './handovers.ts';
import * as limits from './limits.ts';
import { type LoggedInCalls, OrderEntry } from './orderEntry.ts';
import { type ParsedRequest, parseRequest, type Request, requestIdOf } from './requests.ts';
import { mostOf } from './rights.ts';
import { SendBuffers } from './sendBuffers.ts';
import { Subscribing } from './subscribing.ts';

type StreamOptions = {
  readonly feeds: StreamFeeds;
  readonly views: Views;
  readonly engine: Pick<ShardClient, 'cancelMany' | 'batch'>;
  readonly outbox: Pick<Outbox, 'put'>;
  readonly catalog: Pick<Catalog, 'byId' | 'byToken' | 'eventById'>;
  /** True on a standby of a cluster, where the end of a connection cancels nothing (RULES.md 18.5). */
  readonly isStandby?: () => boolean;
  /** In a cluster: the end of this process does not count as the end of its connections (RULES.md 18.3). */
  readonly isMember?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent if books and replays do not yield to orders. */
  readonly areOrdersUnderway?: () => boolean;
  /** The stages that requests about orders pass, as those over HTTP do. */
  readonly calls: () => LoggedInCalls;
  /** Bytes that may wait for all clients together. */
  readonly maxBufferedBytes?: number;
};

const TICK_MS = 1000;
const NO_TEXT: Refusal = { row: ERRORS.VALIDATION_ERROR, message: 'message is not text' };
const NO_RECORDS: Refusal = { row: ERRORS.VALIDATION_ERROR, message: 'message is not binary' };
/** Larger than MAX_MESSAGE_BYTES, so that a longer message is answered instead of being cut off by uWebSockets.js. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Beyond this not even control frames are buffered; far above MAX_BUFFERED_BYTES, which `Connection` enforces. */
const HARD_BUFFERED_BYTES = 4 * limits.MAX_BUFFERED_BYTES;
/** A fallback for sockets that this file does not track; `tick` is stricter. */
const BACKSTOP_IDLE_SEC = 120;

export class Stream {
  readonly #options: StreamOptions;
  readonly #steady: SteadyClock;
  readonly #handovers = new Handovers<Connection>();
  readonly #connections = new Set<Connection>();
  /** Connections by key id, connections of sessions by account, anonymous connections by address. */
  readonly #byOwner = new Map<string, Set<Connection>>();
  /** Connections with frames in their outbox. */
  readonly #pushed = new Set<Connection>();
  #isFlushDue = false;
  #isEnding = false;
  readonly #turnLimit = new TurnLimit();
  readonly #sendBuffers: SendBuffers;
  readonly #catchUps: CatchUps;
  readonly #subscribing: Subscribing;
  readonly #orders: OrderEntry;
  readonly #records: BinaryEntry;
  readonly #host: ConnectionHost = {
    nowMs: () => this.#options.clock.nowMs(),
    steadyMs: () => this.#steady.nowMs(),
    pushed: (connection) => this.#pushedTo(connection),
    buffered: (connection, bytes) => this.#sendBuffers.note(connection, bytes),
    failed: (connection, error) => this.#fail(connection, error),
    waiting: (connection) => this.#catchUps.serve(connection),
  };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#steady = new SteadyClock(options.clock);
    this.#subscribing = new Subscribing(options);
    this.#orders = new OrderEntry(options);
    this.#records = new BinaryEntry(options);
    this.#sendBuffers = new SendBuffers(options.maxBufferedBytes);
    this.#catchUps = new CatchUps(this.#host.steadyMs, options.areOrdersUnderway);
    options.feeds.pushed.subscribe(() => this.#flushPushed());
  }

  /** Starts to keep connections alive, and to close idle ones. */
  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** Closes every connection. The server accepts no more. */
  close(): void {
    this.#isEnding = true;
    clearInterval(this.#timer);
    this.#catchUps.stop();
    for (const connection of [...this.#connections]) connection.end(limits.CLOSE.GOING_AWAY, 'server is stopping');
    this.#cancel(this.#handovers.due(Number.POSITIVE_INFINITY));
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** The accounts of open connections, repeated once per connection. */
  *accounts(): Generator<number> {
    for (const { principal } of this.#connections) if (principal !== null) yield principal.accountIndex;
  }

  /** Closes the connections of a key that is no longer valid. */
  closeConnectionsOf(keyId: string): void {
    for (const connection of [...(this.#byOwner.get(keyId) ?? [])]) connection.refuseAndClose(ERRORS.API_KEY_REVOKED);
  }

  /** Closes the connections of a session that has ended. */
  closeConnectionsOfSession({ accountIndex, sessionId }: SessionPrincipal): void {
    for (const connection of [...(this.#byOwner.get(`account ${accountIndex}`) ?? [])]) {
      if (connection.isOfSession(sessionId)) connection.refuseAndClose(ERRORS.SESSION_ENDED);
    }
  }

  /** Closes up to this many connections without credentials, the youngest first: other clients need the room more. */
  closeAnonymous(count: number): void {
    const anonymous = [...this.#connections].filter(({ isAnonymous }) => isAnonymous);
    for (const connection of anonymous.slice(-count))
      connection.end(limits.CLOSE.TRY_AGAIN_LATER, 'too many connections');
  }

  /** @param isBinary true if it has the binary subprotocol, and a principal */
  connection(principal: AccountPrincipal | null, origin: Origin, isBinary = false): Connection {
    return new Connection(principal, origin, this.#host, isBinary);
  }

  readonly behavior: WebSocketBehavior<SocketData> = {
    maxPayloadLength: MAX_PAYLOAD_BYTES,
    maxBackpressure: HARD_BUFFERED_BYTES,
    closeOnBackpressureLimit: true,
    idleTimeout: BACKSTOP_IDLE_SEC,
    sendPingsAutomatically: false,
    open: (socket) => {
      const { connection } = socket.getUserData();
      connection.opened(socket);
      this.#opened(connection);
    },
    message: (socket, message, isBinary) => {
      const { connection } = socket.getUserData();
      if (this.#turnLimit.admits(connection)) this.#received(connection, Buffer.from(message), isBinary);
      else connection.end(limits.CLOSE.TRY_AGAIN_LATER, 'server is busy');
    },
    ping: (socket) => {
      const { connection } = socket.getUserData();
      connection.lastReceivedMs = this.#steady.nowMs();
      // A ping is answered, so it counts as a message.
      connection.countMessage();
      this.#flushPushed();
    },
    pong: (socket) => {
      const { connection } = socket.getUserData();
      connection.lastReceivedMs = this.#steady.nowMs();
      connection.countPong();
      this.#flushPushed();
    },
    drain: (socket) => {
      const { connection } = socket.getUserData();
      try {
        connection.drained();
      } catch (error) {
        this.#fail(connection, error);
      }
      this.#catchUps.serve(connection);
    },
    close: (socket) => this.#closed(socket.getUserData().connection),
  };

  /**
   * Sends pings and heartbeats, and closes connections that are idle, or whose key or session has expired; one that is
   * revoked or ended has closed them directly.
   */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    const steadyMs = this.#steady.nowMs();
    this.#catchUps.tick();
    this.#cancel(this.#handovers.due(steadyMs));
    for (const connection of [...this.#connections]) {
      if (steadyMs - connection.lastReceivedMs >= limits.IDLE_CLOSE_MS) {
        connection.end(limits.CLOSE.GOING_AWAY, 'idle');
      } else if (connection.principal !== null && !this.#options.calls().isInForce(connection.principal, nowMs)) {
        connection.refuseAndClose(credentialOf(connection.principal).ended.row);
      } else {
        this.#keepAlive(connection, steadyMs);
      }
    }
    this.#flushPushed();
  }

  #keepAlive(connection: Connection, steadyMs: number): void {
    if (steadyMs >= connection.nextPingMs) {
      connection.nextPingMs = steadyMs + limits.PING_EVERY_MS;
      connection.ping();
    }
    if (steadyMs < connection.nextHeartbeatMs) return;
    connection.nextHeartbeatMs = steadyMs + limits.HEARTBEAT_EVERY_MS;
    if (connection.isSubscribed) this.#sendHeartbeat(connection);
  }

  /** Heartbeats carry the last sequence numbers; a client whose numbers differ has missed a frame. */
  #sendHeartbeat(connection: Connection): void {
    const sequences: Record<string, number> = {};
    for (const { channel, sequence } of connection.markets.values()) {
      if (sequence !== null) sequences[channel.market.id] = sequence;
    }
    connection.answer('heartbeat', undefined, {
      time: this.#options.clock.nowMs(),
      sequences,
      user_sequence: connection.user?.userSequence,
      market_sequence: connection.changes?.sequence,
    });
  }

  #opened(connection: Connection): void {
    const steadyMs = this.#steady.nowMs();
    connection.lastReceivedMs = steadyMs;
    connection.nextPingMs = steadyMs + limits.PING_EVERY_MS;
    connection.nextHeartbeatMs = steadyMs + limits.HEARTBEAT_EVERY_MS;
    this.#connections.add(connection);
    const { owner } = connection;
    const most = mostOf(connection.principal);
    const others = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, others.add(connection));
    if (others.size <= most) return;
    const silent = longestSilent(others, steadyMs);
    if (silent === null) {
      connection.refuseAndClose(ERRORS.RATE_LIMITED, `too many connections (max ${most})`);
      return;
    }
    silent.successor = connection;
    silent.refuseAndClose(ERRORS.RATE_LIMITED, 'a newer connection has its place');
  }

  /** STREAM-3. */
  #closed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#pushed.delete(connection);
    this.#catchUps.forget(connection);
    this.#sendBuffers.note(connection, 0);
    const { owner, successor, user } = connection;
    const others = this.#byOwner.get(owner);
    others?.delete(connection);
    if (others?.size === 0) this.#byOwner.delete(owner);
    connection.closed();
    const cancels = user?.cancelsOnDisconnect === true;
    this.#handovers.ended(connection, cancels);
    if (!cancels || this.#leavesOrders()) return;
    if (successor === null) this.#cancel([user.account]);
    else this.#handovers.add(user.account, successor, this.#steady.nowMs());
  }

  /** The connections of these accounts ended, and had asked for the cancellation of their orders (RULES.md 8.10). */
  #cancel(accounts: readonly number[]): void {
    if (accounts.length === 0 || this.#leavesOrders()) return;
    const { engine, outbox } = this.#options;
    for (const account of accounts) {
      void outbox.put(`end of a connection of ${account}`, {
        send: (shard, handler, context) => engine.cancelMany(shard, account, CLOSE_REASON.USER, handler, context),
      });
    }
  }

  /** A cancel that waited until a standby leads would affect orders placed meanwhile. */
  #leavesOrders(): boolean {
    const { isStandby, isMember } = this.#options;
    return isStandby?.() === true || (isMember === true && this.#isEnding);
  }

  /** STREAM-4. */
  #fail(connection: Connection, error: unknown): void {
    this.#options.log.error({ err: error }, 'the stream of a connection failed');
    connection.end(limits.CLOSE.INTERNAL, ERRORS.INTERNAL_ERROR.message);
  }

  #received(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    connection.lastReceivedMs = this.#steady.nowMs();
    try {
      this.#handle(connection, bytes, isBinary);
    } catch (error) {
      this.#fail(connection, error);
    }
    this.#flushPushed();
    this.#catchUps.serve(connection);
  }

  #handle(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    if (!connection.isOpen) return;
    if (hasRecords(connection)) {
      this.#handleFrame(connection, bytes, isBinary);
      return;
    }
    // Requests about orders are counted by their routes.
    const mayBeOrder = !connection.isAnonymous && !isBinary && bytes.length <= MAX_ORDER_MESSAGE_BYTES;
    if (mayBeOrder && this.#orders.tryPlace(connection, bytes)) return;
    const parsed = mayBeOrder ? parseRequest(bytes) : null;
    if (parsed?.ok === true && parsed.request.channel === 'order') {
      this.#orders.request(connection, parsed.request);
    } else if (bytes.length > limits.MAX_MESSAGE_BYTES) {
      connection.refuseAndClose(ERRORS.PAYLOAD_TOO_LARGE, `message too large (max ${limits.MAX_MESSAGE_BYTES} bytes)`);
    } else if (connection.countMessage(() => (isBinary ? undefined : requestIdOf(parsed ?? parseRequest(bytes))))) {
      if (isBinary) connection.refuse(undefined, NO_TEXT);
      else this.#answer(connection, parsed ?? parseRequest(bytes));
    }
  }

  /** Records are counted by their routes; a frame that is no record counts as a message. */
  #handleFrame(connection: Connection & BinaryConnection, bytes: Buffer, isBinary: boolean): void {
    if (bytes.length > MAX_ORDER_MESSAGE_BYTES) {
      connection.refuseAndClose(ERRORS.PAYLOAD_TOO_LARGE, `frame too large (max ${MAX_ORDER_MESSAGE_BYTES} bytes)`);
      return;
    }
    const refusal = isBinary ? this.#records.receive(connection, bytes) : NO_RECORDS;
    if (refusal === null) return;
    if (connection.countMessage()) connection.refuse(undefined, refusal);
  }

  #answer(connection: Connection, parsed: ParsedRequest): void {
    if (parsed.ok) this.#carryOut(connection, parsed.request);
    else connection.refuse(parsed.id, parsed.refusal);
  }

  #carryOut(connection: Connection, request: Request): void {
    switch (request.channel) {
      case 'ping':
        connection.answer('pong', request.id, { time: this.#options.clock.nowMs() });
        break;
      case 'subscribe':
        this.#subscribing.subscribe(connection, request);
        break;
      case 'unsubscribe':
        this.#subscribing.unsubscribe(connection, request);
        break;
      case 'order':
        this.#orders.request(connection, request);
        break;
    }
  }

  /** STREAM-1. Frames pushed outside a batch, such as an answer that became durable, leave with this turn. */
  #pushedTo(connection: Connection): void {
    this.#pushed.add(connection);
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    queueMicrotask(() => {
      this.#isFlushDue = false;
      this.#flushPushed();
    });
  }

  /** STREAM-1. A connection that ends during this loop removes itself from the set. */
  #flushPushed(): void {
    for (const connection of this.#pushed) {
      try {
        connection.flush();
      } catch (error) {
        this.#fail(connection, error);
      }
    }
    // Clearing an empty set is not free, and this runs for every message.
    if (this.#pushed.size > 0) this.#pushed.clear();
    this.#sendBuffers.enforce();
  }
}
