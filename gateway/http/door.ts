/**
 * One port with its connections: it listens, counts what is open, and passes requests on. An exchange has a door for
 * everyone and, with ADMIN_PORT, one for its administrators, whose connections no other client can use up.
 *
 * A shared door (GATEWAYS) accepts for several threads: each of them has a door that does not listen, and the apps of
 * these doors get the connections in turn. The port has only one socket, so no second program can take it (as
 * SO_REUSEPORT would allow), and connections are spread evenly (as a hash of few addresses would not). Owner: the
 * gateway thread, or the front thread that has made it.
 *
 * Invariants:
 *   DOOR-1  `connections` is the number of open sockets: uWebSockets.js reports a connection that opens and one that
 *           closes, except that a WebSocket reports its close to its own handler alone.
 *   DOOR-2  A shared door hands connections to apps of threads that run. Its own app gets them only while there are no
 *           others: the gateway thread has enough to do.
 */
import '../../shared/base/headerBytes.ts';
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
import { type Config, ConfigError } from '../base/config.ts';
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
  /** True for a door that accepts for other threads as well. */
  readonly isShared?: boolean;
  readonly webSocket?: WebSocketEndpoint | undefined;
  /** Returns false to close the connection at once. It is already counted in `open`. */
  readonly onOpened: (response: HttpResponse, open: number) => boolean;
  readonly onClosed: (open: number) => void;
  readonly onRequest: (response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null) => void;
};

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the package's types leave out: without it two servers would share a port. */
const EXCLUSIVE_PORT = 1;

/** An app of any thread, as uWebSockets.js names it to another one. */
export type AppDescriptor = number;

/** A door that accepts for several threads. */
export type SharedDoor = Pick<Door, 'addOther' | 'removeOther'>;

/** The door no longer listens: the exchange has to be restarted. */
export class DoorClosedError extends Error {
  override readonly name = 'DoorClosedError';
}

export class Door {
  readonly #options: DoorOptions;
  /** Listens for the apps of all threads; null: this door's own app listens. */
  readonly #acceptor: SharingApp | null;
  /** The apps of other threads. */
  readonly #others = new Set<AppDescriptor>();
  #app: SharingApp;
  /**
   * Apps with earlier certificates, which serve the connections that they accepted. They are kept until the end: each
   * has 34 KiB that uWebSockets.js does not free when it is closed.
   */
  readonly #former: TemplatedApp[] = [];
  #port: number;
  #listenSocket: us_listen_socket | null = null;
  #connections = 0;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#app = this.#makeApp();
    this.#acceptor = options.isShared === true ? makeApp(options.tls) : null;
    this.#acceptor?.addChildAppDescriptor(this.#app.getDescriptor());
  }

  get connections(): number {
    return this.#connections;
  }

  /** The app of a door that does not listen, for the thread with the shared one. */
  get descriptor(): AppDescriptor {
    return this.#app.getDescriptor();
  }

  /** DOOR-2. */
  addOther(descriptor: AppDescriptor): void {
    if (this.#others.size === 0) this.#acceptor!.removeChildAppDescriptor(this.descriptor);
    this.#others.add(descriptor);
    this.#acceptor!.addChildAppDescriptor(descriptor);
  }

  /** DOOR-2. The thread is about to end, or has another app: none of its connections is cut by this. */
  removeOther(descriptor: AppDescriptor): void {
    if (!this.#others.delete(descriptor)) return;
    this.#acceptor!.removeChildAppDescriptor(descriptor);
    if (this.#others.size === 0) this.#acceptor!.addChildAppDescriptor(this.descriptor);
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
      (this.#acceptor ?? this.#app).listen(host, port, EXCLUSIVE_PORT, onListen);
    });
  }

  /**
   * Reads certificate and key again, for the connections from now on; open ones keep theirs. An app of uWebSockets.js
   * cannot change its files, so a new one listens in place of the other, in the same turn of the event loop: only a
   * connection that the app has not accepted yet at that moment is reset. Behind a shared door the new app replaces the
   * old one without any reset, because the accepting socket stays. Throws a ConfigError, and changes nothing, when the
   * files cannot be used; a DoorClosedError when another program has taken the port in between.
   */
  async reloadTls(): Promise<void> {
    if (this.#options.tls === null) return;
    if (this.#acceptor !== null) {
      const isOwnTurn = this.#others.size === 0;
      const before = this.descriptor;
      this.renew();
      if (isOwnTurn) {
        this.#acceptor.addChildAppDescriptor(this.descriptor);
        this.#acceptor.removeChildAppDescriptor(before);
      }
      return;
    }
    if (this.#listenSocket === null) return;
    // A port chosen by the system can be bound only by the socket for which it was chosen.
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

  /** Renews the app of a door that does not listen, which then has another descriptor. */
  renew(): void {
    const fresh = this.#makeApp();
    this.#former.push(this.#app);
    this.#app = fresh;
  }

  /** Accepts no more connections. */
  stopListening(): void {
    if (this.#listenSocket !== null) us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }

  /** Cuts every connection. */
  close(): void {
    this.#acceptor?.close();
    for (const app of [...this.#former, this.#app]) app.close();
  }

  #makeApp(): SharingApp {
    const { tls, webSocket, onRequest } = this.#options;
    const app = makeApp(tls);
    app.filter(this.#onConnection);
    if (webSocket !== undefined) this.#addWebSocket(app, webSocket);
    app.any('/*', (response, request) => onRequest(response, request, null));
    return app;
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

/** An app with what the package's types leave out. */
type SharingApp = TemplatedApp & {
  listen(host: string, port: number, options: number, onListen: (socket: us_listen_socket | false) => void): void;
  getDescriptor(): AppDescriptor;
  addChildAppDescriptor(descriptor: AppDescriptor): void;
  removeChildAppDescriptor(descriptor: AppDescriptor): void;
};

/** Throws a ConfigError when TLS cannot be used with these files. Called at the start, before any thread runs. */
export function requireTls(tls: Config['tls']): void {
  if (tls !== null) makeApp(tls).close();
}

/** The error of uWebSockets.js says neither which file is wrong nor why. */
function makeApp(tls: Config['tls']): SharingApp {
  if (tls === null) return App() as SharingApp;
  try {
    return SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile }) as SharingApp;
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
