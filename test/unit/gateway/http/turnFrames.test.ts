/** Sockets that send frames as fast as they can (RULES.md 8.2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_FRAMES_PER_TURN, TurnFrames } from '../../../../gateway/http/turnFrames.ts';
import { MAX_ORDERS_IN_FLIGHT } from '../../../../gateway/stream/entry/limits.ts';
import { MAX_MESSAGES_PER_SECOND, PING_EVERY_MS, STREAM_PATH } from '../../../../gateway/stream/socket/limits.ts';
import { eventually } from '../../../support/eventually.ts';
import { OPCODE, RawSocket } from '../../../support/rawSocket.ts';
import { StreamRig } from '../../../support/streamRig.ts';

const SEED = 20_261_126;

test('a socket has so many frames in a turn, and as many in the next', async () => {
  const frames = new TurnFrames();
  const [one, other] = [{}, {}];
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < MAX_FRAMES_PER_TURN; count++) assert.ok(frames.admits(one));
    assert.equal(frames.admits(one), false);
    assert.equal(frames.admits(other), true);
    await nextTurn();
  }
  assert.ok(MAX_FRAMES_PER_TURN > MAX_ORDERS_IN_FLIGHT, 'a client that waits for its answers never has so many');
});

test('pongs that answer no ping count as messages, and the one that does is free', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  const socket = await RawSocket.open(t, rig.baseUrl, STREAM_PATH);
  rig.clock.advance(PING_EVERY_MS);
  rig.stream.tick();
  await eventually('a ping', async () => socket.received.endsWith('\x89\0'));
  await socket.send(1, OPCODE.PONG);
  await socket.send(MAX_MESSAGES_PER_SECOND - 1, OPCODE.TEXT, '{"channel":"ping","id":1}');
  await socket.send(1, OPCODE.PONG);
  await socket.send(1, OPCODE.PONG);
  await eventually('the close', async () => socket.isClosed);
  assert.equal(socket.received.match(/"channel":"pong"/g)?.length, MAX_MESSAGES_PER_SECOND - 1);
  assert.match(socket.received, /"code":"RATE_LIMITED".*too many messages \(max 20 a second\)$/s);
});
