/** Clients that send frames, or requests, as fast as they can (RULES.md 6.4, 8.2). */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Call } from '../../../../gateway/http/call.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import { MOST_PER_TURN, TurnLimit } from '../../../../gateway/http/turnLimit.ts';
import { MAX_ORDERS_IN_FLIGHT } from '../../../../gateway/stream/entryLimits.ts';
import { MAX_MESSAGES_PER_SECOND, PING_EVERY_MS, STREAM_PATH } from '../../../../gateway/stream/limits.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { OPCODE, RawSocket } from '../../../support/rawSocket.ts';
import { READ_MARKETS, startReads } from '../../../support/readsRig.ts';
import { StreamRig } from '../../../support/streamRig.ts';
import { requestBytes } from '../../../support/wire.ts';

const SEED = 20_261_126;
const SECOND_MS = 1000;

test('a socket has a bounded number of frames per turn, and as many in the next', async () => {
  const frames = new TurnLimit();
  const [one, other] = [{}, {}];
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < MOST_PER_TURN; count++) assert.ok(frames.admits(one));
    assert.equal(frames.admits(one), false);
    assert.equal(frames.admits(other), true);
    await nextTurn();
  }
  assert.ok(MOST_PER_TURN > MAX_ORDERS_IN_FLIGHT, 'a client that waits for its answers never has so many');
});

test('frames of many turns do not add up', async () => {
  const frames = new TurnLimit();
  const socket = {};
  for (let sent = 0; sent < 3 * MOST_PER_TURN; sent += 50) {
    for (let count = 0; count < 50; count++) assert.ok(frames.admits(socket));
    await nextTurn();
  }
});

test('pongs that answer no ping count as messages, and the one that does is free', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  const socket = await RawSocket.open(t, rig.baseUrl, STREAM_PATH);
  for (let passedMs = 0; passedMs < PING_EVERY_MS; passedMs += SECOND_MS) {
    rig.clock.advance(SECOND_MS);
    rig.stream.tick();
  }
  await eventually('a ping', async () => socket.received.endsWith('\x89\0'));
  await socket.send(1, OPCODE.PONG);
  await socket.send(MAX_MESSAGES_PER_SECOND - 1, OPCODE.TEXT, '{"channel":"ping","id":1}');
  await socket.send(1, OPCODE.PONG);
  await socket.send(1, OPCODE.PONG);
  await eventually('the refusal', async () => socket.received.includes('RATE_LIMITED'));
  assert.equal(socket.received.match(/"channel":"pong"/g)?.length, MAX_MESSAGES_PER_SECOND - 1);
  assert.match(
    socket.received,
    /"code":"RATE_LIMITED".*too many messages \(max 20 a second\)","retry_after_ms":1000\}\}$/s,
  );
});

/** Sends a request over and over on one connection, without waiting for answers, until it is closed. */
async function requestsUntilClosed(t: TestContext, port: number, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => void socket.destroy());
  const many = Buffer.concat(Array(10_000).fill(requestBytes('GET', path, [], Buffer.alloc(0))));
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
  });
  socket.resume();
  let sent = 0;
  for (; !isClosed; sent += 10_000) {
    await new Promise((resolve) => socket.write(many, resolve));
    // The system accepts writes to a closed connection at once: the loop would go on in one turn.
    await nextTurn();
  }
  return sent;
}

test('requests beyond what a turn takes close their connection, and the next one is served', async (t) => {
  let handled = 0;
  const handler = (call: Call): void => {
    handled++;
    ok(call, {});
  };
  const spec = {
    method: 'GET',
    path: '/small',
    summary: '',
    access: 'public',
    limit: 'unlimited',
    answers: {},
  } as const;
  const { port, send } = await startEdge(t, [{ ...spec, handler }], [], { limiter: null });
  const sent = await requestsUntilClosed(t, port, '/small');
  assert.ok(handled > 0 && handled <= 3 * MOST_PER_TURN, `${handled} of ${sent} were carried out`);
  assert.equal((await send('GET', '/small')).status, 200);
});

test('the same holds for what a front thread answers by itself', async (t) => {
  const rig = await startReads(t, { seed: SEED, threads: 1 });
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/tick-size`;
  const ask = (): Promise<Response> => fetch(`http://127.0.0.1:${rig.port}${path}`);
  await eventually('an answer of the thread', async () => (await ask()).ok && (await rig.answered())[0]! > 0);
  const before = (await rig.answered())[0]!;
  const sent = await requestsUntilClosed(t, rig.port, path);
  // A busy thread is shown as it was.
  const answered = await eventually('more answers than a turn takes', async () => {
    const count = (await rig.answered())[0]! - before;
    return count > MOST_PER_TURN && count;
  });
  assert.ok(answered < sent / 2, `${answered} of ${sent} were answered`);
  assert.equal((await ask()).status, 200);
});
