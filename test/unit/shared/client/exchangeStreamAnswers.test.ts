/** Answers of the stream that come late, and what a line that is lost in between leaves out (RULES.md 8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakeStream } from '../../../support/fakeStream.ts';
import type { Json } from '../../../support/server.ts';

const SIGNER = new RequestSigner({ keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' });
const [A, B] = ['a', 'b'].map((letter) => `01900000-0000-7000-8000-00000000000${letter}`);
const subscribes = (sent: Json[]): Json[] => sent.filter(({ channel }) => channel === 'subscribe');

test('CHANNELSTREAM-2: candles are live once each market has one to continue after', async (t) => {
  const { stream, sockets } = fakeStream(t);
  const candles = stream.openCandles({ markets: [A, B], interval: '1m' });
  sockets[0].open();
  await nextTurn();
  sockets[0].confirm('1');
  const candle = (market_id: string, start: number, is_open: boolean) =>
    sockets[0].receive({
      ...{ channel: 'candle', market_id, outcome_index: 0, interval: '1m' },
      data: { start, is_open },
    });
  assert.ok(!candles.isLive, 'a loss of the line now would lose the candles that close before the next one');
  candle(A, 60, true);
  assert.ok(!candles.isLive);
  candle(B, 0, false);
  assert.ok(candles.isLive);

  sockets[0].lose();
  assert.ok(!candles.isLive);
  await eventually('a new connection', async () => sockets.length === 2);
  sockets[1].open();
  await nextTurn();
  const [{ data }] = subscribes(sockets[1].take());
  assert.deepEqual(data.candle.after, { [A]: 59, [B]: 0 });
  sockets[1].confirm('2');
  assert.ok(candles.isLive);
});

test('the late answer of an earlier request for private events is none of an exchange that numbers anew', async (t) => {
  const { stream, sockets } = fakeStream(t, { signer: SIGNER });
  const gaps: Json[] = [];
  stream.openUser({ since: 4, onEvent: (event) => event.type === 'gap' && gaps.push(event) });
  const [socket] = sockets;
  socket.open();
  await nextTurn();
  const frame = (user_sequence: number) =>
    socket.receive({ channel: 'order_status', user_sequence, timestamp: user_sequence, data: {} });
  socket.confirm('1', 3);
  for (const number of [4, 5, 7]) frame(number);
  for (let beat = 0; beat < 3; beat++)
    socket.receive({ channel: 'heartbeat', data: { sequences: {}, user_sequence: 7 } });
  const asked = subscribes(socket.take()).map(({ id, data }) => [id, data.user_since]);
  assert.deepEqual(
    asked.slice(1),
    [
      ['2', 4],
      ['3', 4],
    ],
    'the messages wait for the limit of the connection',
  );
  socket.confirm('3', 4);
  for (const number of [5, 6, 7, 8]) frame(number);
  socket.confirm('2', 4);
  for (const number of [5, 6, 7, 8, 9]) frame(number);
  assert.deepEqual(gaps, []);
});
