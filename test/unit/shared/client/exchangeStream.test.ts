/** The client's stream over a socket of the test: its messages for each book and for private events (RULES.md 8). */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../../../../shared/client/http.ts';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { ExchangeStream, StreamError } from '../../../../shared/client/stream/exchangeStream.ts';
import { AUTH_HEADER } from '../../../../shared/crypto/hmac.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakeStream } from '../../../support/fakeStream.ts';
import type { Json } from '../../../support/server.ts';

const CREDENTIALS = { keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' };
const SIGNER = new RequestSigner(CREDENTIALS);
const [A, B, C] = ['a', 'b', 'c'].map((letter) => `01900000-0000-7000-8000-00000000000${letter}`);

function bookFrame(market_id: string, sequence: number) {
  const none = { bids: [], asks: [] };
  const data = { outcome_0: none, outcome_1: none, checksum: 0 };
  return { channel: 'book', market_id, sequence, timestamp: 1, data };
}

const subscribes = (sent: Json[]): Json[] => sent.filter(({ channel }) => channel === 'subscribe');

test('books that are opened in one turn are asked for in one message, the checked ones in another', async (t) => {
  const { stream, sockets } = fakeStream(t);
  stream.openBook(A.toUpperCase());
  stream.openBook(B, { verify: 'every' });
  stream.openBook(C);
  assert.equal(sockets.length, 1);
  const [socket] = sockets;
  assert.equal(socket.url, 'ws://exchange.example:8080/v1/ws');
  assert.equal(socket.headers, undefined, 'public channels need no key');
  socket.open();
  await nextTurn();
  assert.deepEqual(socket.take(), [
    { channel: 'subscribe', id: '1', data: { markets: [B], snapshot: true, from_sequence: {}, checksum: true } },
    { channel: 'ping', id: '1' },
    { channel: 'subscribe', id: '2', data: { markets: [A, C], snapshot: true, from_sequence: {}, checksum: false } },
    { channel: 'ping', id: '2' },
  ]);
  socket.receive(bookFrame(A, 7));
  assert.equal(stream.openBook('d').state, 'starting');
  await nextTurn();
  assert.deepEqual(subscribes(socket.take())[0].data.markets, ['d'], 'an open connection is used at once');
});

test('a message asks for 50 markets at most', async (t) => {
  const { stream, sockets } = fakeStream(t);
  for (let market = 0; market < 101; market++) stream.openBook(`m${market}`);
  sockets[0].open();
  await nextTurn();
  assert.deepEqual(
    subscribes(sockets[0].take()).map(({ data }) => data.markets.length),
    [50, 50, 1],
  );
});

test('frames reach the book of their market, and a heartbeat every book', async (t) => {
  const { stream, sockets } = fakeStream(t);
  const [a, b] = [stream.openBook(A), stream.openBook(B)];
  sockets[0].open();
  await nextTurn();
  sockets[0].receive(bookFrame(A, 7));
  sockets[0].receive(bookFrame(C, 9));
  assert.deepEqual([a.sequence, b.sequence], [7, null]);
  sockets[0].receive(bookFrame(B, 3));
  sockets[0].confirm('1');
  sockets[0].receive({ channel: 'heartbeat', data: { time: 1, sequences: { [A]: 7, [B]: 4 } } });
  assert.deepEqual([a.state, b.state], ['live', 'stale']);
  sockets[0].take();
  await nextTurn();
  assert.deepEqual(subscribes(sockets[0].take())[0].data.from_sequence, { [B]: 3 });
});

test('after a loss a book continues behind its last frame; answers of the old connection mean nothing', async (t) => {
  const { stream, sockets } = fakeStream(t);
  const book = stream.openBook(A);
  sockets[0].open();
  await nextTurn();
  sockets[0].receive(bookFrame(A, 7));
  sockets[0].confirm('1');
  assert.equal(book.state, 'live');
  sockets[0].lose();
  assert.equal(book.state, 'stale');
  while (sockets.length === 1) await new Promise((resolve) => setTimeout(resolve, 1));
  sockets[1].open();
  await nextTurn();
  const [{ id, data }] = subscribes(sockets[1].take());
  assert.deepEqual([id, data.from_sequence], ['2', { [A]: 7 }]);
  sockets[1].confirm('1');
  assert.equal(book.state, 'stale');
  sockets[1].confirm('2');
  assert.equal(book.state, 'live');
});

test('one unknown market among several ends its own book only', async (t) => {
  const { stream, sockets } = fakeStream(t);
  const [a, b] = [stream.openBook(A), stream.openBook(B)];
  b.ready().catch(() => {});
  const [socket] = sockets;
  socket.open();
  await nextTurn();
  socket.take();
  const refusal = { code: 'NOT_FOUND', error: 'market not found' };
  socket.receive({ channel: 'error', id: '1', data: refusal });
  const alone = subscribes(socket.take());
  assert.deepEqual(
    alone.map(({ data }) => data.markets),
    [[A], [B]],
  );
  socket.receive({ channel: 'error', id: alone[1].id, data: refusal });
  assert.deepEqual([a.state, b.state], ['starting', 'closed']);
  await assert.rejects(b.ready(), (error) => error instanceof StreamError && error.code === 'NOT_FOUND');
  assert.deepEqual(socket.take().at(-1), { channel: 'unsubscribe', data: { markets: [B] } });
  assert.equal(stream.openBook(B).state, 'starting', 'it may be opened again');
});

test('requests refused for too many messages are repeated when the time has come', async (t) => {
  const { stream, sockets } = fakeStream(t);
  const book = stream.openBook(A);
  const [socket] = sockets;
  socket.open();
  await nextTurn();
  const asked = socket.take().filter(({ channel }) => channel === 'subscribe').length;
  const data = { code: 'RATE_LIMITED', error: 'too many messages', retry_after_ms: 20 };
  socket.receive({ channel: 'error', id: '1', data });
  socket.receive({ channel: 'error', id: '1', data });
  assert.equal(book.state, 'starting');
  const again: unknown[] = [];
  await eventually('the same again', async () => {
    again.push(...socket.take().filter(({ channel }) => channel === 'subscribe'));
    return again.length > 0;
  });
  assert.deepEqual([asked, again.length], [1, 1]);
});

test('a key that is refused ends everything; an error without an id that may pass ends nothing', async (t) => {
  const { stream, sockets } = fakeStream(t, { signer: SIGNER });
  const [book, user] = [stream.openBook(A), stream.openUser()];
  sockets[0].open();
  sockets[0].receive({ channel: 'error', data: { code: 'INTERNAL_ERROR', error: 'later' } });
  assert.equal(book.state, 'starting');
  sockets[0].receive({ channel: 'error', data: { code: 'API_KEY_UNAUTHORIZED', error: 'API key is revoked' } });
  assert.equal(book.state, 'closed');
  await assert.rejects(user.ready(), /API key is revoked/);
  assert.equal(sockets[0].closedWith, 1000);
  assert.throws(() => stream.openBook(B), /the stream is closed/);
});

test('private events are asked for once, signed, from where the client was', async (t) => {
  const { stream, sockets } = fakeStream(t, { signer: SIGNER });
  const user = stream.openUser({ since: 5, cancelOnDisconnect: true });
  assert.throws(() => stream.openUser(), /open already/);
  const [socket] = sockets;
  assert.equal(socket.headers![AUTH_HEADER.API_KEY], CREDENTIALS.keyId);
  assert.equal(socket.headers![AUTH_HEADER.VERSION], '2');
  socket.open();
  const [subscription] = subscribes(socket.take());
  assert.deepEqual(subscription.data, { user: true, user_since: 4, cancel_on_disconnect: true });
  socket.confirm(subscription.id, 4);
  await user.ready();
  assert.equal(user.isLive, true);
  socket.receive({ channel: 'order_status', user_sequence: 6, timestamp: 1, data: { order_id: 'o' } });
  assert.equal(user.userSequence, 6);
  socket.receive({ channel: 'fill', user_sequence: 7, timestamp: 1, data: { order_id: 'o' } });
  assert.equal(user.userSequence, 7);
  socket.receive({ channel: 'heartbeat', data: { time: 1, sequences: {}, user_sequence: 9 } });
  assert.equal(user.isLive, false);
  assert.equal(subscribes(socket.take())[0].data.user_since, 6);
  user.close();
  assert.deepEqual(socket.take().at(-1), { channel: 'unsubscribe', data: { user: true } });
  stream.openUser();
  assert.deepEqual(subscribes(socket.take())[0].data, { user: true, cancel_on_disconnect: false });
});

test('without a signer there are no private events, and a market is opened once', (t) => {
  const { stream } = fakeStream(t);
  assert.throws(() => stream.openUser(), /need a signer/);
  stream.openBook(A);
  assert.throws(() => stream.openBook(A.toUpperCase()), /open already/);
});

test('a closed book is left at the server, and a closed stream closes all that is open', async (t) => {
  const { stream, sockets } = fakeStream(t, { signer: SIGNER });
  const [a, b, user] = [stream.openBook(A), stream.openBook(B), stream.openUser()];
  for (const ready of [a.ready(), b.ready(), user.ready()]) ready.catch(() => {});
  sockets[0].open();
  a.close();
  assert.deepEqual(sockets[0].take().at(-1), { channel: 'unsubscribe', data: { markets: [A] } });
  await nextTurn();
  assert.deepEqual(subscribes(sockets[0].take())[0].data.markets, [B], 'it is not asked for any more');
  stream.close();
  stream.close();
  assert.deepEqual([b.state, sockets[0].closedWith], ['closed', 1000]);
  await assert.rejects(user.ready());
  assert.throws(() => stream.openUser(), /the stream is closed/);
  assert.equal(sockets.length, 1);
});

test('a book that fails again and again is asked for after growing pauses', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stream, sockets } = fakeStream(t);
  const book = stream.openBook(A);
  const [socket] = sockets;
  socket.open();
  await nextTurn();
  const mismatch = () => socket.receive({ ...bookFrame(A, 7), data: { ...bookFrame(A, 7).data, checksum: 5 } });
  const waits: number[] = [];
  for (let failure = 1; failure <= 7; failure++) {
    socket.take();
    mismatch();
    let waited = 0;
    for (await nextTurn(); socket.sent.length === 0; await nextTurn()) {
      t.mock.timers.tick(100);
      waited += 100;
    }
    waits.push(waited);
  }
  assert.deepEqual(waits, [0, 400, 800, 1600, 3200, 6400, 10_000]);
  mismatch();
  book.close();
  socket.take();
  t.mock.timers.tick(20_000);
  await nextTurn();
  assert.deepEqual(socket.take(), [], 'a closed book is not');
});

test('a connection that cannot be opened asks over HTTP why, and gives up when no retry can help', async (t) => {
  let status = 503;
  const seen: (string | undefined)[] = [];
  const server = createServer(({ url, headers }, response) => {
    seen.push(`${url} ${headers[AUTH_HEADER.API_KEY]}`);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end('{"error": "API key is revoked", "code": "API_KEY_UNAUTHORIZED"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const refused of [401, 403]) {
    status = 503;
    const { stream, sockets } = fakeStream(t, { baseUrl, signer: SIGNER });
    const user = stream.openUser();
    sockets[0].lose();
    while (sockets.length === 1) await new Promise((resolve) => setTimeout(resolve, 1));
    status = refused;
    sockets[1].lose();
    await assert.rejects(user.ready(), /API key is revoked/);
    assert.equal(sockets.length, 2);
  }
  assert.deepEqual(seen, Array(4).fill('/v1/ws key-1'));
});

test('with a session every connection has a ticket of its own, and an ended session is not tried again', async (t) => {
  const ended = new ApiError(401, 'UNAUTHORIZED', 'session has ended', undefined, null);
  const tickets: (() => Promise<string>)[] = [
    async () => 'one',
    () => Promise.reject(new Error('connection lost')),
    async () => 'a+b',
    () => Promise.reject(ended),
  ];
  const { stream, sockets } = fakeStream(t, { session: { ticket: () => tickets.shift()!() } });
  const user = stream.openUser();
  const book = stream.openBook(A);
  assert.equal(sockets.length, 0, 'there is no connection before its ticket');
  await nextTurn();
  sockets[0].open();
  await nextTurn();
  assert.equal(subscribes(sockets[0].take()).length, 2);
  sockets[0].lose();
  await eventually('a second socket', async () => sockets.length === 2);
  assert.deepEqual(
    sockets.map(({ url, headers }) => [new URL(url).search, headers]),
    [
      ['?ticket=one', undefined],
      ['?ticket=a%2Bb', undefined],
    ],
  );
  sockets[1].open();
  sockets[1].lose();
  await assert.rejects(user.ready(), ended);
  await assert.rejects(book.ready(), ended);
  assert.equal(sockets.length, 2);
  assert.throws(() => new ExchangeStream({ baseUrl: 'http://x', signer: SIGNER, session: { ticket: async () => '' } }));
});

test('a stream that is closed while it waits for its ticket opens no socket', async (t) => {
  const { stream, sockets } = fakeStream(t, { session: { ticket: async () => 'one' } });
  stream.openBook(A);
  stream.close();
  await nextTurn();
  assert.equal(sockets.length, 0);
});
