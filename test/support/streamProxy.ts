/**
 * A line between a client of the stream and its server that can be cut, fall silent, lose frames and change them, and
 * whose address stays the same when the server's does not. Other traffic is passed on unchanged.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import WebSocket, { WebSocketServer } from 'ws';
import type { Scope } from './server.ts';

/** Decides about a frame: its text as it arrives, or null when it is lost. */
type Fate = (text: string) => string | null;

const AUTH_HEADERS = /^x-svc-/;

export class StreamProxy {
  /** Upgrades that were passed on. */
  connections = 0;
  fate: Fate = (text) => text;
  /** New connections are refused. */
  isHeld = false;
  #target: () => string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });

  /** `target` is asked at every connection for the server's base address. */
  static async start(scope: Scope, target: () => string): Promise<StreamProxy> {
    const proxy = new StreamProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    scope.after(() => {
      proxy.cut();
      proxy.#server.closeAllConnections();
      proxy.#server.close();
    });
    return proxy;
  }

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      const headers = passedOn(request.headers);
      fetch(this.#target() + request.url, { method: request.method ?? 'GET', headers }).then(
        async (answer) => {
          response.writeHead(answer.status, { 'content-type': 'application/json' });
          response.end(await answer.text());
        },
        () => response.writeHead(502).end('{}'),
      );
    });
    this.#server.on('upgrade', (request, socket, head) => {
      if (this.isHeld) {
        socket.destroy();
        return;
      }
      const upstream = new WebSocket(`${this.#target().replace('http', 'ws')}${request.url}`, {
        headers: passedOn(request.headers),
        perMessageDeflate: false,
      });
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.terminate());
      upstream.once('open', () => {
        this.connections++;
        this.#sockets.handleUpgrade(request, socket, head, (client) => this.#join(client, upstream));
      });
    });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every line at once, without a word. */
  cut(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  #join(client: WebSocket, upstream: WebSocket): void {
    client.on('message', (data) => upstream.readyState === WebSocket.OPEN && upstream.send(String(data)));
    upstream.on('message', (data) => {
      const text = this.fate(String(data));
      if (text !== null) client.send(text);
    });
    client.on('close', () => upstream.terminate());
    upstream.on('close', () => client.terminate());
    client.on('error', () => upstream.terminate());
  }
}

function passedOn(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (AUTH_HEADERS.test(name) ? [[name, String(value)]] : [])),
  );
}
