/**
 * Answers at ADMIN_PORT while a member waits for the log, or for a copy of the files; the exchange itself listens once
 * the files are there. So probes and alerts see that the member waits and why, and that it has not ended.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   JOININGDOOR-1  This door closes before the exchange listens at the same address.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Config } from '../base/config.ts';
import { readinessMetrics } from '../operator/platformRoutes.ts';

const COMPARING = 'this member compares its files with the log';
const JSON_TYPE = 'application/json';

export class JoiningDoor {
  /** The last line of the member about the log or a copy. */
  said = '';
  readonly #server: Server;

  /** If it cannot listen, it stays closed: the exchange reports why, once it listens there itself. */
  static async open({ host, port, tls }: NonNullable<Config['adminDoor']>): Promise<JoiningDoor> {
    const door = new JoiningDoor(tls);
    const isOver = Promise.race([once(door.#server, 'listening'), once(door.#server, 'error')]);
    door.#server.listen({ host, port, exclusive: true });
    await isOver.catch(() => {});
    return door;
  }

  private constructor(tls: Config['tls']) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => this.#answer(request, response);
    this.#server =
      tls === null
        ? createServer(answer)
        : createTlsServer({ key: readFileSync(tls.keyFile), cert: readFileSync(tls.certFile) }, answer);
  }

  /** JOININGDOOR-1. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer({ method, url = '' }: IncomingMessage, response: ServerResponse): void {
    const reason = this.said === '' ? COMPARING : `${COMPARING}: ${this.said}`;
    const readiness = { status: 'starting', reason } as const;
    const path = method === 'GET' ? url.split('?', 1)[0] : '';
    // A client's next connection has to reach the exchange itself, so each connection is closed after its answer.
    const send = (status: number, type: string, text: string): void => {
      const later = status === 503 ? { 'retry-after': '1' } : {};
      response.writeHead(status, { 'content-type': type, connection: 'close', ...later }).end(text);
    };
    if (path === '/health') send(200, JSON_TYPE, '{"status":"ok"}');
    else if (path === '/ready') send(503, JSON_TYPE, JSON.stringify(readiness));
    else if (path === '/ready/metrics') send(200, 'text/plain; version=0.0.4', readinessMetrics(readiness));
    else {
      const { code, message, status } = ERRORS.ENGINE_BUSY;
      send(status, JSON_TYPE, JSON.stringify({ error: `${message}: ${reason}`, code }));
    }
  }
}
