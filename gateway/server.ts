/**
 * uWebSockets.js behind the route table: one handler for every request, and the stages each call passes in order.
 *
 *   transport → identity → scope → limit → stored answer → pause, disk → idempotency → validation → handler
 *
 * The order is the precedence of the error table. A call without a key is counted by its address before its body is
 * read; a call with one is counted by the key after the signature holds, so a forged request never spends a quota,
 * and a failed attempt is counted by address.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   H1  Every call has its abort handler before anything else happens: uWebSockets.js ends the process otherwise.
 *   H2  Every call is over exactly once: answered by a stage or its handler, or aborted before it had one.
 *   H3  Nothing thrown by a stage or a handler leaves this file; the call is answered 500.
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
import type { Clock } from '../shared/clock.ts';
import { ERRORS, type ErrorRow } from '../shared/errors.ts';
import type { AdminToken } from './auth/adminToken.ts';
import type { Authenticator } from './auth/apiKeys.ts';
import { collectBody, MAX_BODY_BYTES, parseStrictJson } from './body.ts';
import { Call, type Upgrade } from './call.ts';
import { type Config, ConfigError } from './config.ts';
import type { Cors } from './cors.ts';
import { type AnswerStore, IdempotencyStage } from './idempotency.ts';
import { IdentityStage, isFromHere } from './identity.ts';
import type { ConnectionLimits } from './limits/connectionLimits.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Logger } from './log.ts';
import { RequestCounts } from './requestCounts.ts';
import { CHUNKED, MALFORMED, RequestHeaders } from './requestHeaders.ts';
import { fail, ok } from './respond.ts';
import { type Route, requiredScope } from './route.ts';
import { type Endpoint, Router } from './router.ts';
import {
  type BodyCheck,
  compileBody,
  compileBodyLater,
  compileQuery,
  type Invalid,
  invalid,
  type QueryCheck,
} from './validate.ts';

export type ServerOptions = {
  readonly config: Pick<Config, 'host' | 'port' | 'tls' | 'trustProxy'>;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly adminToken: AdminToken;
  /** What keys were answered before. */
  readonly answers: AnswerStore;
  /** Null counts nothing. */
  readonly limiter: Limiter | null;
  /** Absent: as many connections as come. */
  readonly connectionLimits?: ConnectionLimits;
  /** Absent: no web page may read an answer. */
  readonly cors?: Cors;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isReady: () => boolean;
  readonly isPaused: () => boolean;
  /** What placing is refused with for practice, or null. */
  readonly drill: () => ErrorRow | null;
  /** There is only room left for what has to go on. */
  readonly isDiskLow: () => boolean;
  /** Until when the account may not take new risk; 0 when it may. */
  readonly timeoutEndMs: (account: number, nowMs: number) => number;
  readonly webSocket?: WebSocketEndpoint;
};

/** Upgrades at this path are calls like all others, with a route of their own that carries them out. */
export type WebSocketEndpoint = {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a socket carries along is a matter of the route that upgrades it
  readonly behavior: WebSocketBehavior<any>;
  /** Closes every socket; the calls in flight have been answered. */
  close(): void;
};

/** A route with everything that is worked out once. */
type Row = {
  readonly route: Route;
  readonly scope: number;
  readonly maxBodyBytes: number;
  readonly checkBody: BodyCheck | null;
  readonly checkQuery: QueryCheck | null;
};

/** Up to the year 5138, so that a time in microseconds is not taken for a far one in milliseconds. */
const UNIX_MS_FORM = /^[1-9][0-9]{0,13}$/;
/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the package's types leave out: without it two servers would share a port. */
const EXCLUSIVE_PORT = 1;
/** Of a body that is too large, so that its sender gets to read the answer. */
const MOST_SWALLOWED_BYTES = 16 * 1024 * 1024;
/** A trip from one side of an ocean to the other. */
const LINGER_MS = 100;

export class HttpServer {
  readonly requests = new RequestCounts();
  readonly #options: ServerOptions;
  readonly #router = new Router<Row>();
  readonly #identity: IdentityStage;
  readonly #idempotency: IdempotencyStage;
  readonly #app: TemplatedApp;
  #listenSocket: us_listen_socket | null = null;
  #inFlight = 0;
  #connections = 0;
  /** Of those in flight, the ones whose body is still coming. */
  readonly #receiving = new Set<Call>();
  #draining = false;
  #onDrained: () => void = () => {};

  constructor(options: ServerOptions) {
    this.#options = options;
    for (const route of options.routes) {
      this.#router.add(route.method, route.path, compileRoute(route), route.hasEncodedParams);
    }
    this.#identity = new IdentityStage(options);
    this.#idempotency = new IdempotencyStage(options.answers, options.clock);
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

  /** Open ones, with and without a request. */
  get connections(): number {
    return this.#connections;
  }

  /** The port listened on. */
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
    this.#draining = true;
    // Nothing of these has been done, and the rest of a body may never come.
    for (const call of this.#receiving) {
      call.closesConnection = true;
      fail(call, ERRORS.ENGINE_BUSY);
    }
    if (this.#listenSocket !== null) us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      timer = setTimeout(resolve, deadlineMs);
      if (this.#inFlight === 0) resolve();
    });
    clearTimeout(timer);
    const isDrained = this.#inFlight === 0;
    this.#options.webSocket?.close();
    // What clients sent before they could know is still on its way over kept connections; it is refused, not cut off.
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    this.#app.close();
    return isDrained;
  }

  /** `change` is 1 for one that opens and -1 for one that closes. */
  readonly #onConnection = (response: HttpResponse, change: number): void => {
    this.#connections += change;
    const { connectionLimits } = this.#options;
    if (change < 0 || connectionLimits === undefined) return;
    // Closing tells of one that closes before it returns.
    if (!connectionLimits.admits(new Uint8Array(response.getRemoteAddress()), this.#connections)) response.close();
  };

  #onRequest(response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null): void {
    // The method first: getMethod would turn it into lower case in place.
    const method = request.getCaseSensitiveMethod();
    const query = request.getQuery() ?? null;
    const call = new Call(response, method, request.getUrl(), query, this.#options.clock.nowMs(), this.#onAnswered);
    call.upgrade = upgrade;
    response.onAborted(() => this.#onAborted(call));
    this.#inFlight++;
    try {
      this.#receive(call, RequestHeaders.of(request));
    } catch (error) {
      this.#crash(call, error);
    }
  }

  /** Everything that needs the headers. */
  #receive(call: Call, headers: RequestHeaders): void {
    const row = this.#transport(call, headers);
    if (row === null) return;
    const { route } = row;
    if (this.#options.config.trustProxy !== null) call.forwardedFor = headers.forwardedFor;
    if (route.idempotent) call.idempotencyKey = headers.idempotencyKey;
    if (route.hasDeadline) call.deadline = headers.deadline;
    // Asked on this machine by nobody from elsewhere: what a proxy here passes on says so.
    const isLocal = route.access === 'operator' && !headers.isPassedOn && isFromHere(call);
    const needsToken = isForOperators(route);
    if (needsToken && !isLocal && !this.#options.adminToken.accepts(headers.authorization)) {
      this.#identity.refuse(call, route, ERRORS.INVALID_ADMIN_TOKEN, { step: 'admin_token' });
      return;
    }
    const isSigned = !needsToken && (route.access !== 'public' || headers.offersKey);
    if (isSigned) call.credentials = headers;
    else if (!isLocal) call.admission = this.#identity.admitAddress(call, route);
    if (call.admission === false) return;

    if (call.announcedBytes === 0) this.#pass(call, row);
    else {
      this.#receiving.add(call);
      collectBody(call, row.maxBodyBytes, (complete) => this.#onBody(complete, row), refuseTooLarge);
    }
  }

  /** The row of the call, or null when it has been refused. */
  #transport(call: Call, headers: RequestHeaders): Row | null {
    const match = this.#router.find(call.path);
    const row = match?.endpoint.methods.get(call.method);
    const bytes = headers.bodyBytes;
    // A body of unknown length can go on for ever after an early answer.
    call.closesConnection = this.#draining || bytes === CHUNKED || bytes === MALFORMED;
    call.announcedBytes = bytes;
    if (match !== null && this.#isPreflight(call, headers, match.endpoint)) return null;
    if (row !== undefined && !isForOperators(row.route)) this.#writeBrowserLines(call, headers);
    if (bytes > (row?.maxBodyBytes ?? MAX_BODY_BYTES)) refuseTooLarge(call);
    else if (match === null) fail(call, ERRORS.PATH_NOT_FOUND);
    else if (row === undefined) fail(call, ERRORS.METHOD_NOT_ALLOWED, { allow: match.endpoint.allow });
    else if (bytes === MALFORMED) fail(call, ERRORS.MALFORMED_REQUEST);
    else if (!row.route.probe && (this.#draining || !this.#options.isReady())) fail(call, ERRORS.ENGINE_BUSY);
    else {
      call.route = row.route;
      call.params = match.params;
      return row;
    }
    return null;
  }

  #writeBrowserLines(call: Call, { origin }: RequestHeaders): void {
    const { cors } = this.#options;
    if (cors !== undefined) call.browserLines = cors.linesFor(origin);
  }

  /** A browser asks on behalf of a page whether it may send the request it has in mind. */
  #isPreflight(call: Call, { origin, requestedMethod }: RequestHeaders, { methods, allow }: Endpoint<Row>): boolean {
    const { cors } = this.#options;
    if (cors === undefined || call.method !== 'OPTIONS') return false;
    const asked = methods.get(requestedMethod);
    if (asked === undefined || isForOperators(asked.route)) return false;
    const lines = cors.preflightLinesFor(origin, allow);
    if (lines === null) return false;
    call.browserLines = lines;
    ok(call, '{}');
    return true;
  }

  #onBody(call: Call, row: Row): void {
    this.#receiving.delete(call);
    call.closesConnection = this.#draining;
    try {
      this.#pass(call, row);
    } catch (error) {
      this.#crash(call, error);
    }
  }

  /** The stages after the body; each has answered when it returns false. */
  #pass(call: Call, row: Row): void {
    const { credentials } = call;
    const admission =
      credentials === null ? call.admission : this.#identity.identify(call, row.route, row.scope, credentials);
    if (admission === true) this.#proceed(call, row);
    else if (admission !== false) this.#proceedLater(call, row, admission);
  }

  #proceedLater(call: Call, row: Row, admission: Promise<boolean>): void {
    const proceed = (isAdmitted: boolean): void => {
      if (isAdmitted && !call.answered) this.#proceed(call, row);
    };
    admission.then(proceed).catch((error) => this.#crash(call, error));
  }

  #proceed(call: Call, row: Row): void {
    const begun = call.idempotencyKey === '' ? 'held' : this.#idempotency.begin(call, row.route);
    if (begun === 'replayed' || !this.#admitNew(call, row.route)) return;
    if (begun !== 'held') {
      fail(call, begun);
      return;
    }
    if (!validate(call, row)) return;
    this.#dispatch(call, row.route);
  }

  #admitNew(call: Call, route: Route): boolean {
    const { placing, storing } = route;
    const { isPaused, drill, isDiskLow } = this.#options;
    const practised = placing ? drill() : null;
    const timeoutEndMs = this.#timeoutEndMs(call, route);
    if (placing && isPaused()) fail(call, ERRORS.PLATFORM_PAUSED);
    else if (practised !== null) fail(call, practised);
    else if (timeoutEndMs > 0) {
      const retryAfterSec = Math.ceil((timeoutEndMs - call.startedMs) / 1000);
      fail(call, ERRORS.TRADING_TIMEOUT_ACTIVE, { retryAfterSec });
    } else if ((placing || storing) && isDiskLow()) fail(call, ERRORS.ENGINE_BUSY);
    else return true;
    return false;
  }

  #timeoutEndMs({ key, startedMs }: Call, { placing, reducing }: Route): number {
    return placing && !reducing && key !== null ? this.#options.timeoutEndMs(key.accountIndex, startedMs) : 0;
  }

  /** A handler answers at once, from a promise, or from a callback; only a promise can be seen to have forgotten. */
  #dispatch(call: Call, route: Route): void {
    call.dispatched = true;
    const outcome = route.handler(call);
    if (outcome === undefined) return;
    outcome.then(
      () => {
        if (!call.answered) this.#crash(call, new Error('server: the handler finished without an answer'));
      },
      (error: unknown) => this.#crash(call, error),
    );
  }

  #crash(call: Call, error: unknown): void {
    this.#options.log.error({ err: error, method: call.method, route: call.route?.path }, 'request failed');
    fail(call, ERRORS.INTERNAL_ERROR);
  }

  /** A handler that has the call still owes its end; before that nobody does. */
  #onAborted(call: Call): void {
    call.aborted = true;
    if (call.dispatched || call.answered) return;
    call.answered = true;
    this.#onAnswered(call);
  }

  readonly #onAnswered = (call: Call): void => {
    this.#idempotency.end(call);
    this.requests.count(call.route, call.status);
    this.#receiving.delete(call);
    this.#inFlight--;
    if (this.#draining && this.#inFlight === 0) this.#onDrained();
  };
}

type ExclusiveListener = {
  listen(host: string, port: number, options: number, onListen: (socket: us_listen_socket | false) => void): void;
};

/** uWebSockets.js does not say what is wrong with which file. */
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

function isForOperators({ access }: Route): boolean {
  return access === 'admin' || access === 'operator';
}

function compileRoute(route: Route): Row {
  const compile = route.access.startsWith('trade:') ? compileBody : compileBodyLater;
  return {
    route,
    scope: requiredScope(route),
    maxBodyBytes: route.maxBodyBytes ?? MAX_BODY_BYTES,
    checkBody: route.body === undefined ? null : compile(route.body),
    checkQuery: route.query === undefined ? null : compileQuery(route.query),
  };
}

function validate(call: Call, row: Row): boolean {
  if (call.deadline !== '') {
    call.deadlineMs = UNIX_MS_FORM.test(call.deadline) ? Number(call.deadline) : 0;
    if (call.deadlineMs === 0) return refuseInvalid(call, invalid('X-SVC-DEADLINE', 'format', call.deadline));
  }
  if (row.checkQuery !== null) {
    const result = row.checkQuery(call.rawQuery ?? '');
    if (!result.ok) return refuseInvalid(call, result.invalid);
    call.query = result.query;
  }
  if (row.route.bodyOptional && call.body.length === 0) {
    call.json = {};
  } else if (row.checkBody !== null) {
    const parsed = parseStrictJson(call.body);
    if (!parsed.ok) return refuseInvalid(call, parsed);
    const invalid = row.checkBody(parsed.value);
    if (invalid !== null) return refuseInvalid(call, invalid);
    call.json = parsed.value;
  }
  return true;
}

function refuseInvalid(call: Call, invalid: Invalid): false {
  fail(call, ERRORS.VALIDATION_ERROR, { message: invalid.message, details: invalid.details });
  return false;
}

/**
 * A client that is still sending would lose the answer with the connection. So what it has announced is taken in and
 * thrown away, for as long as uWebSockets.js waits for the next request: ten seconds.
 */
function refuseTooLarge(call: Call): void {
  if (call.announcedBytes > MOST_SWALLOWED_BYTES) call.closesConnection = true;
  else if (call.announcedBytes === CHUNKED) call.closesConnection = false;
  fail(call, ERRORS.PAYLOAD_TOO_LARGE);
}
