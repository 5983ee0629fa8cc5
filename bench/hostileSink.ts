/**
 * Process entry of the hostile bench: bare uWebSockets.js, which answers every request with the number of bytes that
 * the request asks for. Its parent receives the port.
 */
import { App, us_socket_local_port } from 'uWebSockets.js';
import { assert } from '../shared/base/assert.ts';
import { ANSWER_BYTES_HEADER } from './hostileTrace.ts';

const HOST = '127.0.0.1';
const LONGEST_BYTES = 16 * 1024 * 1024;
const filling = Buffer.alloc(LONGEST_BYTES, ' ');

function bytes(count: number): Buffer {
  return filling.subarray(0, Math.min(count, LONGEST_BYTES));
}

App()
  .ws('/*', {
    maxBackpressure: LONGEST_BYTES,
    // A message contains the number of requested frames, and of their bytes together.
    message: (socket, message) => {
      const [frames, total] = Buffer.from(message).toString().split(' ').map(Number);
      for (let frame = 0; frame < frames; frame++) socket.send(bytes(Math.round(total / frames)), false);
    },
  })
  .any('/*', (response, request) => {
    const answer = bytes(Number(request.getHeader(ANSWER_BYTES_HEADER)));
    response.onAborted(() => {});
    response.onData((_chunk, isLast) => {
      if (isLast) response.cork(() => response.end(answer));
    });
  })
  .listen(HOST, 0, (socket) => {
    assert(socket !== false, 'hostile sink: some port is free');
    process.send?.(us_socket_local_port(socket));
  });
process.once('disconnect', () => process.exit(0));
