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

test('a socket is open once the head of the answer is whole, in whatever pieces that comes', async (t) => {
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
      socket.receiver = { onAnswer: (...answered) => resolve(answered), onRead: () => {} };
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
