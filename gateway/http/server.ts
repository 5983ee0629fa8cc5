/**
 * The HTTP server: its doors admit connections; requests become calls, which run through the pipeline.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SERVER-1  Every call has its abort handler before its turn ends, unless its response is over by then
 *             (HTTPTRANSPORT-1). A call that can become a socket has the handler before that, because afterwards it is
 *             no response any more.
 *
 * A connection has one request at a time (RULES.md 6.4), because uWebSockets.js has one response per socket. It answers
 * pipelined requests in order as long as each is answered at once, and closes the connection if its parser reaches the
 * next request while an answer is owed. `pause` would not help: it stops the next read, not the parser in this one.
 * Beyond MOST_PER_TURN the answer of a request is the last on its connection and is sent in the next turn: a request
 * after it in the same buffer closes the connection.
 *
 * With front threads (GATEWAYS) the public port is accepted here, and its connections are served by the fronts: they
 * pass on the requests of their clients, which run through the same stages (gateway/front/).
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { ADMIN_CONNECTIONS } from '../access/openFiles.ts';
import { peerSubject } from '../base/clientAddress.ts';
import type { Config } from '../base/config.ts';
import type { HmacKey } from '../base/hmacKey.ts';
import { Call, type ReadByFront, type ServerResponse, type Upgrade } from './call.ts';
import { Door, type SharedDoor, type WebSocketEndpoint } from './door.ts';
import type { HeaderLines } from './headers.ts';
import { HttpTransport } from './httpTransport.ts';
import type { LongAnswers } from './longAnswers.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import type { RequestMeters } from './requestMeters.ts';
import { SilentConnections } from './silentConnections.ts';
import { TurnLimit } from './turnLimit.ts';

export type ServerOptions = PipelineOptions & {
  readonly config: PipelineOptions['config'] & Pick<Config, 'host' | 'port' | 'tls'>;
  readonly webSocket?: WebSocketEndpoint;
  /** The threads that serve the connections of the public port; absent: this thread serves them. */
  readonly fronts?: Fronts | undefined;
  /** Applies everything that the shards have published: a client of a front thread may have read it there already. */
  readonly catchUp?: () => void;
};

/** Admission of a connection to a front thread: WATCHED connections are closed after two seconds without a request. */
type Admission = 'REFUSED' | 'ADMITTED' | 'WATCHED';

/** A request as a front thread passes it on; valid until `receive` returns. */
type PassedRequest = HeaderLines & { readonly method: string; readonly path: string; readonly query: string | null };

/** The server, as front threads use it. */
export type FrontServer = {
  opened(peer: Uint8Array): Admission;
  closed(): void;
  receive(response: ServerResponse, request: PassedRequest, upgrade: Upgrade | null, byFront: ReadByFront | null): void;
  /** The secret of a key in force; null if there is no such key. */
  secretOf(keyId: string): HmacKey | null;
  readonly webSocket: WebSocketEndpoint['behavior'];
};

/** The front threads, as the server uses them. */
export type Fronts = {
  /** The number of open connections of all fronts. */
  readonly connections: number;
  /** Resolves when each of them can serve. */
  start(server: FrontServer, door: SharedDoor): Promise<void>;
  reloadTls(): Promise<void>;
  /** Resolves when everything that clients have sent so far has been received. */
  settle(): Promise<void>;
  /** Connections are no longer scarce. */
  calm(): void;
  /** From now on a front thread may, or may not, answer requests itself. */
  allowReads(isAllowed: boolean): void;
  /** Cuts every connection once pending answers have been written. */
  close(): Promise<void>;
};

/** About the time that a message takes across an ocean. */
const LINGER_MS = 100;
/** A load balancer that probes at least this often sends nothing more when the port closes. */
const TOLD_MS = 1000;
/** The longest time during which requests are carried out while the server stops; after it they are refused. */
const LEAVE_MS = 1000;
/** Time between two checks for a crowd. */
const TICK_MS = 250;

export class HttpServer {
  readonly #options: ServerOptions;
  readonly #pipeline: Pipeline;
  readonly #publicDoor: Door;
  readonly #adminDoor: Door | null;
  readonly #silent = new SilentConnections();
  readonly #turnLimit = new TurnLimit();
  #adminPort: number | null = null;
  #begun: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#pipeline = new Pipeline(options);
    const { config, adminDoor, connectionLimits: limits, fronts } = options;
    this.#publicDoor = new Door({
      ...config,
      isShared: fronts !== undefined,
      webSocket: options.webSocket,
      onOpened: (response) => this.#open(response),
      onClosed: () => limits?.closed(this.connections),
      onRequest: (response, request, upgrade) => this.#onRequest(response, request, upgrade, false),
    });
    this.#adminDoor =
      adminDoor === undefined
        ? null
        : new Door({
            ...adminDoor,
            onOpened: (_, open) => open <= ADMIN_CONNECTIONS,
            onClosed: () => {},
            onRequest: (response, request, upgrade) => this.#onRequest(response, request, upgrade, true),
          });
  }

  /** The stages, for the calls on sockets. */
  get calls(): Pipeline {
    return this.#pipeline;
  }

  get meters(): RequestMeters {
    return this.#pipeline.meters;
  }

  get longAnswers(): LongAnswers {
    return this.#pipeline.longAnswers;
  }

  /** Open connections, with and without a request, without those of administrators. */
  get connections(): number {
    return this.#publicDoor.connections + (this.#options.fronts?.connections ?? 0);
  }

  /** Connections of this thread itself. */
  get ownConnections(): number {
    return this.#publicDoor.connections;
  }

  /** The administrators' port. Null if they have none of their own, and before `listen`. */
  get adminPort(): number | null {
    return this.#adminPort;
  }

  /** Starts the front threads, and lets administrators in. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  async #begin(): Promise<void> {
    await this.#options.fronts?.start(this.#forFronts(), this.#publicDoor);
    if (this.#adminDoor !== null) this.#adminPort = await this.#adminDoor.listen();
  }

  /** Opens the public port. Resolves to the port. */
  async listen(): Promise<number> {
    await this.begin();
    const port = await this.#publicDoor.listen();
    this.#timer = setInterval(() => this.#tick(port), TICK_MS);
    return port;
  }

  /** Reads the certificate again, for new connections at every door. Throws if its files cannot be used. */
  async reloadTls(): Promise<void> {
    await this.#publicDoor.reloadTls();
    await this.#options.fronts?.reloadTls();
    await this.#adminDoor?.reloadTls();
  }

  /**
   * Stops accepting connections once a probing load balancer knows of the stop. Requests on open connections are
   * carried out, and each answer is the last on its connection: so a client that keeps connections open, such as a
   * proxy, loses no request. Then every connection is closed. Returns false if the deadline passed first.
   */
  async stop(deadlineMs: number): Promise<boolean> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    this.#allowReads();
    const endMs = performance.now() + deadlineMs;
    if (this.#pipeline.isWatched) await new Promise((resolve) => setTimeout(resolve, Math.min(deadlineMs, TOLD_MS)));
    const left = this.#pipeline.leave(Math.min(deadlineMs, LEAVE_MS));
    // Without this, clients that wait to be accepted would be cut off.
    await this.#allRead();
    this.#publicDoor.stopListening();
    await left;
    this.#options.webSocket?.close();
    // Requests that clients sent before they could know of the stop are still on their way.
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    // On a busy machine the time may pass with none of them read.
    await this.#allRead();
    await this.#pipeline.leave(Math.min(deadlineMs, LEAVE_MS));
    // A request still in flight takes long, or its body does not arrive.
    await this.#pipeline.drain(Math.max(0, endMs - performance.now()));
    const isDrained = this.#pipeline.isIdle;
    await this.#options.fronts?.close();
    for (const door of [this.#publicDoor, this.#adminDoor]) door?.stopListening();
    for (const door of [this.#publicDoor, this.#adminDoor]) door?.close();
    return isDrained;
  }

  async #allRead(): Promise<void> {
    await allRead();
    await this.#options.fronts?.settle();
  }

  #forFronts(): FrontServer {
    const { webSocket, connectionLimits, authenticator } = this.#options;
    return {
      opened: (peer) => this.#admit(peer),
      closed: () => connectionLimits?.closed(this.connections),
      receive: (response, request, upgrade, byFront) => {
        this.#options.catchUp?.();
        const { method, path, query } = request;
        const transport = new HttpTransport(response);
        const call = this.#callOf(transport, method, path, query);
        call.ahead = byFront;
        this.#run(transport, call, request, upgrade);
      },
      secretOf: (keyId) => authenticator.secretOf(keyId),
      webSocket: webSocket?.behavior ?? {},
    };
  }

  #open(response: HttpResponse): boolean {
    const { connectionLimits, clock } = this.#options;
    if (connectionLimits === undefined) return true;
    const peer = new Uint8Array(response.getRemoteAddress());
    const admission = this.#admit(peer);
    if (admission === 'WATCHED') this.#silent.opened(peerSubject(peer), response, clock.nowMs());
    return admission !== 'REFUSED';
  }

  /** The new connection already counts as open. */
  #admit(peer: Uint8Array): Admission {
    const { connectionLimits: limits } = this.#options;
    if (limits === undefined) return 'ADMITTED';
    // A connection that was reset before it was accepted no longer has an address.
    if (peer.length === 0 || !limits.admits(peer, this.connections)) return 'REFUSED';
    this.#allowReads();
    return limits.isCrowded && !limits.isShared(peer) ? 'WATCHED' : 'ADMITTED';
  }

  /** While connections are scarce, this thread decides who keeps one (RULES.md 6.12). */
  #allowReads(): void {
    const { fronts, connectionLimits, isReady } = this.#options;
    fronts?.allowReads(!this.#isStopping && isReady() && connectionLimits?.isCrowded !== true);
  }

  #tick(port: number): void {
    this.#allowReads();
    const { connectionLimits: limits, clock, webSocket, fronts } = this.#options;
    if (limits === undefined) return;
    void limits.tick(port);
    if (!limits.isCrowded) {
      this.#silent.clear();
      fronts?.calm();
    }
    this.#silent.closeOld(clock.nowMs());
    if (limits.excess > 0) webSocket?.closeAnonymous?.(limits.excess);
  }

  #onRequest(response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null, isAdminDoor: boolean): void {
    // The method is read first: getMethod would turn it into lower case in place.
    const method = request.getCaseSensitiveMethod();
    const transport = new HttpTransport(response, true);
    const call = this.#callOf(transport, method, request.getUrl(), request.getQuery() ?? null);
    call.transport.isAtAdminDoor = isAdminDoor;
    if (!this.#turnLimit.admits(this)) call.transport.keptFor = 'nobody';
    this.#run(transport, call, request, upgrade);
  }

  #callOf(transport: HttpTransport, method: string, path: string, query: string | null): Call {
    return new Call(transport, method, path, query, this.#options.clock.nowMs(), this.#pipeline);
  }

  /** SERVER-1. */
  #run(transport: HttpTransport, call: Call, headers: HeaderLines, upgrade: Upgrade | null): void {
    const onAborted = (): void => this.#pipeline.abort(call);
    transport.upgrade = upgrade;
    if (upgrade !== null) transport.response.onAborted(onAborted);
    const { connectionLimits } = this.#options;
    if (!call.transport.isAtAdminDoor && (this.#silent.size > 0 || connectionLimits?.isCrowded)) this.#inCrowd(call);
    this.#pipeline.run(call, headers);
    if (upgrade === null) transport.handled(onAborted);
    else transport.isBeingHandled = false;
  }

  #inCrowd(call: Call): void {
    const { connectionLimits: limits } = this.#options;
    const peer = call.transport.peer();
    this.#silent.spoke(peer.length === 0 ? '' : peerSubject(peer));
    if (!limits!.isCrowded || call.transport.keptFor === 'nobody') return;
    call.transport.keptFor = peer.length === 0 ? 'nobody' : limits!.keptFor(peer);
  }
}

/**
 * Resolves when the event loop has processed everything that has arrived: two turns, because this may be called in the
 * middle of one.
 */
async function allRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
