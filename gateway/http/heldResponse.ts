/**
 * A response that is never answered, for its `cork`. A call that waits before it becomes a socket cannot be upgraded in
 * its own `cork`: uWebSockets.js takes the socket for a response afterwards, where the memory of the response was large
 * enough for the socket, and may close it. In no `cork` at all it prints a warning for each. In the `cork` of another
 * response it does neither, so the thread has one: that of a request which it has sent to itself.
 * Owner: the front thread.
 *
 * Invariant:
 *   HELD-1  Only the request of this thread, which has a secret path, is held; the port is closed once it has come.
 */

import '../../shared/base/headerBytes.ts';
import { App, type HttpResponse, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js';
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const HOST = '127.0.0.1';

export class HeldResponse {
  readonly #app = App();
  #client: Socket | null = null;
  #response: HttpResponse | null = null;

  open(): Promise<void> {
    const path = `/${randomBytes(32).toString('hex')}`;
    return new Promise((resolve, reject) => {
      this.#app.listen(HOST, 0, (listening) => {
        if (listening === false) {
          reject(new Error(`a front thread cannot listen on ${HOST}`));
          return;
        }
        // HELD-1.
        this.#app.any('/*', (response, request) => {
          response.onAborted(() => {
            if (this.#response === response) this.#response = null;
          });
          if (request.getUrl() !== path) {
            response.close();
            return;
          }
          this.#response = response;
          us_listen_socket_close(listening);
          resolve();
        });
        const port = us_socket_local_port(listening);
        this.#client = connect(port, HOST, () => this.#client!.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`));
        this.#client.once('error', reject);
      });
    });
  }

  cork(write: () => void): void {
    if (this.#response === null) write();
    else this.#response.cork(write);
  }

  close(): void {
    this.#client?.destroy();
    this.#app.close();
  }
}
