/** The client's connection on a clock of the test: when it asks, and when it gives the server up. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DEFAULT_TIMES, StreamConnection, type StreamSocket } from '../../../../shared/client/stream/connection.ts';

test('a silent server is pinged after half of the time after which the connection is abandoned', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let nowMs = 1000;
  t.mock.method(performance, 'now', () => nowMs);
  const sent: string[] = [];
  const lost: string[] = [];
  const socket: StreamSocket = {
    send: (message) => sent.push(String(message)),
    close: () => {},
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
  };
  const connection = new StreamConnection(
    {
      url: () => 'ws://x',
      openSocket: () => socket,
      headers: () => undefined,
      ticket: null,
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

/** A connection over sockets that the test opens and loses, on a clock of the test. */
function rig(t: TestContext, { random = 0, permanent = null as Error | null } = {}) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const clock = { nowMs: 1000 };
  t.mock.method(performance, 'now', () => clock.nowMs);
  const sockets: StreamSocket[] = [];
  const sent: string[] = [];
  const told: string[] = [];
  const closed: (number | undefined)[] = [];
  const connection = new StreamConnection(
    {
      url: () => 'ws://x',
      openSocket: (url, headers) => {
        told.push(`connect ${url} ${headers?.['nonce']}`);
        const socket: StreamSocket = {
          send: (message) => sent.push(String(message)),
          close: (code) => closed.push(code),
          onopen: null,
          onmessage: null,
          onclose: null,
          onerror: null,
        };
        sockets.push(socket);
        return socket;
      },
      headers: () => ({ nonce: String(sockets.length) }),
      ticket: null,
      permanentError: async () => permanent,
      times: { silentAfterMs: 12_000, firstRetryMs: 250, mostRetryMs: 1500 },
      random: () => random,
    },
    {
      opened: () => told.push('opened'),
      received: (frame) => told.push(frame.channel),
      lost: (reason) => told.push(`lost: ${reason}`),
      failed: (error) => told.push(`failed: ${error.message}`),
    },
  );
  t.after(() => connection.close());
  const pass = (ms: number): void => {
    clock.nowMs += ms;
    t.mock.timers.tick(ms);
  };
  /** The time until the next socket. */
  const untilNext = async (): Promise<number> => {
    const before = sockets.length;
    for (let ms = 0; ms < 20_000; ms += 125) {
      await Promise.resolve();
      if (sockets.length > before) return ms;
      pass(125);
    }
    return Number.POSITIVE_INFINITY;
  };
  return { connection, sockets, sent, told, closed, pass, untilNext };
}

test('the delay doubles with each attempt, and is the shortest again once the connection works', async (t) => {
  const { connection, sockets, untilNext } = rig(t);
  connection.start();
  connection.start();
  assert.equal(sockets.length, 1);
  const delays: number[] = [];
  const lose = () => sockets.at(-1)!.onclose!({ code: 1006 } as never);
  for (let attempt = 0; attempt < 5; attempt++) {
    lose();
    delays.push(await untilNext());
  }
  // The random half is 0 here.
  assert.deepEqual(delays, [125, 250, 500, 750, 750]);
  sockets.at(-1)!.onopen!(undefined as never);
  lose();
  assert.equal(await untilNext(), 750, 'an open socket alone shows nothing');
  connection.settled();
  lose();
  assert.equal(await untilNext(), 125);
});

test('half of the delay is random', async (t) => {
  const { connection, sockets, untilNext } = rig(t, { random: 1 });
  connection.start();
  sockets[0].onerror!({} as never);
  assert.equal(await untilNext(), 250);
});

test('a lost socket is reported once with its reason, and its later events are ignored', async (t) => {
  const { connection, sockets, told, closed, untilNext } = rig(t);
  connection.start();
  const [first] = sockets;
  first.onopen!(undefined as never);
  assert.equal(connection.isOpen, true);
  first.onmessage!({ data: '{"channel":"pong"}' } as never);
  first.onclose!({ code: 1006, reason: 'gone' } as never);
  assert.deepEqual([first.onopen, first.onmessage, first.onclose], [null, null, null]);
  first.onerror!({ message: 'later' } as never);
  assert.equal(connection.isOpen, false);
  assert.deepEqual(told, ['connect ws://x 0', 'opened', 'pong', 'lost: closed with 1006 (gone)']);
  assert.deepEqual(closed, [1000]);
  await untilNext();
  const second = sockets[1];
  second.onopen!(undefined as never);
  second.onmessage!({ data: '{' } as never);
  assert.deepEqual(told.slice(4), ['connect ws://x 1', 'opened', 'lost: a frame is not JSON']);
  await untilNext();
  sockets[2].onclose!({} as never);
  assert.deepEqual(told.slice(7), ['connect ws://x 2'], 'one that was never open is not lost');
});

test('a frame that is none of the exchange is a lost connection, and no error of the program', async (t) => {
  const { connection, sockets, told, untilNext } = rig(t);
  connection.start();
  sockets[0].onopen!(undefined as never);
  sockets[0].onmessage!({ data: 'null' } as never);
  assert.match(told.at(-1)!, /^lost: a frame is none of the exchange: /);
  assert.equal(await untilNext(), 125);
  assert.equal(told.at(-1), 'connect ws://x 1');
});

test('what cannot be healed ends the attempts', async (t) => {
  const { connection, sockets, told, untilNext } = rig(t, { permanent: new Error('revoked') });
  connection.start();
  sockets[0].onclose!({ code: 1006 } as never);
  assert.equal(await untilNext(), Number.POSITIVE_INFINITY);
  assert.deepEqual(told, ['connect ws://x 0', 'failed: revoked']);
  connection.start();
  connection.fail(new Error('again'));
  assert.equal(told.length, 2);
});

test('a closed connection does not come back', async (t) => {
  const { connection, sockets, told, untilNext } = rig(t);
  connection.start();
  sockets[0].onopen!(undefined as never);
  sockets[0].onclose!({ code: 1001 } as never);
  connection.close();
  assert.equal(await untilNext(), Number.POSITIVE_INFINITY);
  assert.deepEqual(told, ['connect ws://x 0', 'opened', 'lost: closed with 1001']);
});

test('a connection closed while it asks whether a retry can help leaves no timer behind', async (t) => {
  const { connection, sockets } = rig(t);
  connection.start();
  const timers = t.mock.method(globalThis, 'setTimeout').mock;
  sockets[0].onclose!({ code: 1006 } as never);
  connection.close();
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  assert.equal(timers.callCount(), 0);
});

test('fifteen messages a second are sent and the others wait, in order; a loss drops them', async (t) => {
  const { connection, sockets, sent, pass, untilNext } = rig(t);
  connection.send({ n: -1 });
  connection.start();
  connection.send({ n: -2 });
  sockets[0].onopen!(undefined as never);
  for (let n = 0; n < 32; n++) connection.send({ n });
  assert.equal(sent.length, 15);
  pass(999);
  assert.equal(sent.length, 15);
  pass(2);
  assert.equal(sent.length, 30);
  assert.deepEqual(
    sent,
    sent.map((_, n) => `{"n":${n}}`),
  );
  sockets[0].onclose!({ code: 1006 } as never);
  await untilNext();
  sockets[1].onopen!(undefined as never);
  pass(2000);
  assert.equal(sent.length, 30, 'what waited for the old connection');
});
