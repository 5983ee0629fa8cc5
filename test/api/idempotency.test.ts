/** RULES.md 6.7 over HTTP: a key is answered once, on each of the routes that take one. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { isOnChain } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertRefused, deposit, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

type Reply = { status: number; text: string; isReplay: boolean };

const server = await sharedServer();
const market = await makeMarket(server);
const trader = await makeTrader(server);
const NIL_KEY = '00000000-0000-0000-0000-000000000000';
const resting = { price: '0.1', size: '10' };

async function send(who: Trader, method: string, path: string, key: string, payload: unknown): Promise<Reply> {
  const request = who.client.prepareSigned(method, path, payload);
  const headers = { ...request.headers, 'idempotency-key': key, 'content-type': 'application/json' };
  const response = await fetch(server.baseUrl + path, { method, headers, body: request.body });
  const isReplay = response.headers.get('idempotency-replayed') === 'true';
  return { status: response.status, text: await response.text(), isReplay };
}

const place = (key: string, body: unknown, who = trader) => send(who, 'POST', '/v1/orders', key, body);

/** The answer, the same again, and the same in upper case: byte for byte. */
async function twice(method: string, path: string, payload: unknown): Promise<Reply> {
  const key = randomUUID();
  const first = await send(trader, method, path, key, payload);
  for (const again of [key, key.toUpperCase()]) {
    assert.deepEqual(await send(trader, method, path, again, payload), { ...first, isReplay: true });
  }
  assert.equal(first.isReplay, false);
  return first;
}

/**
 * Returns the status of a request with these headers, names and values alternating: fetch joins two headers with the
 * same name.
 */
function statusOf(method: string, path: string, headers: string[], body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(server.baseUrl + path, { method, headers: ['Host', 'a', ...headers] }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    });
    sent.on('error', reject).end(body);
  });
}

/** The state after a kill -9 between the commit of the journal and the storing of the answer. */
async function crashBeforeAnswers(): Promise<void> {
  await server.kill();
  const db = new Database(join(server.dataDir, 'idempotency.db'));
  db.exec('DELETE FROM answers; UPDATE settled SET settled_ms = 0');
  db.close();
  await server.start();
}

test('a success is replayed byte for byte on all five routes', async () => {
  const first = await twice('POST', '/v1/orders', trader.body(market, resting));
  assert.equal(first.status, 200);
  const { order_hash } = JSON.parse(first.text);
  const replaced = await twice('POST', '/v1/orders/cancel-replace', {
    cancel_hash: order_hash,
    new_order: trader.body(market, resting),
  });
  assert.equal(replaced.status, 200);
  const path = `/v1/orders/${JSON.parse(replaced.text).order.order_hash}/amend`;
  const amended = await twice('PUT', path, { new_order: trader.body(market, { price: '0.1', size: '5' }) });
  assert.equal(JSON.parse(amended.text).time_priority, true);
  const batch = await twice('POST', '/v1/orders/batch', { orders: [trader.body(market, resting), {}] });
  const { succeeded, failed, results } = JSON.parse(batch.text);
  assert.deepEqual([succeeded, failed], [1, 1]);
  const cancelled = await twice('DELETE', '/v1/orders/batch', { order_hashes: [results[0].order_hash, order_hash] });
  assert.equal(JSON.parse(cancelled.text).cancelled, 1);
});

test('refusals are kept unchanged; one above 512 bytes that no shard has made is kept by status and code', async () => {
  // Each character is three bytes of UTF-8, so the value that is shown alone has 300.
  const side = '‰'.repeat(100);
  for (const [path, payload] of [
    ['/v1/orders', { ...trader.body(market, resting), side: 'HOLD' }],
    ['/v1/orders', { ...trader.body(market, resting), side }],
    ['/v1/orders/batch', { orders: [] }],
  ] as const) {
    const key = randomUUID();
    const bad = await send(trader, 'POST', path, key, payload);
    assert.equal(typeof JSON.parse(bad.text).details.rule, 'string');
    assert.deepEqual(await send(trader, 'POST', path, key, payload), { ...bad, isReplay: true });
  }
  const key = randomUUID();
  const long = { ...trader.body(market, resting), [side]: 1 };
  const bad = await send(trader, 'POST', '/v1/orders', key, long);
  assert.ok(Buffer.byteLength(bad.text) > 512, bad.text);
  const kept = JSON.stringify({ error: 'invalid request', code: 'VALIDATION_ERROR' });
  assert.deepEqual(await send(trader, 'POST', '/v1/orders', key, long), { status: 400, text: kept, isReplay: true });
  const poor = await twice('POST', '/v1/orders', trader.body(market, { price: '0.9', size: '1000000' }));
  assert.equal(JSON.parse(poor.text).code, 'INSUFFICIENT_BALANCE');
});

test('a key with another payload or on another route is refused, and means nothing to another account', async () => {
  const key = randomUUID();
  assert.equal((await place(key, trader.body(market, resting))).status, 200);
  const other = await place(key, trader.body(market, resting));
  assert.deepEqual([other.status, JSON.parse(other.text).code], [409, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH']);
  assert.equal(JSON.parse((await place('again', trader.body(market, resting))).text).code, 'IDEMPOTENCY_KEY_MALFORMED');
  const stranger = await makeTrader(server);
  assert.equal((await place(key, stranger.body(market, resting), stranger)).status, 200);
  const batch = { orders: [trader.body(market, resting)] };
  const elsewhere = await send(trader, 'POST', '/v1/orders/batch', key, batch);
  assert.deepEqual([elsewhere.status, JSON.parse(elsewhere.text).code], [409, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH']);
});

test('a key that is empty, or sent twice, does not leave the request without one', async () => {
  const body = trader.body(market, resting);
  for (const key of ['', ' ', `${randomUUID()}, ${randomUUID()}`]) {
    const { status, text } = await place(key, body);
    assert.deepEqual([status, JSON.parse(text).code], [400, 'IDEMPOTENCY_KEY_MALFORMED'], key);
  }
  const { headers } = trader.client.prepareSigned('POST', '/v1/orders', body);
  const lines = Object.entries(headers).flat();
  for (let line = 0; line < 2; line++) lines.push('Idempotency-Key', randomUUID());
  assert.equal(await statusOf('POST', '/v1/orders', lines, JSON.stringify(body)), 400);
  assert.equal((await place(randomUUID(), body)).status, 200);
});

test('an order that another request placed stays a duplicate', async () => {
  const body = trader.body(market, resting);
  await trader.client.placeOrder(body);
  const { status, text } = await place(randomUUID(), body);
  assert.deepEqual([status, JSON.parse(text).error], [409, 'duplicate order']);
});

test('a hundred requests with one key place one order', async () => {
  const one = await makeTrader(server);
  const [key, body] = [randomUUID(), one.body(market, resting)];
  const replies = await Promise.all(Array.from({ length: 100 }, () => place(key, body, one)));
  const placed = replies.filter(({ status }) => status === 200);
  assert.equal(new Set(placed.map(({ text }) => text)).size, 1);
  assert.equal(placed.filter(({ isReplay }) => !isReplay).length, 1);
  for (const { status, text } of replies) {
    if (status !== 200) assert.equal(JSON.parse(text).code, 'IDEMPOTENCY_KEY_IN_PROGRESS');
  }
  assert.equal((await one.client.openOrders(market.id)).length, 1);
});

test('while the platform is paused answers are replayed; the refusal is kept for batches alone', async () => {
  const [placed, single, batch] = [randomUUID(), randomUUID(), randomUUID()];
  const body = trader.body(market, resting);
  const first = await place(placed, body);
  const [later, rows] = [trader.body(market, resting), { orders: [trader.body(market, resting)] }];
  await server.adminRequest('POST', '/admin/platform/pause');
  assert.deepEqual(await place(placed, body), { ...first, isReplay: true });
  assert.equal(JSON.parse((await place(single, later)).text).code, 'PLATFORM_PAUSED');
  const refused = await send(trader, 'POST', '/v1/orders/batch', batch, rows);
  await server.adminRequest('POST', '/admin/platform/resume');
  assert.equal((await place(single, later)).status, 200);
  assert.deepEqual(await send(trader, 'POST', '/v1/orders/batch', batch, rows), { ...refused, isReplay: true });
});

test('answers survive a kill, even answers that a crash prevented from being stored', async () => {
  const maker = await makeTrader(server);
  await maker.place(market, { price: '0.5', size: '10', outcomeIndex: 1 });
  const asked: [string, string, string, unknown][] = [];
  const answers: Reply[] = [];
  const ask = async (method: string, path: string, payload: unknown): Promise<{ order_hash: string }> => {
    const request: [string, string, string, unknown] = [method, path, randomUUID(), payload];
    const answer = await send(trader, ...request);
    asked.push(request);
    answers.push(answer);
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text);
  };
  // One fills against the maker in part and rests; the others are replaced, amended, placed and cancelled in batches.
  await ask('POST', '/v1/orders', trader.body(market, { price: '0.5', size: '20' }));
  const old = await ask('POST', '/v1/orders', trader.body(market, resting));
  const replacing = { cancel_hash: old.order_hash, new_order: trader.body(market, { price: '0.2', size: '10' }) };
  const replaced = await ask('POST', '/v1/orders/cancel-replace', replacing);
  const { order } = replaced as unknown as { order: { order_hash: string } };
  const amend = trader.body(market, { price: '0.2', size: '4' });
  await ask('PUT', `/v1/orders/${order.order_hash}/amend`, { new_order: amend });
  const twin = trader.body(market, resting);
  const batch = await ask('POST', '/v1/orders/batch', { orders: [twin, twin, trader.body(market, resting)] });
  const { results } = batch as unknown as { results: { order_hash: string }[] };
  await ask('DELETE', '/v1/orders/batch', { order_hashes: [results[0].order_hash, `0x${'12'.repeat(32)}`] });

  for (const crash of [() => server.kill().then(() => server.start()), crashBeforeAnswers]) {
    await crash();
    const returned = trader.reconnected();
    const before = await returned.client.openOrders(market.id);
    for (const [at, [method, path, key, payload]] of asked.entries()) {
      const mismatch = await send(returned, method, path, key, { other: true });
      assert.equal(JSON.parse(mismatch.text).code, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
      const again = await send(returned, method, path, key, payload);
      assert.deepEqual([again.status, again.text], [answers[at].status, answers[at].text]);
      assert.equal((await send(returned, method, path, key, payload)).isReplay, true);
    }
    assert.deepEqual(await returned.client.openOrders(market.id), before);
  }
});

test('splits and merges are carried out once for each key, even over a crash', async () => {
  const holder = await makeTrader(server);
  const convert = (movement: string, key: string, amount: string): Promise<Reply> => {
    return send(holder.reconnected(), 'POST', `/v1/markets/${market.id}/${movement}`, key, { amount });
  };
  const [first, second, back, poor] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const asked: [string, string, string][] = [
    ['split', first, '5000000'],
    ['split', second, '5000000'],
    ['merge', back, '2000000'],
    ['split', poor, '9000000000000'],
  ];
  const answers: Reply[] = [];
  for (const request of asked) answers.push(await convert(...request));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 400],
  );
  const ask = async (): Promise<void> => {
    for (const [at, request] of asked.entries()) {
      const again = await eventually('an answer', async () => {
        const answer = await convert(...request);
        return !answer.text.includes('ENGINE_BUSY') && answer;
      });
      assert.deepEqual([again.status, again.text.slice(0, 40)], [answers[at].status, answers[at].text.slice(0, 40)]);
    }
    const { tokens } = await holder.reconnected().client.balances();
    assert.deepEqual(
      tokens.map(({ available }) => available),
      ['8000000', '8000000'],
    );
  };
  await ask();
  await crashBeforeAnswers();
  await ask();
  await ask();
  assert.equal(JSON.parse((await convert('merge', first, '5000000')).text).code, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
});

test('a batch repeated after a crash answers the orders already placed and places the others', async () => {
  const poor = await makeTrader(server, { depositMicro: 2_000_000 });
  const orders = [poor.body(market, resting), {}, poor.body(market, { price: '0.1', size: '50' })];
  const key = randomUUID();
  const first = JSON.parse((await send(poor, 'POST', '/v1/orders/batch', key, { orders })).text);
  assert.deepEqual([first.succeeded, first.results[2].code], [1, 'INSUFFICIENT_BALANCE']);
  await crashBeforeAnswers();
  await deposit(server, poor.userId, poor.address, 10_000_000);
  const richer = poor.reconnected();
  const again = JSON.parse((await send(richer, 'POST', '/v1/orders/batch', key, { orders })).text);
  assert.deepEqual(again.results.slice(0, 2), first.results.slice(0, 2));
  assert.equal(again.results[2].status, 'success');
  assert.equal((await richer.client.openOrders(market.id)).length, 2);
  assertRefused(await richer.post(orders[0]), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
});

test('a conversion of a set that has lost its answer is answered as it was, also under the key of zeros', {
  skip: isOnChain && 'a chain has no event sets',
}, async () => {
  const { event, markets } = await server.admin.sets.create({
    event: { title: `Who wins ${randomUUID()}` },
    winners: 1,
    trading_ends_at: new Date(Date.now() + 86_400_000).toISOString(),
    markets: ['A', 'B', 'C'].map((title) => ({ title })),
  });
  const holder = await makeTrader(server);
  const path = `/v1/events/${event.id}/convert`;
  const payload = { direction: 'from_usdc', markets: [], amount: '2000000' };
  const first = await send(holder, 'POST', path, NIL_KEY, payload);
  assert.equal(first.status, 200, first.text);
  await server.admin.resolveMarket(markets[0]!.id, { outcome_index: 1 });
  const { usdc } = await holder.client.balances();
  await crashBeforeAnswers();
  const returned = holder.reconnected();
  const again = await send(returned, 'POST', path, NIL_KEY, payload);
  assert.deepEqual([again.status, JSON.parse(again.text)], [200, JSON.parse(first.text)]);
  assert.deepEqual((await returned.client.balances()).usdc, usdc, 'it was carried out once');
});
