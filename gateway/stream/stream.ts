/**
 * The stream: every WebSocket connection, what each is told of, and what each may do (RULES.md 8).
 *
 *   engine events ─► views ─► feeds ─► channels, private log ─┐  once a pump batch
 *                                                             ▼
 *   client ──upgrade──► connection ──subscribe──► subscriptions ──► outbox ──► socket
 *
 * Nothing is told before it is durable, because the shards publish after their commit and the feeds hang behind that.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   T1  What a pump batch told is pushed when the batch is through, and leaves in one piece per connection.
 *   T2  A connection is counted for its key or address from its open to its close.
 *   T3  A connection's end ends its subscriptions, and cancels its account's orders if it asked for that.
 */
import type { WebSocketBehavior } from 'uWebSockets.js';
import type { Clock } from '../../shared/clock.ts';
import { ERRORS, type ErrorRow } from '../../shared/errors.ts';
import type { RecordPlace } from '../../shared/privateRecord.ts';
import type { Progress } from '../../shared/progress.ts';
import type { ApiKey } from '../auth/apiKeys.ts';
import { SCOPE } from '../auth/scopes.ts';
import type { Catalog, MarketEntry } from '../control/catalog.ts';
import type { EngineClient } from '../engineClient.ts';
import type { Logger } from '../log.ts';
import type { Views, ViewsListener } from '../views/index.ts';
import { Connection, type SocketData } from './connection.ts';
import { DisconnectCancels } from './disconnectCancels.ts';
import { MAX_MARKETS } from './frames.ts';
import * as limits from './limits.ts';
import { MarketFeed } from './marketFeed.ts';
import { PrivateFeed } from './privateFeed.ts';
import { type GroupNames, privateFrame } from './privateFrames.ts';
import { PrivateIntake, type PrivateSource } from './privateIntake.ts';
import type { PrivateLog } from './privateLog.ts';
import { parseRequest, type Refusal, type Request, type SubscribeData, type UnsubscribeData } from './requests.ts';
import { MarketSubscription, UserSubscription } from './subscriptions.ts';

export type StreamOptions = {
  readonly views: Views;
  readonly engine: Pick<EngineClient, 'cancelMarket'>;
  readonly catalog: Pick<Catalog, 'byId'>;
  readonly groups: GroupNames;
  readonly privateLog: PrivateLog;
  readonly privateSource: PrivateSource;
  readonly progress: Pick<Progress, 'setTold'>;
  readonly clock: Clock;
  readonly log: Logger;
};

const TICK_MS = 1000;
/** Room for a message that is too long to be seen and answered, rather than cut off by uWebSockets.js. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Beyond this even control frames are not buffered any more; far above what is sent on purpose. */
const HARD_BUFFERED_BYTES = 4 * limits.MAX_BUFFERED_BYTES;
/** Only a socket that uWebSockets.js alone knows of is closed by this; `tick` is stricter. */
const BACKSTOP_IDLE_SEC = 120;

type Parsed<T extends Request['channel']> = Extract<Request, { channel: T }>;

export class Stream implements ViewsListener {
  readonly #options: StreamOptions;
  readonly #markets: MarketFeed;
  readonly #intake: PrivateIntake;
  readonly #privates: PrivateFeed;
  readonly #cancels: DisconnectCancels;
  readonly #connections = new Set<Connection>();
  /** Connections by key id, anonymous ones by address. */
  readonly #byOwner = new Map<string, Set<Connection>>();
  /** By account: those that listen to its private frames. */
  readonly #byAccount = new Map<number, Set<Connection>>();
  readonly #pushed = new Set<Connection>();
  readonly #render: (place: RecordPlace) => string;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StreamOptions) {
    const { views, engine, groups, privateLog, privateSource, progress, log } = options;
    this.#options = options;
    this.#markets = new MarketFeed(views);
    this.#intake = new PrivateIntake({
      log: privateLog,
      source: privateSource,
      shards: views.orders.length,
      progress,
      logger: log,
      onTold: (accounts) => this.#tell(accounts),
    });
    this.#privates = new PrivateFeed(views, this.#intake);
    this.#cancels = new DisconnectCancels(engine, views.orders.length);
    this.#render = (place) => privateFrame(views.markets, groups, place);
    views.listener = this;
  }

  /** Keeps connections alive, or ends them, from now on. */
  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS);
    this.#intake.start();
  }

  /** Every connection is closed in order; none may come any more. */
  close(): void {
    clearInterval(this.#timer);
    for (const connection of [...this.#connections]) connection.end(limits.CLOSE.GOING_AWAY, 'server is stopping');
  }

  /** The shards tell nothing any more. */
  finish(): Promise<void> {
    return this.#intake.close();
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  applied(shard: number, words: Uint32Array, word: number): void {
    this.#markets.applied(shard, words, word);
    this.#privates.applied(shard, words, word);
  }

  recovered(shard: number, shardSequence: number): void {
    this.#markets.recovered(shard, this.#options.clock.nowMs());
    this.#privates.recovered(shard, shardSequence);
  }

  /** T1. */
  flush(): void {
    this.#markets.flush();
    this.#intake.flush();
    this.#flushPushed();
  }

  /** The key is no longer in force: its sockets go at once. */
  revoked(keyId: string): void {
    for (const connection of [...(this.#byOwner.get(keyId) ?? [])]) connection.refuseAndClose(ERRORS.API_KEY_REVOKED);
  }

  connection(key: ApiKey | null, address: string): Connection {
    return new Connection(
      key,
      address,
      () => this.#options.clock.nowMs(),
      (connection) => this.#pushed.add(connection),
    );
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
      this.#received(socket.getUserData().connection, Buffer.from(message), isBinary);
    },
    ping: (socket) => {
      const { connection } = socket.getUserData();
      connection.heardMs = this.#options.clock.nowMs();
      // They are answered, so they are a way to make the server send.
      if (!connection.countMessage()) connection.refuseAndClose(ERRORS.RATE_LIMITED, 'too many messages');
    },
    pong: (socket) => {
      socket.getUserData().connection.heardMs = this.#options.clock.nowMs();
    },
    drain: (socket) => socket.getUserData().connection.catchUp(),
    close: (socket) => this.#closed(socket.getUserData().connection),
  };

  /** Pings, heartbeats, and the end of whoever has gone silent. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    this.#cancels.retry();
    for (const connection of [...this.#connections]) {
      if (nowMs - connection.heardMs >= limits.IDLE_CLOSE_MS) {
        connection.end(limits.CLOSE.GOING_AWAY, 'idle');
      } else if (connection.key !== null && hasExpired(connection.key, nowMs)) {
        connection.refuseAndClose(ERRORS.API_KEY_REVOKED);
      } else {
        this.#keepAlive(connection, nowMs);
      }
    }
    this.#flushPushed();
  }

  #keepAlive(connection: Connection, nowMs: number): void {
    if (nowMs >= connection.nextPingMs) {
      connection.nextPingMs = nowMs + limits.PING_EVERY_MS;
      connection.ping();
    }
    if (nowMs < connection.nextHeartbeatMs) return;
    connection.nextHeartbeatMs = nowMs + limits.HEARTBEAT_EVERY_MS;
    if (connection.markets.size > 0 || connection.user !== null) this.#sendHeartbeat(connection, nowMs);
  }

  /** Whoever has another number in hand has missed something. */
  #sendHeartbeat(connection: Connection, nowMs: number): void {
    const sequences: Record<string, number> = {};
    for (const { channel, sequence } of connection.markets.values()) {
      if (sequence !== null) sequences[channel.market.id] = sequence;
    }
    connection.answer('heartbeat', undefined, {
      time: nowMs,
      sequences,
      user_sequence: connection.user?.userSequence,
    });
  }

  #opened(connection: Connection): void {
    const nowMs = this.#options.clock.nowMs();
    connection.heardMs = nowMs;
    connection.nextPingMs = nowMs + limits.PING_EVERY_MS;
    connection.nextHeartbeatMs = nowMs + limits.HEARTBEAT_EVERY_MS;
    this.#connections.add(connection);
    const owner = ownerOf(connection);
    const most = connection.key === null ? limits.MAX_CONNECTIONS_PER_ADDRESS : limits.MAX_CONNECTIONS_PER_KEY;
    const others = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, others.add(connection));
    if (others.size > most) connection.refuseAndClose(ERRORS.RATE_LIMITED, `too many connections (max ${most})`);
  }

  /** T3. */
  #closed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#pushed.delete(connection);
    const owner = ownerOf(connection);
    const others = this.#byOwner.get(owner);
    others?.delete(connection);
    if (others?.size === 0) this.#byOwner.delete(owner);
    const { user } = connection;
    if (user !== null) this.#leaveAccount(connection, user.account);
    connection.closed();
    if (user?.cancelsOnDisconnect === true) this.#cancels.cancel(user.account);
  }

  /** A bug in here costs one client its connection, nobody else anything. */
  #received(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    connection.heardMs = this.#options.clock.nowMs();
    try {
      this.#handle(connection, bytes, isBinary);
    } catch (error) {
      this.#options.log.error({ err: error }, 'stream message failed');
      connection.end(limits.CLOSE.INTERNAL, ERRORS.INTERNAL_ERROR.message);
    }
    this.#flushPushed();
    connection.catchUp();
  }

  #handle(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    if (!connection.isOpen) return;
    if (!connection.countMessage()) {
      connection.refuseAndClose(
        ERRORS.RATE_LIMITED,
        `too many messages (max ${limits.MAX_MESSAGES_PER_SECOND} a second)`,
      );
    } else if (bytes.length > limits.MAX_MESSAGE_BYTES) {
      connection.refuseAndClose(ERRORS.PAYLOAD_TOO_LARGE, `message too large (max ${limits.MAX_MESSAGE_BYTES} bytes)`);
    } else if (isBinary) {
      connection.refuse(undefined, { row: ERRORS.VALIDATION_ERROR, message: 'message is not text' });
    } else {
      const parsed = parseRequest(bytes);
      if (parsed.ok) this.#carryOut(connection, parsed.request);
      else connection.refuse(parsed.id, parsed.refusal);
    }
  }

  #carryOut(connection: Connection, request: Request): void {
    switch (request.channel) {
      case 'ping':
        connection.answer('pong', request.id, { time: this.#options.clock.nowMs() });
        break;
      case 'subscribe':
        this.#subscribe(connection, request);
        break;
      case 'unsubscribe':
        this.#unsubscribe(connection, request.data);
        connection.answer('unsubscribed', request.id, active(connection));
        break;
    }
  }

  /** All of it or nothing. */
  #subscribe(connection: Connection, { id, data }: Parsed<'subscribe'>): void {
    const refusal = notAllowed(connection, data);
    if (refusal !== null) {
      connection.refuse(id, refusal);
      return;
    }
    const markets = new Map<number, MarketEntry>();
    for (const name of data.markets ?? []) {
      const market = this.#options.catalog.byId(name.toLowerCase());
      if (market === undefined || !this.#options.views.markets.has(market.index)) {
        const details = { field: 'data.markets', rule: 'known', value: name };
        connection.refuse(id, { row: ERRORS.MARKET_NOT_FOUND, details });
        return;
      }
      markets.set(market.index, market);
    }
    const added = [...markets.keys()].filter((index) => !connection.markets.has(index)).length;
    if (connection.markets.size + added > MAX_MARKETS) {
      connection.refuseAndClose(ERRORS.INVALID_REQUEST, `too many markets (max ${MAX_MARKETS})`);
      return;
    }
    for (const market of markets.values()) this.#listenToMarket(connection, market, data);
    if (data.user === true) this.#listenToAccount(connection, data);
    connection.answer('subscribed', id, active(connection));
  }

  #listenToMarket(connection: Connection, market: MarketEntry, data: SubscribeData): void {
    const wantsChecksum = data.checksum;
    let subscription = connection.markets.get(market.index);
    if (subscription === undefined) {
      const channel = this.#markets.channel(market.index);
      subscription = new MarketSubscription(channel, connection, wantsChecksum === true);
      connection.markets.set(market.index, subscription);
    } else if (wantsChecksum !== undefined) {
      subscription.setChecksum(wantsChecksum);
    }
    const from = fromSequence(data, market.id);
    if (from !== undefined) subscription.startBehind(from);
    else if (data.snapshot === true) subscription.startWithBook();
    else return;
    connection.serve(subscription);
  }

  #listenToAccount(connection: Connection, data: SubscribeData): void {
    const account = connection.key!.accountIndex;
    if (connection.user === null) {
      connection.user = new UserSubscription(account, this.#options.privateLog, this.#render, connection);
      const listening = this.#byAccount.get(account) ?? new Set();
      this.#byAccount.set(account, listening.add(connection));
    }
    const { user } = connection;
    if (data.cancel_on_disconnect !== undefined) user.cancelsOnDisconnect = data.cancel_on_disconnect;
    if (data.user_since === undefined) return;
    user.startBehind(data.user_since);
    connection.serve(user);
  }

  /** What is not listened to is not an error: the answer says what is left. */
  #unsubscribe(connection: Connection, data: UnsubscribeData): void {
    for (const name of data.markets ?? []) {
      const index = this.#options.catalog.byId(name.toLowerCase())?.index;
      const subscription = index === undefined ? undefined : connection.markets.get(index);
      if (subscription === undefined) continue;
      connection.markets.delete(index!);
      connection.forget(subscription);
      subscription.end();
    }
    if (data.user !== true || connection.user === null) return;
    this.#leaveAccount(connection, connection.user.account);
    connection.forget(connection.user);
    connection.user = null;
  }

  #leaveAccount(connection: Connection, account: number): void {
    const listening = this.#byAccount.get(account);
    listening?.delete(connection);
    if (listening?.size === 0) this.#byAccount.delete(account);
  }

  #tell(accounts: ReadonlySet<number>): void {
    if (this.#byAccount.size === 0) return;
    for (const account of accounts) {
      for (const connection of this.#byAccount.get(account) ?? []) connection.user?.follow();
    }
    this.#flushPushed();
  }

  /** A connection that ends on the way takes itself out of the set. */
  #flushPushed(): void {
    for (const connection of this.#pushed) connection.flush();
    this.#pushed.clear();
  }
}

function ownerOf({ key, address }: Connection): string {
  return key === null ? `address ${address}` : key.keyId;
}

function hasExpired({ expiresAtMs }: ApiKey, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** Without a key there are the public channels; with one, what it is for. */
function notAllowed({ key }: Connection, data: SubscribeData): Refusal | null {
  if (data.user === true && key === null) return { row: ERRORS.MISSING_API_KEY_HEADERS };
  if (key === null) return null;
  const lacksMarket = (data.markets ?? []).length > 0 && (key.scopes & SCOPE['stream:market']) === 0;
  const lacksUser = data.user === true && (key.scopes & SCOPE['stream:user']) === 0;
  const row: ErrorRow = ERRORS.INSUFFICIENT_SCOPE;
  return lacksMarket || lacksUser ? { row } : null;
}

function fromSequence({ from_sequence }: SubscribeData, marketId: string): number | undefined {
  if (from_sequence === undefined) return undefined;
  const name = Object.keys(from_sequence).find((given) => given.toLowerCase() === marketId);
  return name === undefined ? undefined : from_sequence[name];
}

function active({ markets, user }: Connection): object {
  return {
    markets: [...markets.values()].map(({ channel }) => channel.market.id),
    user: user !== null,
    user_sequence: user?.userSequence,
    cancel_on_disconnect: user?.cancelsOnDisconnect ?? false,
  };
}
