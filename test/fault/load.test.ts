/**
 * A server under pressure: clients that stop halfway, a thousand that say nothing, more orders than the queue holds,
 * and a stop in the middle of everything.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { attachStrace, skipWithoutStrace } from '../support/strace.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';
import { onWire, requestBytes } from '../support/wire.ts';
import { Witness } from '../support/witness.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_124);
const IDLE_CONNECTIONS = 1000;
const HALF_BODIES = 50;
const HALF_A_BODY = 'POST /v1/orders HTTP/1.1\r\nHost: test\r\nContent-Length: 500\r\n\r\n{"side":"BUY",';
const BID = { price: '0.40', size: '1' };
const FLOODERS = 64;

test('clients that send half a body, or nothing, keep nobody from trading', async (t) => {
  const server = await startServer(t);
  const witness = await Witness.create(server, SEED);
  const sockets = await Promise.all([
    ...Array.from({ length: IDLE_CONNECTIONS }, () => openSocket(t, server, '')),
    ...Array.from({ length: HALF_BODIES }, () => openSocket(t, server, HALF_A_BODY)),
  ]);
  await witness.trade({ commands: 200, onSilence: () => assert.fail('every command is answered') });
  for (const [index, socket] of sockets.entries()) index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
  await witness.trade({ commands: 50, onSilence: () => assert.fail('every command is answered') });
  await witness.check();
});

test(`a stop under load answers what was sent before it, within 10 s, and loses nothing (SEED=${SEED})`, async (t) => {
  const server = await startServer(t);
  const witness = await Witness.create(server, SEED);
  for (let i = 0; i < HALF_BODIES; i++) await openSocket(t, server, HALF_A_BODY);
  let stopped: Promise<number | null> | undefined;
  let stoppedMs = Number.POSITIVE_INFINITY;
  await witness.trade({
    commands: 1000,
    connections: 16,
    onAnswer: (answered) => {
      if (answered !== 150) return;
      stoppedMs = performance.now();
      stopped = server.stop();
    },
    onSilence: (sentMs) => assert.ok(sentMs >= stoppedMs, 'what was sent before the stop is answered'),
  });
  assert.equal(await stopped, 0, 'a stop that took too long would end with another code');
  await server.start();
  await witness.check();
});

test('a shard that cannot keep up refuses placements at once, while cancels find room', {
  skip: skipWithoutStrace,
}, async (t) => {
  const server = await startServer(t, { SHARDS: '1' });
  const [market, trader] = [await makeMarket(server), await makeTrader(server)];
  const { order_hash } = await trader.place(market, BID);
  const stall = await stallJournal(t, server);
  const port = Number(new URL(server.baseUrl).port);
  const placement = trader.body(market, BID);
  // A client that leaves at once takes nothing back: its order waits in the ring until that is full.
  const fill = async (): Promise<void> => {
    for (;;) {
      const { headers, body } = trader.client.prepareSigned('POST', '/v1/orders', placement);
      const request = requestBytes('POST', '/v1/orders', Object.entries(headers), Buffer.from(body));
      const [answer] = await onWire(port, request, 'all');
      if (answer === undefined) continue;
      assert.equal(answer.status, 503, answer.body);
      return;
    }
  };
  await Promise.all(Array.from({ length: FLOODERS }, fill));
  assertRefused(await trader.post(trader.body(market, BID)), 503, 'ENGINE_BUSY', 'the engine is busy');
  assert.equal((await server.request('GET', '/health')).status, 200);
  const cancelled = trader.client.cancelOrder(order_hash);
  stall.kill();
  await cancelled;
  assert.equal((await trader.place(market, BID)).status, 'open');
  await assertBalanced(server);
});

/** Holds the shard at its next write to the journal for as long as the tracer lives. */
async function stallJournal(t: TestContext, { pid, dataDir }: TestServer): Promise<ChildProcess> {
  const stall = 'inject=pwrite64:delay_enter=600s:when=1';
  const options = ['-o', '/dev/null', '-e', 'trace=pwrite64', '-P', join(dataDir, 'journal-0.db-wal'), '-e', stall];
  const tracer = await attachStrace(pid!, options);
  t.after(() => tracer.kill());
  return tracer;
}

async function openSocket(t: TestContext, server: TestServer, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}
