/** A server that answers as another one does, but for one kind of answer that it makes wrong. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AdminClient } from '../../shared/client/admin.ts';
import { type Answer, type Json, type Scope, TestServer } from './server.ts';

type Changed = { readonly status?: number; readonly body: Json };
/** Null leaves an answer as it is. */
export type Lie = (asked: { method: string; path: string }, answer: { status: number; body: Json }) => Changed | null;

const HOP = /^(host|connection|content-length|transfer-encoding|accept-encoding)$/;

export class Liar extends TestServer {
  /** The number of answers that were made wrong. */
  lies = 0;
  lie: Lie = () => null;
  readonly #server: TestServer;
  readonly #http = createServer((request, response) => {
    void this.#answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });

  static async start(scope: Scope, server: TestServer): Promise<Liar> {
    const liar = new Liar(server);
    liar.#http.listen(0, '127.0.0.1');
    await once(liar.#http, 'listening');
    scope.after(() => {
      liar.#http.closeAllConnections();
      liar.#http.close();
    });
    return liar;
  }

  private constructor(server: TestServer) {
    super(server.dataDir);
    this.#server = server;
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
    const response = await fetch(this.baseUrl + path, { method, headers: all, body: text });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: Json }> {
    const { method = 'GET', url: path = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = Object.entries(request.headers).filter(([name]) => !HOP.test(name)) as [string, string][];
    const body = chunks.length === 0 ? undefined : Buffer.concat(chunks);
    const response = await fetch(this.#server.baseUrl + path, { method, headers, body });
    const text = await response.text();
    const honest = { status: response.status, body: text === '' ? null : JSON.parse(text) };
    const changed = this.lie({ method, path }, honest);
    if (changed === null) return honest;
    this.lies++;
    return { ...honest, ...changed };
  }
}
