/**
 * The HTTP server: its doors admit connections, and requests become calls, which run through the pipeline.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SERVER-1  Every call has its abort handler before anything else happens: uWebSockets.js ends the process otherwise.
 *
 * One request at a time on a connection (RULES.md 6.4): uWebSockets.js has one response per socket. It answers
 * pipelined requests in order as long as each is answered at once, and closes the connection when its parser comes to
 * the next one while an answer is owed. `pause` would not help: it stops the next read, not the parser in this one.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { peerSubject } from '../limits/clientAddress.ts';
import type { Config } from '../process/config.ts';
import { Call, type Upgrade } from './call.ts';
import { Door, type WebSocketEndpoint } from './door.ts';
import { HttpTransport } from './httpTransport.ts';
import type { LongAnswers } from './longAnswers.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import type { RequestMeters } from './requestMeters.ts';
import { SilentConnections } from './silentConnections.ts';

export type ServerOptions = PipelineOptions & {
  readonly config: PipelineOptions['config'] & Pick<Config, 'host' | 'port' | 'tls'>;
  readonly webSocket?: WebSocketEndpoint;
};

/** About the time a message needs across an ocean. */
const LINGER_MS = 100;
/** Connections of administrators: scripts and terminals of a few people. */
const MAX_ADMIN_CONNECTIONS = 256;
/** Time between two looks at a crowd. */
const TICK_MS = 250;

export class HttpServer {
  readonly #options: ServerOptions;
  readonly #pipeline: Pipeline;
  readonly #publicDoor: Door;
  readonly #adminDoor: Door | null;
  readonly #silent = new SilentConnections();
  #adminPort: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#pipeline = new Pipeline(options);
    const { config, adminDoor, connectionLimits: limits } = options;
    this.#publicDoor = new Door({
      ...config,
      webSocket: options.webSocket,
      onOpened: (response, open) => this.#admit(response, open),
      onClosed: (open) => limits?.closed(open),
      onRequest: (response, request, upgrade) => this.#onRequest(response, request, upgrade, false),
    });
    this.#adminDoor =
      adminDoor === undefined
        ? null
        : new Door({
            ...adminDoor,
            onOpened: (_, open) => open <= MAX_ADMIN_CONNECTIONS,
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
    return this.#publicDoor.connections;
  }

  /** Null without a door for administrators, and before `listen`. */
  get adminPort(): number | null {
    return this.#adminPort;
  }

  /** Starts to listen. Resolves to the port. */
  async listen(): Promise<number> {
    const port = await this.#publicDoor.listen();
    if (this.#adminDoor !== null) this.#adminPort = await this.#adminDoor.listen();
    this.#timer = setInterval(() => this.#tick(port), TICK_MS);
    return port;
  }

  /** Reads the certificate again, for new connections at every door. Throws when its files cannot be used. */
  async reloadTls(): Promise<void> {
    await this.#publicDoor.reloadTls();
    await this.#adminDoor?.reloadTls();
  }

  /** Stops accepting, waits for the calls in flight and closes every connection. False: the deadline passed first. */
  async stop(deadlineMs: number): Promise<boolean> {
    clearInterval(this.#timer);
    const doors = this.#adminDoor === null ? [this.#publicDoor] : [this.#publicDoor, this.#adminDoor];
    const drained = this.#pipeline.drain(deadlineMs);
    // Clients that wait to be let in would be cut off.
    await allRead();
    for (const door of doors) door.stopListening();
    await drained;
    this.#options.webSocket?.close();
    // Requests that clients sent before they could know of the stop are still on their way; they are refused, not cut
    // off.
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    // On a busy machine the time may pass with none of them read.
    await allRead();
    const isDrained = this.#pipeline.isIdle;
    for (const door of doors) door.close();
    return isDrained;
  }

  #admit(response: HttpResponse, open: number): boolean {
    const { connectionLimits: limits, clock } = this.#options;
    if (limits === undefined) return true;
    const peer = new Uint8Array(response.getRemoteAddress());
    // A connection that was reset before it was accepted has no address any more.
    if (peer.length === 0 || !limits.admits(peer, open)) return false;
    if (limits.isCrowded && !limits.isShared(peer)) this.#silent.opened(peerSubject(peer), response, clock.nowMs());
    return true;
  }

  #tick(port: number): void {
    const { connectionLimits: limits, clock, webSocket } = this.#options;
    if (limits === undefined) return;
    void limits.tick(port);
    if (!limits.isCrowded) this.#silent.clear();
    this.#silent.closeOld(clock.nowMs());
    if (limits.excess > 0) webSocket?.closeAnonymous?.(limits.excess);
  }

  #onRequest(response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null, isAdminDoor: boolean): void {
    // The method first: getMethod would turn it into lower case in place.
    const method = request.getCaseSensitiveMethod();
    const query = request.getQuery() ?? null;
    const { clock, connectionLimits } = this.#options;
    const call = new Call(new HttpTransport(response), method, request.getUrl(), query, clock.nowMs(), this.#pipeline);
    call.upgrade = upgrade;
    call.isAtAdminDoor = isAdminDoor;
    response.onAborted(() => this.#pipeline.abort(call));
    if (!isAdminDoor && (this.#silent.size > 0 || connectionLimits?.isCrowded)) this.#inCrowd(call);
    this.#pipeline.run(call, request);
  }

  #inCrowd(call: Call): void {
    const { connectionLimits: limits } = this.#options;
    const peer = call.transport.peer();
    this.#silent.spoke(peer.length === 0 ? '' : peerSubject(peer));
    if (!limits!.isCrowded) return;
    call.keptFor = peer.length === 0 ? 'nobody' : limits!.keptFor(peer);
  }
}

/** Resolves when the loop has been through everything that has arrived: two turns, for it may be in one's middle. */
async function allRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
