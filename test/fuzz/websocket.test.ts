/**
 * Hostile bytes on a connection of the stream: frames of any opcode, length and mask, whole, cut and run together.
 * Whatever comes, the server answers with frames of the protocol or closes, no thread dies, and others go on trading
 * and listening.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fuzz/websocket.test.ts
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { fileScope } from '../support/fileScope.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const RUNS = timesOf({ suite: 100, soak: 3000 });
const SEED = seedOr(20_261_121);
const UPGRADE =
  'GET /v1/ws HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const HEAD_END = '\r\n\r\n';
/** The frames that may follow the upgrade: text of the protocol, its pings and pongs, a close. */
const SERVER_OPCODES = new Set([0x1, 0x8, 0x9, 0xa]);
/** A frame that ends the conversation, so that a run is over when the server has read everything. */
const CLOSE = frame(0x88, Buffer.from([0x03, 0xe8]), true);

const server = await startServer(fileScope, { SHARDS: '1', NEW_CONNECTIONS_PER_IP: '1000000' });
const port = Number(new URL(server.baseUrl).port);
const market = await makeMarket(server);
const trader = await makeTrader(server);

test(`no bytes on the stream do more than close their own connection (SEED=${SEED})`, async () => {
  const property = fc.asyncProperty(conversation(), async (bytes) => {
    for (const { opcode, payload } of framesIn(await talk(bytes))) {
      assert.ok(SERVER_OPCODES.has(opcode), `opcode ${opcode}`);
      if (opcode === 0x1) assert.match(JSON.parse(payload.toString('utf8')).channel, /^[a-z_]+$/);
    }
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
  assert.equal((await server.request('GET', '/ready')).status, 200, 'every thread is there');
  const [book] = framesIn(
    await talk(
      Buffer.concat([
        frame(0x81, Buffer.from(JSON.stringify({ channel: 'subscribe', data: { markets: [market.id] } })), true),
        CLOSE,
      ]),
    ),
  );
  assert.equal(JSON.parse(book!.payload.toString('utf8')).channel, 'subscribed');
  const order = await trader.place(market, { side: 'BUY', price: '0.50', size: '2' });
  assert.equal(order.status, 'open', 'an honest order goes through');
});

/** Good and bad frames, with noise between them, after a good upgrade. */
function conversation(): fc.Arbitrary<Buffer> {
  const texts = fc.oneof(
    fc.constantFrom('{"channel":"ping"}', '{"channel":"subscribe","data":{"markets":[]}}', '{', '[]', 'null', ''),
    fc.json({ maxDepth: 3 }),
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.integer({ min: 16_000, max: 70_000 }).map((length) => 'x'.repeat(length)),
  );
  const payload = fc.oneof(
    texts.map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
  const anyFrame = fc
    .tuple(
      fc.oneof(fc.constantFrom(0x81, 0x82, 0x01, 0x80, 0x00, 0x88, 0x89, 0x8a), fc.nat(255)),
      payload,
      fc.boolean(),
    )
    .map(([head, bytes, isMasked]) => frame(head, bytes, isMasked));
  const lyingLength = fc.constantFrom(
    Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    Buffer.from([0x81, 0xfe, 0, 1, 0, 0, 0, 0, 0x61]),
    Buffer.from([0x88, 0xff]),
  );
  const noise = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
  return fc
    .array(fc.oneof({ weight: 6, arbitrary: anyFrame }, lyingLength, noise), { minLength: 1, maxLength: 6 })
    .map((parts) => Buffer.concat([...parts, CLOSE]));
}

/** Everything the server sends after the upgrade, until it closes. */
function talk(bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const chunks: Buffer[] = [];
    socket.on('error', () => {});
    socket.on('close', () => {
      const all = Buffer.concat(chunks);
      const head = all.indexOf(HEAD_END);
      assert.ok(all.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101')), 'the upgrade is taken');
      resolve(all.subarray(head + HEAD_END.length));
    });
    socket.on('data', (chunk) => {
      const isFirst = chunks.length === 0;
      chunks.push(chunk);
      // Half of a frame may be the last of it: then the test waits for the client's own end.
      if (isFirst) socket.end(bytes);
    });
    socket.write(UPGRADE);
  });
}

/** `head` is the first byte: the final bit, three reserved ones and the opcode. */
function frame(head: number, payload: Buffer, isMasked: boolean): Buffer {
  const length = payload.length;
  const size = length < 126 ? Buffer.from([length]) : Buffer.from([126, length >> 8, length & 0xff]);
  if (length > 0xffff) return Buffer.from([head, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (!isMasked) return Buffer.concat([Buffer.from([head]), size, payload]);
  size[0] |= 0x80;
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78]);
  const masked = payload.map((byte, index) => byte ^ mask[index & 3]);
  return Buffer.concat([Buffer.from([head]), size, mask, masked]);
}

/** The server's frames, which are never masked; one cut short by the end is left out. */
function framesIn(bytes: Buffer): { opcode: number; payload: Buffer }[] {
  const frames: { opcode: number; payload: Buffer }[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const short = bytes[at + 1];
    const isLong = short === 126;
    assert.ok(short < 127, 'no answer is larger than 64 KiB here, and none is masked');
    const from = at + (isLong ? 4 : 2);
    const length = isLong ? bytes.readUInt16BE(at + 2) : short;
    if (from + length > bytes.length) break;
    frames.push({ opcode: bytes[at] & 0x0f, payload: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return frames;
}
