/**
 * A restart of the exchange behind the shipped Caddyfile, with the real Caddy: requests wait for the port, and none is
 * answered 5xx. The port opens when the exchange can answer, and closes before it stops answering (RULES.md 10.2).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { startCaddy, without } from '../support/proxies.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const RESTARTS = 3;
const EVERY_MS = 100;
const TOO_OLD = '401 timestamp outside acceptable window';

test('three restarts behind Caddy at ten requests a second: none is answered 5xx', {
  skip: without('caddy'),
}, async (t) => {
  const port = await freePort();
  const settings = { PORT: String(port), TRUST_PROXY: '127.0.0.1', ADMIN_PORT: '0', SHARDS: '2' };
  const server = await startServer(t, settings);
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  const baseUrl = await startCaddy(t, `127.0.0.1:${port}`);
  const time = (): Promise<Response> => fetch(`${baseUrl}/v1/time`);
  const client = new ExchangeClient({ baseUrl, credentials: trader.credentials, retry: false, timeoutMs: 60_000 });
  const answers: Promise<string>[] = [];
  const ask = (): void => {
    const order = trader.body(market, { price: '0.10', size: '1' });
    const isRead = answers.length % 2 === 0;
    const answer = isRead ? time().then(({ status }) => String(status)) : client.placeOrder(order).then(() => '201');
    answers.push(answer.catch((error) => `${error.status ?? ''} ${error.message} ${error.cause ?? ''}`.trim()));
  };
  const timer = setInterval(ask, EVERY_MS);
  t.after(() => clearInterval(timer));
  for (let restart = 0; restart < RESTARTS; restart++) {
    const sent = answers.length;
    await eventually('requests before the stop', async () => answers.length > sent + 10);
    assert.equal(await server.stop(), 0);
    await server.start(settings);
  }
  const sent = answers.length;
  await eventually('requests after the last start', async () => answers.length > sent + 10);
  clearInterval(timer);
  const counts: Record<string, number> = {};
  for (const answer of await Promise.all(answers)) counts[answer] = (counts[answer] ?? 0) + 1;
  t.diagnostic(JSON.stringify(counts));
  // A request that was signed before the start is not accepted after it: its nonce may have been used (RULES.md 4.3).
  const { '200': read = 0, '201': placed = 0, [TOO_OLD]: signedBefore = 0 } = counts;
  assert.equal(read + placed + signedBefore, answers.length, JSON.stringify(counts));
  assert.ok(read > RESTARTS && placed > RESTARTS);
  const open = (await trader.reconnected().client.openOrders(market.id)).length;
  assert.equal(open, counts['201'], 'each order that was answered is there, and no other');
});
