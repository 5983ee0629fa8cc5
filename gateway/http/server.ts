/**
 * The HTTP server: its doors admit connections, and requests become calls, which run through the pipeline.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SERVER-1  Every call has its abort handler before its turn ends, unless its response is over by then
 *             (HTTPTRANSPORT-1). One that can become a socket has it before: it is no response any more afterwards.
 *
 * One request at a time on a connection (RULES.md 6.4): uWebSockets.js has one response per socket. It answers
 * pipelined requests in order as long as each is answered at once, and closes the connection when its parser comes to
 * the next one while an answer is owed. `pause` would not help: it stops the next read, not the parser in this one.
 * Beyond MOST_PER_TURN the answer of a request is the last on its connection, and is sent in the next turn: what
 * follows it in the same buffer closes the connection.
 *
 * With front threads (GATEWAYS) the public port is accepted here and its connections are theirs: they pass on what
 * their clients send, and it runs through the same stages (gateway/front/).
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { ADMIN_CONNECTIONS } from '../access/openFiles.ts';
import { peerSubject } from '../base/clientAddress.ts';
import type { Config } from '../base/config.ts';
import type { HmacKey } from '../base/hmacKey.ts';
import { Call, type Prepared, type ServerResponse, type Upgrade } from './call.ts';
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
  /** The threads that have the connections of the public port; absent: this one has them. */
  readonly fronts?: Fronts | undefined;
  /** Applies what the shards have published: a client of a front thread may have read it there already. */
  readonly catchUp?: () => void;
};

/** A connection of a front thread: WATCHED ones are closed after two seconds without a request. */
type Admission = 'REFUSED' | 'ADMITTED' | 'WATCHED';

/** A request as a front thread has passed it on; it is valid until `receive` returns. */
type PassedRequest = HeaderLines & { readonly method: string; readonly path: string; readonly query: string | null };

/** The server, as front threads use it. */
export type FrontServer = {
  opened(peer: Uint8Array): Admission;
  closed(): void;
  receive(response: ServerResponse, request: PassedRequest, upgrade: Upgrade | null, prepared: Prepared | null): void;
  /** The secret of a key in force; null when there is none. */
  secretOf(keyId: string): HmacKey | null;
  readonly webSocket: WebSocketEndpoint['behavior'];
};

/** The front threads, as the server uses them. */
export type Fronts = {
  /** Open connections of all of them. */
  readonly connections: number;
  /** Resolves when each of them can serve. */
  start(server: FrontServer, door: SharedDoor): Promise<void>;
  reloadTls(): Promise<void>;
  /** Resolves when everything that clients have sent by now has been received. */
  settle(): Promise<void>;
  /** Connections are no longer scarce. */
  calm(): void;
  /** From now on a thread may answer by itself what it can, or may not. */
  allowReads(isAllowed: boolean): void;
  /** Cuts every connection, once what was answered has been written. */
  close(): Promise<void>;
};

/** About the time a message needs across an ocean. */
const LINGER_MS = 100;
/** A balancer that asks once in that time sends nothing more when the port closes. */
const TOLD_MS = 1000;
/** Longest time in which requests are carried out while the server stops; after it they are refused. */
const LEAVE_MS = 1000;
/** Time between two looks at a crowd. */
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

  /** Open connections, with and without a request; those of administrators are not among them. */
  get connections(): number {
    return this.#publicDoor.connections + (this.#options.fronts?.connections ?? 0);
  }

  /** Those that this thread has itself. */
  get ownConnections(): number {
    return this.#publicDoor.connections;
  }

  /** Null without a door for administrators, and before `listen`. */
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

  /** Lets everybody in. Resolves to the port. */
  async listen(): Promise<number> {
    await this.begin();
    const port = await this.#publicDoor.listen();
    this.#timer = setInterval(() => this.#tick(port), TICK_MS);
    return port;
  }

  /** Reads the certificate again, for new connections at every door. Throws when its files cannot be used. */
  async reloadTls(): Promise<void> {
    await this.#publicDoor.reloadTls();
    await this.#options.fronts?.reloadTls();
    await this.#adminDoor?.reloadTls();
  }

  /**
   * Stops accepting, once a balancer that asks knows of it. Requests on open connections are carried out, and each
   * answer is the last one there: so a client that keeps its connections, such as a proxy, loses none of its requests.
   * Then every connection is closed.
   * False: the deadline passed first.
   */
  async stop(deadlineMs: number): Promise<boolean> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    this.#allowReads();
    const endMs = performance.now() + deadlineMs;
    if (this.#pipeline.isWatched) await new Promise((resolve) => setTimeout(resolve, Math.min(deadlineMs, TOLD_MS)));
    const left = this.#pipeline.leave(Math.min(deadlineMs, LEAVE_MS));
    // Clients that wait to be let in would be cut off.
    await this.#allRead();
    this.#publicDoor.stopListening();
    await left;
    this.#options.webSocket?.close();
    // Requests that clients sent before they could know of the stop are still on their way.
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    // On a busy machine the time may pass with none of them read.
    await this.#allRead();
    await this.#pipeline.leave(Math.min(deadlineMs, LEAVE_MS));
    // A request that is in flight now takes long, or its body does not come.
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
      receive: (response, request, upgrade, prepared) => {
        this.#options.catchUp?.();
        const { method, path, query } = request;
        const transport = new HttpTransport(response);
        const call = this.#callOf(transport, method, path, query);
        call.prepared = prepared;
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

  /** It is among the open connections already. */
  #admit(peer: Uint8Array): Admission {
    const { connectionLimits: limits } = this.#options;
    if (limits === undefined) return 'ADMITTED';
    // A connection that was reset before it was accepted has no address any more.
    if (peer.length === 0 || !limits.admits(peer, this.connections)) return 'REFUSED';
    this.#allowReads();
    return limits.isCrowded && !limits.isShared(peer) ? 'WATCHED' : 'ADMITTED';
  }

  /** While connections are scarce, this thread says who keeps one (RULES.md 6.12). */
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
    // The method first: getMethod would turn it into lower case in place.
    const method = request.getCaseSensitiveMethod();
    const transport = new HttpTransport(response, true);
    const call = this.#callOf(transport, method, request.getUrl(), request.getQuery() ?? null);
    call.isAtAdminDoor = isAdminDoor;
    if (!this.#turnLimit.admits(this)) call.keptFor = 'nobody';
    this.#run(transport, call, request, upgrade);
  }

  #callOf(transport: HttpTransport, method: string, path: string, query: string | null): Call {
    return new Call(transport, method, path, query, this.#options.clock.nowMs(), this.#pipeline);
  }

  /** SERVER-1. */
  #run(transport: HttpTransport, call: Call, headers: HeaderLines, upgrade: Upgrade | null): void {
    const onAborted = (): void => this.#pipeline.abort(call);
    call.upgrade = upgrade;
    if (upgrade !== null) transport.response.onAborted(onAborted);
    const { connectionLimits } = this.#options;
    if (!call.isAtAdminDoor && (this.#silent.size > 0 || connectionLimits?.isCrowded)) this.#inCrowd(call);
    this.#pipeline.run(call, headers);
    if (upgrade === null) transport.handled(onAborted);
    else transport.isBeingHandled = false;
  }

  #inCrowd(call: Call): void {
    const { connectionLimits: limits } = this.#options;
    const peer = call.transport.peer();
    this.#silent.spoke(peer.length === 0 ? '' : peerSubject(peer));
    if (!limits!.isCrowded || call.keptFor === 'nobody') return;
    call.keptFor = peer.length === 0 ? 'nobody' : limits!.keptFor(peer);
  }
}

/** Resolves when the loop has been through everything that has arrived: two turns, for it may be in one's middle. */
async function allRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
