/**
 * The sockets of uWebSockets.js: connections are admitted, and requests become calls, which run through the
 * pipeline.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SERVER-1  Every call has its abort handler before anything else happens: uWebSockets.js ends the process otherwise.
 *
 * One request at a time on a connection (RULES.md 6.4): uWebSockets.js has one response per socket. It answers
 * pipelined requests in order as long as each is answered at once, and closes the connection when its parser comes to
 * the next one while an answer is owed. `pause` would not help: it stops the next read, not the parser in this one.
 */
import {
  App,
  type HttpRequest,
  type HttpResponse,
  SSLApp,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  type us_socket_context_t,
  us_socket_local_port,
  type WebSocketBehavior,
} from 'uWebSockets.js';
import type { ConnectionLimits } from '../limits/connectionLimits.ts';
import { type Config, ConfigError } from '../process/config.ts';
import { Call, type Upgrade } from './call.ts';
import type { LongAnswers } from './longAnswers.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import type { RequestCounts } from './requestCounts.ts';
import type { TurnTimes } from './turnTimes.ts';

export type ServerOptions = PipelineOptions & {
  readonly config: Pick<Config, 'host' | 'port' | 'tls' | 'trustProxy'>;
  /** Absent: connections are not limited. */
  readonly connectionLimits?: ConnectionLimits;
  readonly webSocket?: WebSocketEndpoint;
};

/** Upgrades at this path are calls like all others; the handler of their route carries them out. */
type WebSocketEndpoint = {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the data of a socket is known to the route that upgrades it
  readonly behavior: WebSocketBehavior<any>;
  /** Closes every socket; the calls in flight have been answered. */
  close(): void;
};

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the package's types leave out: without it two servers would share a port. */
const EXCLUSIVE_PORT = 1;
/** About the time a message needs across an ocean. */
const LINGER_MS = 100;

export class HttpServer {
  readonly #options: ServerOptions;
  readonly #pipeline: Pipeline;
  readonly #app: TemplatedApp;
  #listenSocket: us_listen_socket | null = null;
  #connections = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#pipeline = new Pipeline(options);
    this.#app = makeApp(options.config.tls);
    this.#app.filter(this.#onConnection);
    const { webSocket } = options;
    if (webSocket !== undefined) {
      this.#app.ws(webSocket.path, {
        ...webSocket.behavior,
        upgrade: (response, request, context) => this.#onRequest(response, request, readUpgrade(request, context)),
      });
    }
    this.#app.any('/*', (response, request) => this.#onRequest(response, request, null));
  }

  get requests(): RequestCounts {
    return this.#pipeline.requests;
  }

  get turns(): TurnTimes {
    return this.#pipeline.turns;
  }

  get longAnswers(): LongAnswers {
    return this.#pipeline.longAnswers;
  }

  /** Open connections, with and without a request. */
  get connections(): number {
    return this.#connections;
  }

  /** Starts to listen. Resolves to the port. */
  listen(): Promise<number> {
    const { host, port } = this.#options.config;
    return new Promise((resolve, reject) => {
      const onListen = (socket: us_listen_socket | false) => {
        if (socket === false) {
          reject(new Error(`cannot listen on ${host} port ${port}: is it taken, or of another machine?`));
          return;
        }
        this.#listenSocket = socket;
        resolve(us_socket_local_port(socket));
      };
      (this.#app as unknown as ExclusiveListener).listen(host, port, EXCLUSIVE_PORT, onListen);
    });
  }

  /** Stops accepting, waits for the calls in flight and closes every connection. False: the deadline passed first. */
  async stop(deadlineMs: number): Promise<boolean> {
    const drained = this.#pipeline.drain(deadlineMs);
    if (this.#listenSocket !== null) us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
    await drained;
    const isDrained = this.#pipeline.isIdle;
    this.#options.webSocket?.close();
    // Requests that clients sent before they could know of the stop are still on their way; they are refused, not cut
    // off.
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    this.#app.close();
    return isDrained;
  }

  /** `change` is 1 for a connection that opens and -1 for one that closes. */
  readonly #onConnection = (response: HttpResponse, change: number): void => {
    this.#connections += change;
    const { connectionLimits } = this.#options;
    if (change < 0 || connectionLimits === undefined) return;
    // `close` reports the closed connection to this handler before it returns.
    if (!connectionLimits.admits(new Uint8Array(response.getRemoteAddress()), this.#connections)) response.close();
  };

  #onRequest(response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null): void {
    // The method first: getMethod would turn it into lower case in place.
    const method = request.getCaseSensitiveMethod();
    const query = request.getQuery() ?? null;
    const { clock } = this.#options;
    const call = new Call(response, method, request.getUrl(), query, clock.nowMs(), this.#pipeline);
    call.upgrade = upgrade;
    response.onAborted(() => this.#pipeline.abort(call));
    this.#pipeline.run(call, request);
  }
}

type ExclusiveListener = {
  listen(host: string, port: number, options: number, onListen: (socket: us_listen_socket | false) => void): void;
};

/** Throws a ConfigError when TLS cannot be used with these files. Called at the start, before any thread runs. */
export function requireTls(tls: Config['tls']): void {
  if (tls !== null) makeApp(tls).close();
}

/** The error of uWebSockets.js says neither which file is wrong nor why. */
function makeApp(tls: Config['tls']): TemplatedApp {
  if (tls === null) return App();
  try {
    return SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
  } catch {
    throw new ConfigError(`TLS_CERT and TLS_KEY: cannot use ${tls.certFile} with ${tls.keyFile}`);
  }
}

function readUpgrade(request: HttpRequest, context: us_socket_context_t): Upgrade {
  return {
    key: request.getHeader('sec-websocket-key'),
    protocol: request.getHeader('sec-websocket-protocol'),
    extensions: request.getHeader('sec-websocket-extensions'),
    context,
  };
}
