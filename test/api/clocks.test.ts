/**
 * Wrong clocks, on real servers (RULES.md 4.3, 7.8): no account loses orders because the exchange refuses correctly
 * signed requests. test/unit/gateway/wiring/clockWatch.test.ts tests the states on a clock that the test moves.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startServer, type TestServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const HEARTBEAT = '/v1/orders/heartbeat';
const PRELOADED = fileURLToPath(new URL('../support/movedClock.mjs', import.meta.url));
const OUTSIDE = 'timestamp outside acceptable window';
const BETWEEN_BEATS_MS = 1000;
/** Of the 30 seconds that are allowed, minus the time of a start. */
const SLOW_BY_MS = -28_000;

/** Signs as a client whose clock differs by so much from the real one. */
type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

function sender(server: TestServer, { credentials }: Trader, byMs: number): Send {
  const signer = new RequestSigner(credentials, { nowMs: () => Date.now() + byMs });
  return (method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    return server.request(method, path, body, signer.headers(method, path, text));
  };
}

test('a restart cancels nothing of a client whose clock is slow and who goes on with its heartbeats', async (t) => {
  const server = await startServer(t);
  const market = await makeMarket(server);
  const [slow, dead] = [await makeTrader(server), await makeTrader(server)];
  const [kept, , second] = [
    await slow.place(market, { price: '0.40', size: '5' }),
    await dead.place(market, { price: '0.40', size: '5' }),
    await slow.place(market, { price: '0.39', size: '5' }),
  ];
  const slowSend = sender(server, slow, SLOW_BY_MS);
  assert.equal((await slow.send('POST', HEARTBEAT, {})).status, 200);
  assert.equal((await dead.send('POST', HEARTBEAT, {})).status, 200);

  await server.restart();
  const again = { slow: slow.reconnected(), dead: dead.reconnected() };
  const beat = await slowSend('POST', HEARTBEAT, {});
  assertRefused(beat, 401, 'UNAUTHORIZED', OUTSIDE);
  assert.equal(beat.body.details.reason, 'signed_before_start');
  const cancelled = await slowSend('DELETE', `/v1/orders/${second.order_hash}`);
  assert.equal(cancelled.status, 200, 'a cancel by hash is carried out');
  const all = await slowSend('DELETE', '/v1/orders/cancel-all');
  assertRefused(all, 401, 'UNAUTHORIZED', OUTSIDE);
  let beatMs = Date.now();
  await eventually('the silent one is cancelled', async () => {
    if (Date.now() - beatMs > BETWEEN_BEATS_MS) {
      beatMs = Date.now();
      await slowSend('POST', HEARTBEAT, {});
    }
    return (await again.dead.client.openOrders(market.id)).length === 0;
  });
  assert.deepEqual(
    (await again.slow.client.openOrders(market.id)).map(({ id }) => id),
    [kept.order_id],
  );
});

test('while its clock is set back the exchange is not ready, says why, and carries out cancels', async (t) => {
  const path = join(temporaryDirectory(), 'clock');
  const server = await startServer(t, { NODE_OPTIONS: `--import=${PRELOADED}`, MOVED_CLOCK: path });
  const move = async (byMs: number): Promise<void> => {
    writeFileSync(path, String(byMs));
    process.kill(server.pid!, 'SIGUSR2');
    await eventually('the clock is moved', async () => server.stdout.some((line) => line.includes(`"by_ms":${byMs}}`)));
  };
  const said = (words: string): boolean => server.stdout.some((line) => line.includes(words));
  const isTrusted = async (): Promise<boolean> => /^exchange_clock_trusted 1$/m.test(await metricsText(server));
  const market = await makeMarket(server);
  const alice = await makeTrader(server);
  const place = (price: string) => alice.place(market, { price, size: '5' });
  const [first, second] = [await place('0.40'), await place('0.39'), await place('0.38')];
  assert.equal((await alice.send('POST', HEARTBEAT, {})).status, 200);
  assert.ok(await isTrusted());

  await move(-300_000);
  const send = sender(server, alice, -300_000);
  await eventually('the log says so', async () => said('the clock was set back'));
  const ready = await server.request('GET', '/ready');
  assert.equal(ready.status, 503);
  assert.match(ready.body.reason, /^the clock was set back: signed requests are accepted again after 2/);
  assert.equal(await isTrusted(), false);
  assertRefused(await send('POST', HEARTBEAT, {}), 401, 'UNAUTHORIZED', OUTSIDE);
  const body = alice.body(market, { price: '0.37', size: '5' });
  assertRefused(await send('POST', '/v1/orders', body), 401, 'UNAUTHORIZED', OUTSIDE);
  assert.equal((await send('DELETE', `/v1/orders/${first!.order_hash}`)).status, 200);
  const batch = await send('DELETE', '/v1/orders/batch', { order_hashes: [second!.order_hash] });
  assert.deepEqual([batch.status, batch.body.cancelled], [200, 1]);
  const all = await send('DELETE', '/v1/orders/cancel-all');
  assert.deepEqual([all.status, all.body.cancelled], [200, 1]);

  await move(60_000);
  await eventually('it has caught up', async () => said('the clock has caught up'));
  assert.equal((await server.request('GET', '/ready')).status, 200);
  assert.ok(await isTrusted());
  assert.equal((await sender(server, alice, 60_000)('POST', HEARTBEAT, {})).status, 200);
});

test('heartbeat windows stop while requests are refused for their time and none is accepted', async (t) => {
  const server = await startServer(t);
  const alice = await makeTrader(server);
  const isTrusted = async (): Promise<boolean> => /^exchange_clock_trusted 1$/m.test(await metricsText(server));
  const early = sender(server, alice, -120_000);
  assertRefused(await early('POST', HEARTBEAT, {}), 401, 'UNAUTHORIZED', OUTSIDE);
  assert.equal(await isTrusted(), false);
  assert.equal((await server.request('GET', '/ready')).status, 200, 'it may be the clock of this client alone');
  assert.equal((await alice.send('POST', HEARTBEAT, {})).status, 200);
  assert.ok(await isTrusted());
});

async function metricsText(server: TestServer): Promise<string> {
  const authorization = `Bearer ${server.adminToken}`;
  return (await fetch(`${server.adminUrl}/metrics`, { headers: { authorization } })).text();
}
