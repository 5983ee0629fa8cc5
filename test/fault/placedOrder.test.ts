/** `order.done` over the death of the exchange, and over a line that loses answers: one order, one end. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import { UnknownOutcomeError } from '../../shared/client/placedOrder.ts';
import { fileScope } from '../support/fileScope.ts';
import { freePort } from '../support/freePort.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

// The client goes on over the restart, so the port stays the same.
const ENV = { SHARDS: '1', PORT: String(await freePort()) };
const server = await startServer(fileScope, ENV);
const market = await makeMarket(server);
const scopes = ['read:account', 'trade:orders', 'stream:user'] as const;
const maker = await makeTrader(server, { scopes: [...scopes] });
const taker = await makeTrader(server);

const BID = { marketId: market.id, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10' } as const;
/** A restart takes longer than the usual retries. */
const PATIENT = { attempts: 60, firstPauseMs: 100, mostPauseMs: 500 };

function clientOf(fetch: typeof globalThis.fetch = globalThis.fetch): ExchangeClient {
  const { baseUrl } = server;
  const client = new ExchangeClient({
    baseUrl,
    credentials: maker.credentials,
    wallet: maker.signer,
    retry: PATIENT,
    fetch,
  });
  after(() => client.close());
  return client;
}

test('an order filled after a kill -9 is reported as filled to clients that waited since before', async () => {
  const order = await clientOf().place(BID);
  const { done } = order;
  await server.kill();
  await server.start(ENV);
  await taker.place(market, { outcomeIndex: 1, price: '0.60', size: '10' });
  const { status, record } = await done;
  assert.deepEqual([status, record?.filled_token_quantity_atomic], ['filled', '10000000']);
});

test('an order whose answers are lost is placed once, however often it was sent', async () => {
  const open = async (): Promise<number> => (await maker.client.openOrders(market.id)).length;
  let lost = 3;
  const client = clientOf(async (url, init) => {
    const answer = await fetch(url, init);
    if (init?.method !== 'POST' || lost-- <= 0) return answer;
    throw new TypeError('fetch failed', { cause: new Error('the line was cut behind the request') });
  });
  const order = await client.place(BID);
  assert.deepEqual([order.answer?.status, await open()], ['open', 1]);

  lost = Number.POSITIVE_INFINITY;
  const hurried = client.with({ retry: false });
  const error: unknown = await hurried.place(BID).catch((caught: unknown) => caught);
  assert.ok(error instanceof UnknownOutcomeError);
  assert.equal(await open(), 2, 'it is there all the same');
  lost = 0;
  await client.placeOrder(error.order.body);
  assert.equal(await open(), 2);
  await Promise.all([order.cancel(), error.order.cancel()]);
  assert.deepEqual([(await order.done).status, (await error.order.done).status], ['cancelled', 'cancelled']);
});

test('an order that never arrived can be ruled out, and is rejected from then on', async () => {
  const client = clientOf(async (url, init) => {
    if (init?.method === 'POST') throw new TypeError('fetch failed', { cause: new Error('the line was cut before') });
    return fetch(url, init);
  });
  const error: unknown = await client
    .with({ retry: false })
    .place(BID)
    .catch((caught: unknown) => caught);
  assert.ok(error instanceof UnknownOutcomeError);
  const { order } = error;
  const { done } = order;
  await order.cancel();
  assert.deepEqual([(await done).status, (await done).record], ['rejected', null]);
  await assert.rejects(maker.client.placeOrder(order.body), { code: 'ORDER_TOMBSTONED' });
});
