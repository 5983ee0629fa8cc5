/** The client's connection on a clock of the test: when it asks, and when it gives the server up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIMES, StreamConnection, type StreamSocket } from '../../../../shared/client/stream/connection.ts';

test('a silent server is pinged after half of the time after which the connection is abandoned', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let nowMs = 1000;
  t.mock.method(performance, 'now', () => nowMs);
  const sent: string[] = [];
  const lost: string[] = [];
  const socket: StreamSocket = {
    send: (text) => sent.push(text),
    close: () => {},
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
  };
  const connection = new StreamConnection(
    {
      url: 'ws://x',
      openSocket: () => socket,
      headers: () => undefined,
      permanentError: async () => null,
      times: DEFAULT_TIMES,
      random: () => 0,
    },
    { opened: () => {}, received: () => {}, lost: (reason) => lost.push(reason), failed: () => {} },
  );
  t.after(() => connection.close());
  const pass = (ms: number): void => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
  connection.start();
  socket.onopen!(undefined as never);
  const quarterMs = DEFAULT_TIMES.silentAfterMs / 4;
  pass(quarterMs);
  assert.deepEqual(sent, []);
  pass(quarterMs);
  assert.deepEqual(sent, ['{"channel":"ping"}']);
  socket.onmessage!({ data: '{"channel":"pong","data":{"time":1}}' } as never);
  pass(quarterMs);
  assert.equal(sent.length, 1, 'a frame of the server starts the time again');
  for (let quarter = 0; quarter < 3; quarter++) pass(quarterMs);
  assert.deepEqual(lost, ['silent']);
});
