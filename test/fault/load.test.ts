/**
 * A server under pressure: clients that stop halfway, a thousand that say nothing, and a stop in the middle of
 * everything. More orders than the queue holds: flood.soak.ts.
 */
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_124);
const COMMANDS = timesOf({ suite: 60, soak: 200 });
/** Answers before the stop. */
const ANSWERED = timesOf({ suite: 60, soak: 150 });
const IDLE_CONNECTIONS = 1000;
const HALF_BODIES = 50;
const HALF_A_BODY = 'POST /v1/orders HTTP/1.1\r\nHost: test\r\nContent-Length: 500\r\n\r\n{"side":"BUY",';

const server = await startServer(fileScope);
const witness = await Witness.create(server, SEED);

test('clients that send half a body, or nothing, keep nobody from trading', async (t) => {
  const sockets = await Promise.all([
    ...Array.from({ length: IDLE_CONNECTIONS }, () => openSocket(t, '')),
    ...Array.from({ length: HALF_BODIES }, () => openSocket(t, HALF_A_BODY)),
  ]);
  await witness.trade({ commands: COMMANDS, onSilence: () => assert.fail('every command is answered') });
  for (const [index, socket] of sockets.entries()) index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
  await witness.trade({ commands: COMMANDS / 4, onSilence: () => assert.fail('every command is answered') });
  await witness.check();
});

test(`a stop under load answers what was sent before it, within 10 s, and loses nothing (SEED=${SEED})`, async (t) => {
  for (let i = 0; i < HALF_BODIES; i++) await openSocket(t, HALF_A_BODY);
  const requests = watchRequests(t);
  let stopped: Promise<number | null> | undefined;
  await witness.trade({
    commands: 1000,
    connections: 16,
    onAnswer: (answered) => {
      if (answered !== ANSWERED) return;
      stopped = server.stop();
    },
  });
  assert.equal(await stopped, 0, 'a stop that took too long would end with another code');
  const stoppingMs = await eventually('the server says that it stops', async () => loggedMs('stopping'));
  assert.ok(requests.sent >= ANSWERED, 'requests are seen');
  for (const sentMs of requests.broken) assert.ok(sentMs >= stoppingMs, 'what was sent before the stop is answered');
  await server.start();
  await witness.check();
});

/** When the server wrote this message, in milliseconds of `Date.now`. */
function loggedMs(message: string): number | undefined {
  const line = server.stdout.find((text) => text.includes(`"msg":"${message}"`));
  return line === undefined ? undefined : Date.parse(JSON.parse(line).time);
}

/**
 * All requests of this process: their number, and for each that ended without an answer the time at which the socket
 * got its last byte. On a busy machine this is long after the call of `fetch`, which shows nothing about what the
 * server can have seen; a request that was never written has infinity.
 */
function watchRequests(t: TestContext): { sent: number; broken: number[] } {
  const requests = { sent: 0, broken: [] as number[] };
  const sentMs = new WeakMap<object, number>();
  const onSent = (message: unknown) => {
    requests.sent++;
    sentMs.set((message as OnRequest).request, Date.now());
  };
  const onError = (message: unknown) => {
    requests.broken.push(sentMs.get((message as OnRequest).request) ?? Number.POSITIVE_INFINITY);
  };
  const [bodySent, failed] = [channel('undici:request:bodySent'), channel('undici:request:error')];
  bodySent.subscribe(onSent);
  failed.subscribe(onError);
  t.after(() => {
    bodySent.unsubscribe(onSent);
    failed.unsubscribe(onError);
  });
  return requests;
}

type OnRequest = { readonly request: object };

async function openSocket(t: TestContext, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}
