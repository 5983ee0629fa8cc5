/**
 * Process entry of the peer that the gateway bench compares with: uWebSockets.js alone. It answers a POST once the body
 * has arrived, a DELETE at once, and a GET of `/bytes/<n>` with n bytes. Its parent receives the port.
 */
import { App, us_socket_local_port } from 'uWebSockets.js';
import { assert } from '../shared/base/assert.ts';

const POST_ANSWER = 'x'.repeat(150);
const BYTES_PATH = '/bytes/';
const HOST = '127.0.0.1';

const bodies = new Map<string, string>();

function bodyOf(path: string): string {
  let body = bodies.get(path);
  if (body === undefined) {
    body = 'x'.repeat(Number(path.slice(BYTES_PATH.length)));
    bodies.set(path, body);
  }
  return body;
}

App()
  .get(`${BYTES_PATH}*`, (response, request) => {
    response.end(bodyOf(request.getUrl()));
  })
  .post('/*', (response) => {
    response.onAborted(() => {});
    response.onData((_chunk, isLast) => {
      if (isLast) response.cork(() => response.end(POST_ANSWER));
    });
  })
  .del('/*', (response) => void response.end(POST_ANSWER))
  .listen(HOST, 0, (socket) => {
    assert(socket !== false, 'bare server: some port is free');
    process.send?.(us_socket_local_port(socket));
  });
process.once('disconnect', () => process.exit(0));
