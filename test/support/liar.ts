/** A server that answers like another one, except for one kind of answer, which it falsifies. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AdminClient } from '../../shared/client/admin.ts';
import { type Answer, type Json, type Scope, TestServer } from './server.ts';
import { StreamProxy } from './streamProxy.ts';

type Changed = { readonly status?: number; readonly body: Json; readonly headers?: Record<string, string> };
/** `key`: its Idempotency-Key. */
type Asked = { readonly method: string; readonly path: string; readonly key: string | undefined };
/** Returns null to leave an answer unchanged. */
export type Lie = (asked: Asked, answer: { status: number; body: Json }) => Changed | null;

const HOP = /^(host|connection|content-length|transfer-encoding|accept-encoding)$/;

export class Liar extends TestServer {
  /** The number of answers that were made wrong. */
  lies = 0;
  lie: Lie = () => null;
  readonly #server: TestServer;
  readonly #streams: StreamProxy;
  readonly #http = createServer((request, response) => {
    void this.#answer(request).then(({ status, body, headers = {} }) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    });
  });

  /** Decides about the frames of streams: returns the text of a frame, or null to drop it. */
  frameLie: (text: string) => string | null = (text) => text;

  static async start(scope: Scope, server: TestServer): Promise<Liar> {
    const streams = await StreamProxy.start(scope, () => server.baseUrl);
    const liar = new Liar(server, streams);
    streams.fate = (text) => {
      const told = liar.frameLie(text);
      if (told !== text) liar.lies++;
      return told;
    };
    liar.#http.listen(0, '127.0.0.1');
    await once(liar.#http, 'listening');
    scope.after(() => {
      liar.#http.closeAllConnections();
      liar.#http.close();
    });
    return liar;
  }

  private constructor(server: TestServer, streams: StreamProxy) {
    super(server.dataDir);
    this.#server = server;
    this.#streams = streams;
  }

  override get streamUrl(): string {
    return this.#streams.baseUrl;
  }

  override get baseUrl(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  override get admin(): AdminClient {
    return this.#server.admin;
  }

  override async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const all = { ...headers, 'content-type': 'application/json' };
    const response = await fetch(this.baseUrl + path, { method, headers: all, body: text ?? null });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  async #answer(request: IncomingMessage): Promise<Changed & { readonly status: number }> {
    const { method = 'GET', url: path = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = Object.entries(request.headers).filter(([name]) => !HOP.test(name)) as [string, string][];
    const body = chunks.length === 0 ? null : Buffer.concat(chunks);
    const response = await fetch(this.#server.baseUrl + path, { method, headers, body });
    const text = await response.text();
    const honest = { status: response.status, body: text === '' ? null : JSON.parse(text) };
    const changed = this.lie({ method, path, key: request.headers['idempotency-key'] as string | undefined }, honest);
    if (changed === null) return honest;
    this.lies++;
    return { ...honest, ...changed };
  }
}
