/**
 * Attack: twenty sockets without a key, as many as an address may have, request the whole replay of a market over and
 * over (RULES.md 8.12). Their total is bounded, and a trader's replay does not wait for them.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import WebSocket from 'ws';
import { ANONYMOUS } from '../../gateway/stream/replayBudgets.ts';
import { eventually } from '../support/eventually.ts';
import { timesOf } from '../support/seeds.ts';
import { StreamClient } from '../support/streamClient.ts';
import { StreamRig } from '../support/streamRig.ts';
import { measureVictim } from '../support/victim.ts';

const SEED = 30;
const SOCKETS = 20;
const ROUNDS = timesOf({ suite: 3, soak: 10 });
const COMMANDS = timesOf({ suite: 2500, soak: 10_000 });
const SAMPLES = timesOf({ suite: 3, soak: 5 });
/** More than a step may exceed the budget by, for each socket. */
const SLACK_BYTES = SOCKETS * 64 * 1024;

test('the replays of an address have a budget, and those of a key do not wait for them', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  rig.run(COMMANDS);
  const id = rig.marketId(0);
  const replay = { markets: [id], from_sequence: { [id]: 0 } };
  let received = 0;
  const sockets: WebSocket[] = [];
  for (let count = 0; count < SOCKETS; count++) {
    const socket = new WebSocket(`${rig.baseUrl.replace('http', 'ws')}/v1/ws`);
    t.after(() => socket.terminate());
    socket.on('message', (data: Buffer) => {
      received += data.length;
    });
    await once(socket, 'open');
    sockets.push(socket);
  }
  const ask = async (): Promise<void> => {
    for (const socket of sockets) socket.send(JSON.stringify({ channel: 'subscribe', data: replay }));
    // Every request has been read, and as much as its budget allows is on the way.
    const pongs = sockets.map((socket) => once(socket, 'pong'));
    for (const socket of sockets) socket.ping();
    await Promise.all(pongs);
  };
  const askAsTrader = async (): Promise<void> => {
    const trader = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
    await trader.subscribe(replay);
    await trader.until((frame) => frame.channel === 'bbo');
    trader.end();
  };
  await measureVictim(t, {
    samples: SAMPLES,
    send: askAsTrader,
    attack: async () => {
      for (let round = 0; round < ROUNDS; round++) await ask();
      await eventually('the budget is spent', async () => received >= ANONYMOUS.stockBytes);
    },
  });
  await askAsTrader();
  assert.ok(received <= ANONYMOUS.stockBytes + SLACK_BYTES, `${received} bytes`);
  t.diagnostic(`${SOCKETS} sockets asked ${ROUNDS} times for ${rig.shown().sequence} frames and got ${received} bytes`);
  // The last steps may exceed the stock, and this second fills that first: only the sum is bounded.
  const stockAndSecondBytes = ANONYMOUS.stockBytes + ANONYMOUS.bytesPerSecond;
  rig.clock.advance(1000);
  await ask();
  await eventually('the budget has filled up by a second', async () => received >= stockAndSecondBytes);
  assert.ok(received <= stockAndSecondBytes + SLACK_BYTES, `${received} bytes`);
});
