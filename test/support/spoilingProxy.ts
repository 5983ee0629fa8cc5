/** A proxy before an exchange: it passes requests on, and some answers arrive as something else, or not whole. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from './server.ts';

/** The answer that arrives in place of the exchange's; `cutAfter` ends the exchange's own body so early. */
export type Spoiled = { readonly status: number; readonly body: string } | { readonly cutAfter: number };
type Passed = { readonly method: string; readonly path: string; readonly key: string | undefined };

export class SpoilingProxy {
  /** Requests that the exchange has carried out. */
  readonly passed: Passed[] = [];
  /** Null: the answer arrives as it is. */
  spoil: (passed: Passed) => Spoiled | null = () => null;
  readonly #target: URL;
  readonly #server: Server;

  static async start(scope: Scope, target: string): Promise<SpoilingProxy> {
    const proxy = new SpoilingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    scope.after(() => {
      proxy.#server.closeAllConnections();
      proxy.#server.close();
    });
    return proxy;
  }

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = '', url: path = '', headers } = incoming;
    const { hostname, port } = this.#target;
    const upstream = request({ hostname, port, method, path, headers, agent: false }, async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      const passed = { method, path, key: headers['idempotency-key'] as string | undefined };
      this.passed.push(passed);
      const spoiled = this.spoil(passed);
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...kept } = answer.headers;
      if (spoiled === null) {
        outgoing.writeHead(answer.statusCode!, { ...kept, 'content-length': body.length }).end(body);
      } else if ('cutAfter' in spoiled) {
        const cut = body.subarray(0, spoiled.cutAfter);
        outgoing.writeHead(answer.statusCode!, { ...kept, 'content-length': cut.length }).end(cut);
      } else {
        outgoing.writeHead(spoiled.status, { 'content-type': 'text/html' }).end(spoiled.body);
      }
    });
    upstream.on('error', () => outgoing.destroy());
    incoming.pipe(upstream);
  }
}
