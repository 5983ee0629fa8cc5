/** The limits of a connection's messages, and the places of connections whose network was lost (RULES.md 8.2, 8.10). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { STREAM_PATH } from '../../gateway/stream/limits.ts';
import { eventually } from '../support/eventually.ts';
import { OPCODE, RawSocket } from '../support/rawSocket.ts';
import { StreamClient } from '../support/streamClient.ts';
import { StreamRig } from '../support/streamRig.ts';

const SEED = 47;
const MOST = 5;
const CANCELLING = { user: true, cancel_on_disconnect: true };

/** Lets the time pass in steps of the stream's timer, with what arrives in each. */
async function pass(rig: StreamRig, seconds: number, clients: readonly StreamClient[] = []): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    rig.clock.advance(1000);
    rig.stream.tick();
    for (const client of clients) await client.ask('ping');
  }
}

/** Connections of the key of account 1: the first ones answer no ping, as a network that was lost. */
async function places(t: TestContext, rig: StreamRig) {
  const open = () => StreamClient.open(t, rig.baseUrl, rig.headers(1));
  const dead: RawSocket[] = [];
  for (let made = 0; made < 2; made++) {
    dead.push(await RawSocket.open(t, rig.baseUrl, STREAM_PATH, rig.headers(1)));
    await pass(rig, 1);
  }
  const alive: StreamClient[] = [];
  while (alive.length < MOST - dead.length) alive.push(await open());
  return { open, dead, alive };
}

test('40 subscriptions in a second: 20 are refused with a time that is true, and the connection stays', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  await client.subscribe(CANCELLING);
  await pass(rig, 1);
  const asked = (id: number) => ({ channel: 'subscribe', id, data: { markets: [rig.marketId(id % 2)] } });
  for (let id = 0; id < 40; id++) client.send(asked(id));
  await client.until(() => client.of('error').length === 20);
  assert.deepEqual(
    client
      .of('subscribed')
      .slice(1)
      .map(({ id }) => id),
    Array.from({ length: 20 }, (_, id) => id),
  );
  for (const [at, { id, data }] of client.of('error').entries()) {
    assert.equal(id, 20 + at);
    assert.deepEqual(data, {
      code: 'RATE_LIMITED',
      error: 'too many messages (max 20 a second)',
      retry_after_ms: 1000,
    });
  }
  rig.clock.advance(999);
  assert.equal((await client.ask('ping')).data.retry_after_ms, 1);
  rig.clock.advance(1);
  for (let id = 0; id < 20; id++) assert.equal((await client.ask('ping')).channel, 'pong');
  assert.equal((await client.ask('ping')).data.code, 'RATE_LIMITED');
  assert.deepEqual(rig.cancelled, [], 'nothing is cancelled');
});

test('over 200 messages a second are not answered, and after ten such seconds the connection closes', async (t) => {
  const rig = await StreamRig.start(t, SEED + 1);
  const [heeding, flooding] = [
    await RawSocket.open(t, rig.baseUrl, STREAM_PATH),
    await RawSocket.open(t, rig.baseUrl, STREAM_PATH),
  ];
  const count = (socket: RawSocket) => socket.received.match(/RATE_LIMITED/g)?.length ?? 0;
  for (let second = 1; second <= 10; second++) {
    await heeding.send(190, OPCODE.TEXT, '{"channel":"ping"}');
    await flooding.send(250, OPCODE.TEXT, '{"channel":"ping"}');
    await eventually('the refusals', async () => count(heeding) === second * 170 && count(flooding) === second * 180);
    assert.ok(!flooding.isClosed);
    rig.clock.advance(1000);
    rig.stream.tick();
  }
  await heeding.send(190, OPCODE.TEXT, '{"channel":"ping"}');
  await flooding.send(250, OPCODE.TEXT, '{"channel":"ping"}');
  await eventually('the close', async () => flooding.isClosed);
  await eventually('the refusals', async () => count(heeding) === 11 * 170);
  assert.ok(!heeding.isClosed);
});

test('a market over the limit is refused, and the connection keeps its other markets', async (t) => {
  const rig = await StreamRig.start(t, SEED + 2);
  const client = await StreamClient.open(t, rig.baseUrl);
  assert.equal((await client.ask('subscribe', { markets: ['0190a6f0-7b1c-7abc-8def-0123456789ab'] })).channel, 'error');
  assert.equal((await client.subscribe({ markets: [rig.marketId()] })).markets.length, 1);
});

test('a sixth connection closes the one that was silent longest, after 15 seconds and not before', async (t) => {
  const rig = await StreamRig.start(t, SEED + 3);
  const { open, dead, alive } = await places(t, rig);
  // The first was opened two seconds ago.
  await pass(rig, 12, alive);
  const early = await open();
  assert.equal((await early.closed).reason, 'too many connections (max 5)');
  await pass(rig, 1, alive);
  const sixth = await open();
  await eventually('the end of the first', async () => dead[0].isClosed);
  assert.match(dead[0].received, /"code":"RATE_LIMITED","error":"a newer connection has its place"/);
  await sixth.ask('ping');
  assert.ok(!dead[1].isClosed);
  assert.equal((await (await open()).closed).code, 1008, 'the second is not silent for so long');
  await pass(rig, 2, [...alive, sixth]);
  const seventh = await open();
  await eventually('the end of the second', async () => dead[1].isClosed);
  await pass(rig, 30, [...alive, sixth, seventh]);
  assert.equal((await (await open()).closed).code, 1008, 'all are alive');
});

test('its orders stay if the newcomer asks within 5 seconds, and else they are cancelled then', async (t) => {
  for (const asks of ['in time', 'too late', 'never', 'and ends'] as const) {
    const rig = await StreamRig.start(t, SEED + 4);
    const { open, dead, alive } = await places(t, rig);
    await dead[0].send(1, OPCODE.TEXT, `{"channel":"subscribe","data":${JSON.stringify(CANCELLING)}}`);
    await eventually('the answer', async () => dead[0].received.includes('"subscribed"'));
    await pass(rig, 15, alive);
    await dead[1].send(1, OPCODE.TEXT, '{"channel":"ping"}');
    await eventually('the answer', async () => dead[1].received.includes('"pong"'));
    const sixth = await open();
    await eventually('the end of the first', async () => dead[0].isClosed);
    await pass(rig, 4, [sixth]);
    assert.deepEqual(rig.cancelled, [], asks);
    if (asks === 'in time' || asks === 'and ends') await sixth.subscribe(CANCELLING);
    if (asks === 'and ends') {
      const left = rig.stream.connectionCount;
      sixth.end();
      while (rig.stream.connectionCount === left) await nextTurn();
      assert.deepEqual(rig.cancelled, [{ account: 1, shard: 0 }]);
      rig.answers[0](0);
    }
    await pass(rig, 2);
    if (asks === 'too late') await sixth.subscribe(CANCELLING);
    await pass(rig, 8);
    assert.equal(rig.cancelled.length, asks === 'in time' ? 0 : 1, asks);
  }
});

test('the end of the server does not forget the orders of a connection that gave its place', async (t) => {
  const rig = await StreamRig.start(t, SEED + 5);
  const { open, dead, alive } = await places(t, rig);
  await dead[0].send(1, OPCODE.TEXT, `{"channel":"subscribe","data":${JSON.stringify(CANCELLING)}}`);
  await eventually('the answer', async () => dead[0].received.includes('"subscribed"'));
  await pass(rig, 16, alive);
  await dead[1].send(1, OPCODE.TEXT, '{"channel":"ping"}');
  await eventually('the answer', async () => dead[1].received.includes('"pong"'));
  await open();
  await eventually('the end of the first', async () => dead[0].isClosed);
  rig.stream.close();
  await eventually('the cancel', async () => rig.cancelled.length === 1);
});
