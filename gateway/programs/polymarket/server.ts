/**
 * The HTTP server: reads bounded requests, finds the route, and answers in JSON. What is wrong with a request is its
 * answer; an error of this program is a 500 and is logged.
 * Owner: the one thread of `npm run polymarket`.
 *
 * Invariants:
 *   POLYSERVER-1  Work for strangers is bounded: bytes of a body, requests under way, requests a second of one address.
 */
import '../../../shared/base/headerBytes.ts';
import {
  App,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import type { Clock } from '../../../shared/base/clock.ts';
import { isRefusal, isUnanswered } from '../../../shared/client/answers.ts';
import { ApiError } from '../../../shared/client/http.ts';
import { type Asked, Refusal, type Reply, type Route, signingHeaders } from './reply.ts';

declare module 'uWebSockets.js' {
  /** The package's types leave out the option. */
  interface TemplatedApp {
    listen(host: string, port: number, option: number, then: (listening: us_listen_socket | false) => void): unknown;
  }
}

const MAX_BODY_BYTES = 256 * 1024;
const MAX_UNDER_WAY = 512;
const MAX_ADDRESSES = 10_000;
/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it two of these would share a port, and each would have half of the clients. */
const EXCLUSIVE_PORT = 1;
const METHODS: readonly string[] = ['GET', 'POST', 'DELETE'];

type ServerOptions = {
  readonly routes: readonly Route[];
  readonly requestsPerSecond: number;
  readonly clock: Clock;
  /** @returns what a fault on request answers in place of the route. */
  readonly fault: (asked: Asked) => Reply | null;
  readonly onError: (error: unknown) => void;
};

type Found = { readonly route: Route; readonly segment: string };

export class PolymarketServer {
  readonly app: TemplatedApp;
  readonly #options: ServerOptions;
  /** Requests of this second by address. */
  #counts = new Map<string, number>();
  #second = 0;
  #underWay = 0;
  #listening: us_listen_socket | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.app = App();
    this.app.any('/*', (response, request) => this.#receive(response, request));
  }

  /** @returns the port; 0 lets the system choose. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.app.listen(host, port, EXCLUSIVE_PORT, (listening) => {
        if (listening === false) return reject(new Error(`port ${port} is taken`));
        this.#listening = listening;
        resolve(us_socket_local_port(listening));
      });
    });
  }

  close(): void {
    if (this.#listening !== null) us_listen_socket_close(this.#listening);
    this.#listening = null;
    this.app.close();
  }

  #receive(response: HttpResponse, request: HttpRequest): void {
    const address = Buffer.from(response.getRemoteAddressAsText()).toString();
    const asked = {
      method: request.getMethod().toUpperCase(),
      path: request.getUrl(),
      query: new URLSearchParams(request.getQuery()),
      headers: signingHeaders((name) => request.getHeader(name)),
    };
    let isGone = false;
    const send = (reply: Reply): void => {
      if (!isGone) write(response, reply);
      isGone = true;
    };
    response.onAborted(() => {
      isGone = true;
    });
    if (!this.#isWithin(address)) return send({ status: 429, body: { error: 'Too Many Requests' } });
    if (this.#underWay >= MAX_UNDER_WAY) return send({ status: 503, body: { error: 'Service Unavailable' } });
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (isGone) return;
      if (bytes > MAX_BODY_BYTES) return send({ status: 413, body: { error: 'Payload Too Large' } });
      // The memory of a chunk is used again after this call.
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (!isLast) return;
      this.#underWay++;
      void this.#reply({ ...asked, body: Buffer.concat(chunks).toString() })
        .then(send)
        .finally(() => this.#underWay--);
    });
  }

  async #reply(asked: Asked): Promise<Reply> {
    try {
      const faulty = this.#options.fault(asked);
      if (faulty !== null) return faulty;
      const found = this.#find(asked);
      if (found === null) throw new Refusal(404, 'not found');
      if (!METHODS.includes(asked.method)) throw new Refusal(405, 'method not allowed');
      return { status: 200, body: await found.route.answer(asked, found.segment) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) this.#options.onError(error);
      const { status, message, more } = refusal ?? new Refusal(500, 'Internal Server Error');
      return { status, body: { error: message, ...more } };
    }
  }

  #find({ method, path }: Asked): Found | null {
    for (const route of this.#options.routes) {
      if (route.method !== method) continue;
      if (route.path === path) return { route, segment: '' };
      const at = route.path.indexOf(':');
      if (at < 0 || !path.startsWith(route.path.slice(0, at))) continue;
      const segment = path.slice(at);
      if (segment !== '' && !segment.includes('/')) return { route, segment };
    }
    return null;
  }

  /** POLYSERVER-1 */
  #isWithin(address: string): boolean {
    const second = Math.floor(this.#options.clock.nowMs() / 1000);
    if (second !== this.#second || this.#counts.size >= MAX_ADDRESSES) this.#counts = new Map();
    this.#second = second;
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    return count <= this.#options.requestsPerSecond;
  }
}

/** A refusal of the exchange is one here; null for an error of this program. */
export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (error instanceof RangeError) return new Refusal(400, error.message);
  if (isRefusal(error)) return new Refusal(error.status, `${error.code}: ${error.message}`);
  if (error instanceof ApiError || isUnanswered(error)) return new Refusal(503, 'Service Unavailable: the exchange');
  return null;
}

function write(response: HttpResponse, { status, body }: Reply): void {
  response.cork(() => {
    response.writeStatus(String(status)).writeHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
}
