/**
 * One port with its connections: it listens, counts what is open, and passes requests on. An exchange has a door for
 * everyone and, with ADMIN_PORT, another for its administrators, whose connections no one else can use up.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   DOOR-1  `connections` is the number of open sockets: uWebSockets.js reports a connection that opens and one that
 *           closes, except that a WebSocket reports its close to its own handler alone.
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
import { type Config, ConfigError } from '../process/config.ts';
import type { Upgrade } from './call.ts';

/** Upgrades at this path are calls like all others; the handler of their route carries them out. */
export type WebSocketEndpoint = {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the data of a socket is known to the route that upgrades it
  readonly behavior: WebSocketBehavior<any>;
  /** Closes every socket; the calls in flight have been answered. */
  close(): void;
  /** Closes up to so many of those without a key. */
  closeAnonymous?(count: number): void;
};

type DoorOptions = {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly tls: Config['tls'];
  readonly webSocket?: WebSocketEndpoint | undefined;
  /** False: the connection is closed at once. `open` counts it already. */
  readonly onOpened: (response: HttpResponse, open: number) => boolean;
  readonly onClosed: (open: number) => void;
  readonly onRequest: (response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null) => void;
};

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the package's types leave out: without it two servers would share a port. */
const EXCLUSIVE_PORT = 1;

/** The door does not listen any more: the exchange has to be started again. */
export class DoorClosedError extends Error {
  override readonly name = 'DoorClosedError';
}

export class Door {
  readonly #options: DoorOptions;
  #app: TemplatedApp;
  /** Apps with former certificates, which serve the connections that they have accepted. */
  readonly #former: TemplatedApp[] = [];
  #port: number;
  #listenSocket: us_listen_socket | null = null;
  #connections = 0;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#app = this.#makeApp();
  }

  get connections(): number {
    return this.#connections;
  }

  /** Starts to listen. Resolves to the port. */
  listen(): Promise<number> {
    const { host } = this.#options;
    const port = this.#port;
    return new Promise((resolve, reject) => {
      const onListen = (socket: us_listen_socket | false) => {
        if (socket === false) {
          reject(new Error(`cannot listen on ${host} port ${port}: is it taken, or of another machine?`));
          return;
        }
        this.#listenSocket = socket;
        this.#port = us_socket_local_port(socket);
        resolve(this.#port);
      };
      (this.#app as unknown as ExclusiveListener).listen(host, port, EXCLUSIVE_PORT, onListen);
    });
  }

  /**
   * Reads certificate and key again, for the connections from now on; open ones keep theirs. An app of uWebSockets.js
   * cannot change its files, so a new one listens in place of the other, in the same turn of the event loop: only a
   * connection that the system has and the app has not accepted in that moment is reset.
   * Throws a ConfigError, and changes nothing, when the files cannot be used; a DoorClosedError when another program
   * has taken the port in between.
   */
  async reloadTls(): Promise<void> {
    if (this.#options.tls === null || this.#listenSocket === null) return;
    // The system gives a port that it chose only to the socket that it chose it for.
    if (this.#options.port === 0) throw new ConfigError('PORT: only a port that is set can get another certificate');
    const fresh = this.#makeApp();
    const former = this.#app;
    this.stopListening();
    this.#app = fresh;
    try {
      await this.listen();
      this.#former.push(former);
    } catch (error) {
      throw new DoorClosedError('no connections are accepted any more', { cause: error });
    }
  }

  /** Accepts no more connections. */
  stopListening(): void {
    if (this.#listenSocket !== null) us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }

  /** Cuts every connection. */
  close(): void {
    for (const app of [...this.#former, this.#app]) app.close();
  }

  #makeApp(): TemplatedApp {
    const { tls, webSocket, onRequest } = this.#options;
    const app = makeApp(tls);
    app.filter(this.#onConnection);
    if (webSocket !== undefined) this.#addWebSocket(app, webSocket);
    return app.any('/*', (response, request) => onRequest(response, request, null));
  }

  #addWebSocket(app: TemplatedApp, { path, behavior }: WebSocketEndpoint): void {
    const { onRequest } = this.#options;
    app.ws(path, {
      ...behavior,
      upgrade: (response, request, context) => onRequest(response, request, readUpgrade(request, context)),
      close: (socket, code, message) => {
        this.#onConnection(null, -1);
        return behavior.close?.(socket, code, message);
      },
    });
  }

  /** DOOR-1. `change` is 1 for a connection that opens and -1 for one that closes. */
  readonly #onConnection = (response: HttpResponse | null, change: number): void => {
    this.#connections += change;
    const { onOpened, onClosed } = this.#options;
    // `close` reports the closed connection to this handler before it returns.
    if (change < 0) onClosed(this.#connections);
    else if (response !== null && !onOpened(response, this.#connections)) response.close();
  };
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
