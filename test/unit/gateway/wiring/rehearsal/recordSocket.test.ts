/** The client of the binary order entry, against a server of the test's own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { RecordSocket, upgradeRequest } from '../../../../../gateway/wiring/rehearsal/recordSocket.ts';
import { ENTRY_ANSWER } from '../../../../../shared/wire/entry.ts';

const HEAD = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
const { PLACED } = ENTRY_ANSWER;

/** Answers each connection as `serve` does. @returns its URL. */
async function startServer(t: TestContext, serve: (socket: Socket) => unknown): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => serve(socket));
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The frame with the answer to one record. */
function answerFrame(requestId: number, status: number): Buffer {
  const frame = Buffer.alloc(2 + PLACED.BYTES);
  frame.set([0x82, PLACED.BYTES]);
  frame.writeUInt32LE(requestId, 2 + PLACED.requestId * 4);
  frame.writeUInt32LE(status, 2 + PLACED.status * 4);
  frame.writeUInt32LE(PLACED.BYTES, 2 + PLACED.length * 4);
  return frame;
}

test('a socket is open once the head of the answer is complete, in any number of pieces', async (t) => {
  const byByte = Array.from(HEAD);
  for (const pieces of [[HEAD], [HEAD.slice(0, 30), HEAD.slice(30)], [HEAD.slice(0, -1), '\n'], byByte]) {
    let isWhole = false;
    const baseUrl = await startServer(t, async (socket) => {
      socket.once('data', () => socket.write(answerFrame(7, 200)));
      // Each piece is read by itself, as the other end is in this process and reads in each turn of the loop.
      for (const [index, piece] of pieces.entries()) {
        isWhole = index === pieces.length - 1;
        socket.write(piece);
        for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const socket = await RecordSocket.open(baseUrl, upgradeRequest({}));
    assert.ok(isWhole, `${pieces.length} pieces: open before the head was there`);
    const answer = new Promise((resolve) => {
      socket.receiver = { onAnswer: (...answered) => resolve(answered), onRead: () => {}, onClosed: () => {} };
    });
    socket.write([Buffer.from('a record')]);
    assert.deepEqual(await answer, [7, 200]);
    socket.close();
  }
});

test('a socket that is refused, or closed before its head is whole, is not open', async (t) => {
  const refusing = await startServer(t, (socket) =>
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
  );
  await assert.rejects(RecordSocket.open(refusing, upgradeRequest({})), /it is open/);
  const closing = await startServer(t, (socket) => socket.end(HEAD.slice(0, 20)));
  await assert.rejects(RecordSocket.open(closing, upgradeRequest({})), /closed after "HTTP\/1.1 101 Switchi"/);
});

/** Opens a socket whose server sends `frame` after the first record, and an answer when it has got `expected`. */
async function openSocket(t: TestContext, frame: Buffer, expected?: Buffer): Promise<RecordSocket> {
  const baseUrl = await startServer(t, (socket) => {
    socket.once('data', () => {
      socket.once('data', (bytes) => {
        assert.deepEqual(bytes, expected);
        socket.write(answerFrame(1, 200));
      });
      socket.write(frame);
    });
    socket.write(HEAD);
  });
  return RecordSocket.open(baseUrl, upgradeRequest({}));
}

test('a ping is answered with its own bytes, masked, and the answers go on', async (t) => {
  for (const payload of ['', 'are you there']) {
    const { length } = payload;
    const pong = Buffer.concat([Buffer.of(0x8a, 0x80 | length, 0, 0, 0, 0), Buffer.from(payload)]);
    const socket = await openSocket(t, Buffer.concat([Buffer.of(0x89, length), Buffer.from(payload)]), pong);
    await socket.exchange([Buffer.from('a record')]);
    socket.close();
  }
});

test('10.25: a server that goes away, or sends what is no answer, ends the socket and nothing else', async (t) => {
  const goingAway = Buffer.concat([Buffer.of(0x88, 4, 0x03, 0xe9), Buffer.from('it')]);
  const long = Buffer.concat([Buffer.of(0x82, 127), Buffer.alloc(200)]);
  for (const frame of [goingAway, Buffer.of(0x81, 1, 0x7b), long]) {
    const socket = await openSocket(t, frame);
    await assert.rejects(socket.exchange([Buffer.from('a record')]), /it was closed/);
    await assert.rejects(socket.exchange([Buffer.from('another')]), /it was closed/);
  }
  const resetting = await startServer(t, (socket) => {
    socket.write(HEAD);
    socket.once('data', () => socket.resetAndDestroy());
  });
  const socket = await RecordSocket.open(resetting, upgradeRequest({}));
  await assert.rejects(socket.exchange([Buffer.from('a record')]), /it was closed/);
});
