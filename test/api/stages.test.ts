/** Reopening in stages after a halt, as operators and clients see it (RULES.md 9.70). */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { ERRORS } from '../../shared/base/errors.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import * as records from '../../shared/client/stream/orderRecords.ts';
import type { Market, PlacementBody, StageName } from '../../shared/client/types.ts';
import { fileScope } from '../support/fileScope.ts';
import { RecordClient } from '../support/recordClient.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertBalanced, assertRefused, type Intent, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await startServer(fileScope, { SHARDS: '2', GATEWAYS: '2' });
const NOBODY = '01900000-0000-7000-8000-000000000000';
const CANCEL_ONLY = [503, 'CANCEL_ONLY_PHASE', 'the market takes nothing but cancels now'] as const;
const POST_ONLY = [503, 'POST_ONLY_PHASE', 'only orders that do not cross are taken now'] as const;
const OTHER = [409, 'CONFLICT', 'the stage is another one than the step comes from'] as const;

const stageOf = async (id: string): Promise<StageName> => (await server.request('GET', `/v1/markets/${id}`)).body.stage;
const listed = async (): Promise<StageName[]> => {
  const { markets } = (await server.request('GET', '/v1/markets?limit=100')).body as { markets: Market[] };
  return markets.map(({ stage }) => stage);
};
const step = (path: string, body: Json) => server.adminRequest('POST', `${path}/stage`, body);
const BID = { price: '0.40', size: '10' } as const;

async function makeEvent(slug: string): Promise<string> {
  return (await server.admin.createEvent({ title: slug, slug, category: 'Weather' })).id;
}

/** A market with a bid of Alice. */
async function traded(): Promise<{ market: OrderMarket; alice: Trader; bob: Trader; hash: string }> {
  const market = await makeMarket(server);
  const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  const { order_hash: hash } = await alice.place(market, BID);
  return { market, alice, bob, hash };
}

/** Ends every stage that a test has left. */
async function openAll(): Promise<void> {
  await server.admin.stepPlatform({ stage: 'cancel_only' });
  await server.admin.stepPlatform({ stage: 'open', expected: 'cancel_only' });
}

function post(trader: Trader, market: OrderMarket, intent: Intent): Promise<Answer> {
  return trader.post(trader.body(market, intent));
}

/** A placement with an idempotency key. */
async function postKeyed(trader: Trader, order: PlacementBody, key: string): Promise<Response> {
  const { headers, body } = trader.client.prepareSigned('POST', '/v1/orders', order);
  const more = { 'idempotency-key': key, 'content-type': 'application/json' };
  return fetch(`${server.baseUrl}/v1/orders`, { method: 'POST', headers: { ...headers, ...more }, body });
}

describe('stages', { concurrency: false }, () => {
  afterEach(async () => {
    await openAll();
    await assertBalanced(server);
  });

  test('the order socket and binary order entry refuse in each stage as HTTP does, and cancels go on', async (t) => {
    const market = await makeMarket(server);
    const scopes = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user'] as const;
    const [alice, bob] = [await makeTrader(server, { scopes: [...scopes] }), await makeTrader(server)];
    const headers = (): Record<string, string> => alice.client.prepareSigned('GET', '/v1/ws').headers;
    const [socket, binary] = await Promise.all([
      StreamClient.open(t, server.baseUrl, headers()),
      RecordClient.open(t, server.baseUrl, headers()),
    ]);
    const refused = async (intent: Intent, [status, code, error]: readonly [number, string, string]) => {
      const { data } = await socket.ask('order', { action: 'place', ...alice.body(market, intent) });
      assert.deepEqual([data.status, data.body.code, data.body.error, data.retry_after], [status, code, error, 1]);
      const answer = await binary.ask((id) => records.placeRecord(id, alice.body(market, intent)));
      const { code: answered, error: said } = answer.body as Json;
      assert.deepEqual([answer.status, answered, said], [status, code, error]);
      assert.equal(answer.code, ERRORS[code as 'POST_ONLY_PHASE' | 'CANCEL_ONLY_PHASE'].number);
    };
    await bob.place(market, { outcomeIndex: 1, ...BID });
    const { order_hash: first } = await alice.place(market, BID);
    const { order_hash: second } = await alice.place(market, BID);
    await step('/admin/platform', { stage: 'cancel_only' });
    await refused(BID, CANCEL_ONLY);
    const cancelled = await socket.ask('order', { action: 'cancel', order_hash: first });
    assert.equal(cancelled.data.status, 200);
    assert.equal((await binary.ask((id) => records.cancelRecord(id, second))).status, 200);

    await server.admin.stepPlatform({ stage: 'post_only', expected: 'cancel_only' });
    await refused({ price: '0.60', size: '10' }, POST_ONLY);
    const resting = await binary.ask((id) => records.placeRecord(id, alice.body(market, BID)));
    assert.equal(resting.placed?.order.status, 'open');
    assert.deepEqual((await alice.client.openOrders(market.id)).length, 1);
  });

  test('the platform opens again from cancel-only over post-only, and says where it is', async () => {
    const { market, alice, bob, hash } = await traded();
    const { body: halted } = await step('/admin/platform', { stage: 'cancel_only' });
    assert.equal(halted.stage, 'cancel_only');
    assert.deepEqual([halted.stages.open, halted.stages.post_only], [0, 0]);
    assert.ok(halted.stages.cancel_only >= 1);
    assert.equal((await server.request('GET', '/v1/platform/config')).body.stage, 'cancel_only');
    assert.equal(await stageOf(market.id), 'cancel_only');
    assert.ok((await listed()).every((stage) => stage === 'cancel_only'));
    const { status, headers, body } = await post(bob, market, BID);
    assert.deepEqual([status, body.code, body.error], CANCEL_ONLY);
    assert.equal(headers.get('retry-after'), '1');
    assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 200);

    assert.equal((await server.admin.stepPlatform({ stage: 'post_only', expected: 'cancel_only' })).stage, 'post_only');
    const crossing = await post(bob, market, { outcomeIndex: 1, price: '0.60', size: '10' });
    assert.deepEqual([crossing.status, crossing.body.code, crossing.body.error], POST_ONLY);
    assert.equal((await post(bob, market, { price: '0.30', size: '10' })).status, 200);
    await alice.client.cancelOrder(hash);

    assert.equal((await server.admin.stepPlatform({ stage: 'open', expected: 'post_only' })).stage, 'open');
    assert.equal(await stageOf(market.id), 'open');
    assert.equal((await post(bob, market, { outcomeIndex: 1, price: '0.60', size: '10' })).status, 200);
  });

  test('a market and an event open ahead of the others', async () => {
    const eventId = await makeEvent('ahead');
    const [first, second] = [
      await makeMarket(server, { event_id: eventId }),
      await makeMarket(server, { event_id: eventId }),
    ];
    const other = await makeMarket(server);
    await server.admin.stepPlatform({ stage: 'cancel_only' });
    assert.equal((await server.admin.stepMarket(first.id, { stage: 'open', expected: 'cancel_only' })).stage, 'open');
    assert.equal(await stageOf(second.id), 'cancel_only');
    await server.admin.stepMarket(first.id, { stage: 'cancel_only' });
    const { stages, event_id } = await server.admin.stepEvent(eventId, { stage: 'post_only', expected: 'cancel_only' });
    assert.deepEqual([event_id, stages], [eventId, { open: 0, post_only: 2, cancel_only: 0 }]);
    assert.deepEqual([await stageOf(first.id), await stageOf(other.id)], ['post_only', 'cancel_only']);
  });

  test('of two operators one takes a step, and a repeat is answered again', async () => {
    const market = await makeMarket(server);
    await server.admin.stepPlatform({ stage: 'cancel_only' });
    for (const path of ['/admin/platform', `/admin/markets/${market.id}`]) {
      const body = { stage: 'post_only', expected: 'cancel_only' };
      const both = await Promise.all([step(path, body), step(path, { ...body, stage: 'open' })]);
      const refused = both.find(({ status }) => status !== 200)!;
      assertRefused(refused, ...OTHER);
      const taken = both.find(({ status }) => status === 200)!.body.stage;
      assert.equal(refused.body.details.stage, taken, path);
      assert.equal((await step(path, { stage: taken, expected: 'cancel_only' })).status, 200, 'a repeat');
      await server.admin.stepMarket(market.id, { stage: 'cancel_only' });
    }
    await server.admin.stepPlatform({ stage: 'cancel_only' });
    assertRefused(await step('/admin/platform', { stage: 'open' }), ...OTHER);
    assertRefused(await step('/admin/platform', { stage: 'open', expected: 'post_only' }), ...OTHER);
  });

  test('an event whose markets differ is stepped whole or not at all', async () => {
    const eventId = await makeEvent('mixed');
    const [first, second] = [
      await makeMarket(server, { event_id: eventId }),
      await makeMarket(server, { event_id: eventId }),
    ];
    await server.admin.stepMarket(first.id, { stage: 'cancel_only' });
    const refused = await step(`/admin/events/${eventId}`, { stage: 'post_only', expected: 'cancel_only' });
    assertRefused(refused, ...OTHER);
    assert.deepEqual(refused.body.details, { market_id: second.id, stage: 'open' });
    assert.equal(await stageOf(first.id), 'cancel_only');
    assert.deepEqual((await server.admin.stepEvent(eventId, { stage: 'cancel_only' })).stages, {
      open: 0,
      post_only: 0,
      cancel_only: 2,
    });
  });

  test('a new market begins in the platform’s stage, or in its halted event’s', async () => {
    const eventId = await makeEvent('growing');
    const first = await makeMarket(server, { event_id: eventId });
    await server.admin.stepEvent(eventId, { stage: 'cancel_only' });
    const halted = await makeMarket(server, { event_id: eventId });
    assert.equal(await stageOf(halted.id), 'cancel_only');
    await server.admin.stepMarket(first.id, { stage: 'open', expected: 'cancel_only' });
    const open = await makeMarket(server, { event_id: eventId });
    assert.equal(await stageOf(open.id), 'open', 'a market of the event is open');
    await server.admin.stepPlatform({ stage: 'post_only' });
    assert.equal(await stageOf((await makeMarket(server)).id), 'post_only');
    assert.equal(await stageOf((await makeMarket(server, { event_id: eventId })).id), 'post_only');
  });

  test('stages survive a kill and a pause is lifted into cancel-only', async () => {
    const { market, bob } = await traded();
    await server.admin.pause();
    await server.admin.stepPlatform({ stage: 'cancel_only' });
    await server.admin.resume();
    await server.kill();
    await server.start({ GATEWAYS: '2' });
    assert.equal((await server.admin.platform()).stage, 'cancel_only');
    assert.equal(await stageOf(market.id), 'cancel_only');
    const refused = await post(bob.reconnected(), market, BID);
    assert.deepEqual([refused.status, refused.body.code], [503, 'CANCEL_ONLY_PHASE']);
  });

  test('a refusal is not kept under an idempotency key, and a batch has it row by row', async () => {
    const { market, bob } = await traded();
    const open = await makeMarket(server);
    await server.admin.stepMarket(market.id, { stage: 'cancel_only' });
    const key = '01900000-0000-4000-8000-000000000001';
    const order = bob.body(market, BID);
    assert.equal((await postKeyed(bob, order, key)).status, 503);
    const batch = { orders: [order, bob.body(open, BID)] };
    const { body } = await bob.send('POST', '/v1/orders/batch', batch);
    assert.deepEqual(
      body.results.map((row: Json) => row.code ?? row.error?.code ?? 'placed'),
      ['CANCEL_ONLY_PHASE', 'placed'],
    );
    await server.admin.stepMarket(market.id, { stage: 'open', expected: 'cancel_only' });
    assert.equal((await postKeyed(bob, order, key)).status, 200);
  });

  test('errors: unknown things, decided markets, bodies, roles', async () => {
    assertRefused(await step(`/admin/markets/${NOBODY}`, { stage: 'open' }), 404, 'NOT_FOUND', 'market not found');
    assertRefused(await step(`/admin/events/${NOBODY}`, { stage: 'open' }), 404, 'NOT_FOUND', 'event not found');
    const eventId = await makeEvent('empty');
    const NOT_ALLOWED = [409, 'CONFLICT', 'market status does not allow this'] as const;
    assertRefused(await step(`/admin/events/${eventId}`, { stage: 'cancel_only' }), ...NOT_ALLOWED);
    const { id } = await makeMarket(server);
    await server.admin.cancelMarket(id);
    assertRefused(await step(`/admin/markets/${id}`, { stage: 'cancel_only' }), ...NOT_ALLOWED);
    for (const body of [{}, { stage: 'closed' }, { stage: 'open', expected: 1 }, { stage: 'open', from: 'open' }]) {
      const { status, body: answer } = await step('/admin/platform', body);
      assert.deepEqual([status, answer.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
    }
    for (const [roles, path, expected] of [
      [['viewer'], '/admin/platform', 403],
      [['catalogue'], '/admin/platform', 403],
      [['treasury'], `/admin/markets/${id}`, 403],
      [['catalogue'], `/admin/events/${eventId}`, 409],
    ] as const) {
      const { token } = await server.admin.createOperator({ name: `o${path.length}${roles[0]}`, roles: [...roles] });
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await server.request('POST', `${path}/stage`, { stage: 'cancel_only' }, headers);
      assert.equal(status, expected, `${roles} ${path}`);
    }
  });

  test('each step is in the audit log, with what changed', async () => {
    const { market } = await traded();
    await server.admin.stepMarket(market.id, { stage: 'cancel_only' });
    await server.admin.stepPlatform({ stage: 'post_only' });
    const { records } = await server.admin.audit({ path: '/admin/', limit: 10 });
    const results = records.filter(({ event, path }) => event === 'result' && path?.endsWith('/stage')) as Json[];
    const [platform, one] = results;
    assert.deepEqual([platform.before.stage, platform.after.stage], ['open', 'post_only']);
    assert.deepEqual(
      [one.before.stage, one.after.stage, one.path],
      ['open', 'cancel_only', `/admin/markets/${market.id}/stage`],
    );
  });

  test('operations and metrics say where the markets are', async () => {
    const { market } = await traded();
    await server.admin.stepMarket(market.id, { stage: 'cancel_only' });
    const { stage, stages } = await server.admin.operations();
    assert.deepEqual([stage, stages.cancel_only], ['open', 1]);
    const body = await (await fetch(`${server.baseUrl}/metrics`)).text();
    assert.match(body, /exchange_markets_in_stage\{stage="cancel_only"\} 1/);
    assert.match(body, /exchange_stage 0/);
  });
});
