/** The sandbox provider's HTTP server: reads bounded requests and sends whole answers. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { notePage } from './pages.ts';
import { type Asked, htmlReply, type Reply } from './reply.ts';

const MAX_BODY_BYTES = 16 * 1024;
const REQUEST_MS = 10_000;
const STYLE = ['tokens', 'base', 'components']
  .map((name) => `../../web/browser/${name}.css`)
  .concat('style.css')
  .map((path) => readFileSync(new URL(path, import.meta.url), 'utf8'))
  .join('');
/** Files by path. Browsers request an icon on their own. */
const FILES: Readonly<Record<string, Reply | undefined>> = {
  '/style.css': { status: 200, headers: { 'content-type': 'text/css; charset=utf-8' }, body: STYLE },
  '/favicon.ico': { status: 204, headers: {}, body: '' },
};

type RampServerOptions = {
  /** @returns null if the answer never comes. */
  readonly answer: (asked: Asked) => Promise<Reply | null>;
  /** Origins to which forms may redirect. */
  readonly returnOrigins: readonly string[];
  readonly onError: (error: unknown) => void;
};

export class RampServer {
  readonly #options: RampServerOptions;
  readonly #server: Server;

  constructor(options: RampServerOptions) {
    this.#options = options;
    const limits = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: 16 * 1024 };
    this.#server = createServer(limits, (request, response) => {
      this.#serve(request, response).catch((error) => {
        options.onError(error);
        response.destroy();
      });
    });
  }

  /** @returns the port; 0 lets the system choose. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (body === null) return this.#send(response, htmlReply(413, notePage('Too long', 'It cannot be read.')));
    const target = `http://ramp${request.url}`;
    if (!URL.canParse(target))
      return this.#send(response, htmlReply(400, notePage('No address', 'It cannot be read.')));
    const url = new URL(target);
    const asked = { method: request.method ?? 'GET', path: url.pathname, query: url.searchParams };
    const file = FILES[asked.path];
    const reply = file ?? (await this.#options.answer({ ...asked, headers: request.headers, body }));
    if (reply !== null) this.#send(response, reply);
  }

  #send(response: ServerResponse, { status, headers, body }: Reply): void {
    const forms = ["'self'", ...this.#options.returnOrigins].join(' ');
    const none = "base-uri 'none'; frame-ancestors 'none'";
    const policy = `default-src 'none'; style-src 'self'; form-action ${forms}; ${none}`;
    response.writeHead(status, {
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      ...headers,
    });
    response.end(body);
  }
}

/** @returns null if the body is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
