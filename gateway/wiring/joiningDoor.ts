/**
 * Answers at ADMIN_PORT while a member waits for the log, or for a copy of the files: the exchange itself listens once
 * the files are there. Probes and alerts then see that a member waits and has not ended, and why it waits.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   JOININGDOOR-1  It has closed before the exchange listens at the same place.
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
  /** The last line that the member said of the log, or of a copy. */
  said = '';
  readonly #server: Server;

  /** One that cannot listen stays closed: the exchange says why, once it comes to it. */
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
    // Each connection is one of the exchange's own next time.
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
