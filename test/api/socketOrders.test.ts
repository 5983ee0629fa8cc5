/**
 * Orders on a socket of a real server (RULES.md 8.13 to 8.16): each action answers like its route over HTTP. Every row
 * is sent both ways, by two traders in the same state or, if it is refused, by the same one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { OPCODE, RawSocket } from '../support/rawSocket.ts';
import { afterEachOfFile, type Json, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader, type TraderOptions } from '../support/traders.ts';

const server = await sharedServer();
const market = await makeMarket(server);
const ALL_SCOPES: NonNullable<TraderOptions['scopes']> = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user'];
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';

afterEachOfFile(() => assertBalanced(server));

const trader = (options: TraderOptions = {}) =>
  makeTrader(server, { scopes: ALL_SCOPES, requestsPerSecond: 5000, ...options });
const headersOf = (of: Trader) => of.client.prepareSigned('GET', '/v1/ws').headers;
const connect = (t: Parameters<typeof StreamClient.open>[0], of: Trader) =>
  StreamClient.open(t, server.baseUrl, headersOf(of));

type Answer = { status: number; body: Json; retry_after?: number; replayed?: boolean };

async function ask(client: StreamClient, data: unknown): Promise<Answer> {
  const answer = await client.ask('order', data);
  assert.equal(answer.channel, 'order_result', JSON.stringify(answer));
  return answer.data;
}

/** Ids, hashes and times differ between two requests that do the same. */
function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value;
  const varies = /^(order_id|order_hash|cancelled_order_hash|trade_id|maker_order_id|server_time|tombstone_until)$/;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, varies.test(name) ? typeof member : shapeOf(member)]),
  );
}

type Sent = { method: string; path: string; body?: Json; headers?: Record<string, string>; data: Json };

async function overHttp(of: Trader, { method, path, body, headers }: Sent): Promise<Answer> {
  const request = of.client.prepareSigned(method, path, body);
  const answer = await server.request(method, path, request.body === '' ? undefined : request.body, {
    ...request.headers,
    ...headers,
  });
  const retryAfter = answer.headers.get('retry-after');
  return {
    status: answer.status,
    body: answer.body,
    ...(retryAfter === null ? {} : { retry_after: Number(retryAfter) }),
    ...(answer.headers.get('idempotency-replayed') === null ? {} : { replayed: true }),
  };
}

const asAction = (action: string, method: string, path: string, body: Json): Sent => ({
  method,
  path,
  body,
  data: { action, ...body },
});

/** The requests of a trader who has an order open at 0.20, a new one for each row. */
const DONE: Record<string, (of: Trader, open: { hash: string; clientId: string }) => Sent> = {
  'place, resting': (of) => asAction('place', 'POST', '/v1/orders', of.body(market, { price: '0.30', size: '5' })),
  'place with a client order id': (of) => {
    const body = { ...of.body(market, { price: '0.30', size: '5' }), client_order_id: 'quote é'.replace('é', 'e') };
    return asAction('place', 'POST', '/v1/orders', body);
  },
  'cancel by hash': (_, { hash }) => ({
    method: 'DELETE',
    path: `/v1/orders/${hash}`,
    data: { action: 'cancel', order_hash: hash },
  }),
  'cancel by client order id': (_, { clientId }) => ({
    method: 'DELETE',
    path: `/v1/orders/by-client-id/${encodeURIComponent(clientId)}`,
    data: { action: 'cancel', client_order_id: clientId },
  }),
  'cancel with a tombstone': () => {
    const hash = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`;
    return {
      method: 'DELETE',
      path: `/v1/orders/${hash}?tombstone=1`,
      data: { action: 'cancel', order_hash: hash, tombstone: true },
    };
  },
  cancel_replace: (of, { hash }) => {
    const body = { cancel_hash: hash, new_order: of.body(market, { price: '0.25', size: '4' }) };
    return asAction('cancel_replace', 'POST', '/v1/orders/cancel-replace', body);
  },
  amend: (of, { hash }) => {
    const body = { new_order: of.body(market, { price: '0.20', size: '3' }) };
    return {
      method: 'PUT',
      path: `/v1/orders/${hash}/amend`,
      body,
      data: { action: 'amend', order_hash: hash, ...body },
    };
  },
  'batch_place with a bad row': (of) => {
    const orders = [of.body(market, { price: '0.26', size: '4' }), { side: 'BUY' }];
    return asAction('batch_place', 'POST', '/v1/orders/batch', { orders });
  },
  'batch_cancel with a bad row': (_, { hash }) =>
    asAction('batch_cancel', 'DELETE', '/v1/orders/batch', { order_hashes: [hash, 'no hash'] }),
  cancel_market: () => asAction('cancel_market', 'DELETE', '/v1/orders/cancel-market', { market_id: market.id }),
  cancel_all: () => ({ method: 'DELETE', path: '/v1/orders/cancel-all', data: { action: 'cancel_all' } }),
  heartbeat: () => ({ method: 'POST', path: '/v1/orders/heartbeat', data: { action: 'heartbeat' } }),
};

test('every action has the effect and the answer of its HTTP route (RULES.md 8.13)', async (t) => {
  const [alice, bob] = await Promise.all([trader(), trader()]);
  const socket = await connect(t, alice);
  for (const [name, make] of Object.entries(DONE)) {
    const [first, second] = await Promise.all([alice, bob].map((each) => restingOf(each, market)));
    const [sent, expected] = [await ask(socket, make(alice, first!).data), await overHttp(bob, make(bob, second!))];
    assert.equal(expected.status < 300, true, `${name}: ${JSON.stringify(expected)}`);
    assert.deepEqual(shapeOf(sent), shapeOf(expected), name);
    const [mine, others] = await Promise.all([alice, bob].map(({ client }) => client.openOrders(market.id)));
    const facts = (orders: readonly Json[]) =>
      orders.map(({ price, remaining, status }) => ({ price, remaining, status }));
    assert.deepEqual(facts(mine!), facts(others!), `${name}: the books of both`);
    await Promise.all([alice, bob].map(({ client }) => client.cancelAll()));
  }
});

async function restingOf(of: Trader, where: OrderMarket): Promise<{ hash: string; clientId: string }> {
  const clientId = 'resting 1';
  const body = { ...of.body(where, { price: '0.20', size: '5' }), client_order_id: clientId };
  const { order_hash } = await of.client.placeOrder(body);
  return { hash: order_hash, clientId };
}

const cancelOf = (hash: string): Sent => ({
  method: 'DELETE',
  path: `/v1/orders/${hash}`,
  data: { action: 'cancel', order_hash: hash },
});

/** Each is refused in the same way however often and by whichever way one trader sends it. */
function refusals(of: Trader): Record<string, Sent> {
  return { ...refusedPlacements(of), ...refusedOthers(of.body(market, { price: '0.30', size: '5' })) };
}

function refusedPlacements(of: Trader): Record<string, Sent> {
  const good = of.body(market, { price: '0.30', size: '5' });
  const place = (changes: Json): Sent => asAction('place', 'POST', '/v1/orders', { ...good, ...changes });
  const withHeader = (sent: Sent, field: string, header: string, value: Json): Sent => ({
    ...sent,
    headers: { [header]: String(value) },
    data: { ...sent.data, [field]: value },
  });
  return {
    'an empty body': asAction('place', 'POST', '/v1/orders', {}),
    'an unknown field': place({ sied: 'BUY' }),
    'a field of the wrong type': place({ outcome_index: '0' }),
    'a side that is none': place({ side: 'HOLD' }),
    'text beyond ASCII': place({ side: 'gr\u00fcn \ud83d\udc4d' }),
    'an amount off the grid': place({ maker_amount: '1500001' }),
    'another token': place({ token_id: market.no_token_id }),
    'an unknown market': place({ market_id: UNKNOWN_MARKET }),
    'a wrong signature': place({ signature: `0x${'1b'.repeat(65)}` }),
    'a signature over something else': place({ salt: '77' }),
    'GTD without its end': place({ time_in_force: 'GTD' }),
    'another wallet': place({ maker: `0x${'12'.repeat(20)}` }),
    'another fee': place({ fee_rate_bps: 7 }),
    'an unknown group': place({ order_group: 'nobody' }),
    'a deadline that is none': withHeader(place({}), 'deadline', 'x-svc-deadline', 'tomorrow'),
    'a deadline that has passed': withHeader(place({}), 'deadline', 'x-svc-deadline', 5),
    'a key that is none': withHeader(place({}), 'idempotency_key', 'idempotency-key', 'k'),
    'too large an order': asAction('place', 'POST', '/v1/orders', of.body(market, { price: '0.90', size: '900000' })),
  };
}

function refusedOthers(good: Json): Record<string, Sent> {
  return {
    'a cancel of nothing': cancelOf(UNKNOWN_HASH),
    'a cancel of no hash': cancelOf('0x12'),
    'a cancel with a body': {
      ...cancelOf(UNKNOWN_HASH),
      body: { market_id: market.id },
      data: { action: 'cancel', order_hash: UNKNOWN_HASH, market_id: market.id },
    },
    'a tombstone that is no flag': {
      ...cancelOf(`${UNKNOWN_HASH}?tombstone=maybe`),
      data: { action: 'cancel', order_hash: UNKNOWN_HASH, tombstone: 'maybe' },
    },
    'a cancel by a name that is none': {
      method: 'DELETE',
      path: '/v1/orders/by-client-id/%00',
      data: { action: 'cancel', client_order_id: '\0' },
    },
    'a replacement of nothing': asAction('cancel_replace', 'POST', '/v1/orders/cancel-replace', {
      cancel_hash: UNKNOWN_HASH,
      new_order: good,
    }),
    'an amend of nothing': {
      method: 'PUT',
      path: `/v1/orders/${UNKNOWN_HASH}/amend`,
      body: { new_order: good },
      data: { action: 'amend', order_hash: UNKNOWN_HASH, new_order: good },
    },
    'an amend without a signature': {
      method: 'PUT',
      path: `/v1/orders/${UNKNOWN_HASH}/amend`,
      body: { maker_amount: '5' },
      data: { action: 'amend', order_hash: UNKNOWN_HASH, maker_amount: '5' },
    },
    'an empty batch': asAction('batch_place', 'POST', '/v1/orders/batch', { orders: [] }),
    'a batch of 16': asAction('batch_place', 'POST', '/v1/orders/batch', { orders: new Array(16).fill({}) }),
    'a batch that is none': asAction('batch_place', 'POST', '/v1/orders/batch', { orders: 5 }),
    'no hashes': asAction('batch_cancel', 'DELETE', '/v1/orders/batch', { order_hashes: [] }),
    'an unknown market to cancel in': asAction('cancel_market', 'DELETE', '/v1/orders/cancel-market', {
      market_id: UNKNOWN_MARKET,
    }),
  };
}

test("every refusal is word for word the HTTP route's, and changes nothing (RULES.md 8.13)", async (t) => {
  const alice = await trader();
  const socket = await connect(t, alice);
  for (const [name, sent] of Object.entries(refusals(alice))) {
    const [answer, expected] = [await ask(socket, sent.data), await overHttp(alice, sent)];
    assert.equal(expected.status >= 400, true, `${name}: ${JSON.stringify(expected)}`);
    assert.deepEqual(answer, expected, name);
  }
  assert.deepEqual(await alice.client.openOrders(market.id), []);
  assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
});

test('messages that are no request are errors, and the connection goes on (RULES.md 8.14)', async (t) => {
  const alice = await trader();
  const socket = await connect(t, alice);
  const place = { action: 'place', ...alice.body(market, { price: '0.30', size: '5' }) };
  for (const [message, error] of [
    [{ channel: 'order', data: place }, 'missing field: id'],
    [{ channel: 'order', id: {}, data: place }, 'invalid id'],
    [{ channel: 'order', id: 1 }, 'missing field: data'],
    [{ channel: 'order', id: 1, data: [place] }, 'invalid data'],
    [{ channel: 'order', id: 1, data: { ...place, action: 'steal' } }, 'invalid action'],
    [{ channel: 'order', id: 1, data: { ...place, action: undefined } }, 'missing field: action'],
    [{ channel: 'order', id: 1, data: { ...place, action: 'constructor' } }, 'invalid action'],
    [{ channel: 'order', id: 1, data: place, more: 1 }, 'unknown field: more'],
    ['{"channel":"order","id":1,"data":{"action":"cancel_all","action":"place"}}', 'message has a duplicate field'],
    [Buffer.from(JSON.stringify({ channel: 'order', id: 1, data: place })), 'message is not text'],
  ] as const) {
    const answer = socket.next(({ channel }) => channel === 'error');
    socket.send(message);
    const { data } = await answer;
    assert.deepEqual([data.code, data.error], ['VALIDATION_ERROR', error]);
  }
  assert.equal((await ask(socket, place)).status, 200);
  await alice.client.cancelAll();
  const huge = await connect(t, alice);
  huge.send({ channel: 'order', id: 1, data: { ...place, order_group: 'x'.repeat(70_000) } });
  assert.equal((await huge.closed).code, 1008);
});

test('a repeat with the same key gets the first answer, from either transport (RULES.md 8.15)', async (t) => {
  const alice = await trader();
  const socket = await connect(t, alice);
  const body = alice.body(market, { price: '0.31', size: '5' });
  const key = crypto.randomUUID();
  const first = await ask(socket, { action: 'place', ...body, idempotency_key: key });
  assert.equal(first.status, 200);
  assert.deepEqual(await ask(socket, { action: 'place', idempotency_key: key, ...body }), { ...first, replayed: true });
  const sent = { method: 'POST', path: '/v1/orders', body, headers: { 'idempotency-key': key }, data: {} };
  assert.deepEqual(await overHttp(alice, sent), { ...first, replayed: true });
  const other = { ...body, client_order_id: 'another' };
  const mismatch = await ask(socket, { action: 'place', ...other, idempotency_key: key });
  assert.equal(mismatch.body.code, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
  const unguarded = await ask(socket, { action: 'place', ...other, idempotency_key: '' });
  assert.equal(unguarded.body.code, 'IDEMPOTENCY_KEY_MALFORMED');
  const undated = await ask(socket, { action: 'place', ...other, deadline: '' });
  assert.equal(undated.body.error, 'invalid X-SVC-DEADLINE');
  assert.equal((await alice.client.openOrders(market.id)).length, 1);
  await alice.client.cancelAll();
});

test('a socket has the scopes of its key, and without a key no action is carried out (RULES.md 8.16)', async (t) => {
  const cancel = { action: 'cancel', order_hash: UNKNOWN_HASH };
  const reader = await trader({ scopes: ['read:account', 'stream:user'] });
  const answer = await ask(await connect(t, reader), cancel);
  assert.deepEqual([answer.status, answer.body.code], [403, 'INSUFFICIENT_SCOPE']);
  const nobody = await ask(await StreamClient.open(t, server.baseUrl), cancel);
  assert.deepEqual([nobody.status, nobody.body.error], [401, 'missing required API key headers']);
});

test('each of 1,500 requests that are sent at once gets one answer, also beside another client', async (t) => {
  const [alice, bob] = await Promise.all([trader({ requestsPerSecond: 100_000 }), trader()]);
  const [socket, other] = [await connect(t, alice), await connect(t, bob)];
  const all = Array.from({ length: 1500 }, () => ask(socket, { action: 'cancel', order_hash: UNKNOWN_HASH }));
  assert.equal((await ask(other, { action: 'cancel', order_hash: UNKNOWN_HASH })).status, 404);
  for (const answer of await Promise.all(all)) {
    if (answer.status !== 404) assert.ok(['RATE_LIMITED', 'ENGINE_BUSY'].includes(answer.body.code), answer.body.code);
  }
});

test('revoking a key ends its connections, and actions sent before stay carried out (RULES.md 8.16)', async (t) => {
  const alice = await trader();
  const socket = await connect(t, alice);
  const placed = await ask(socket, { action: 'place', ...alice.body(market, { price: '0.29', size: '5' }) });
  await server.admin.revokeApiKey(alice.credentials.keyId);
  socket.send({
    channel: 'order',
    id: 'late',
    data: { action: 'place', ...alice.body(market, { price: '0.28', size: '5' }) },
  });
  assert.equal((await socket.closed).code, 1008);
  const again = await server.admin.createApiKey(alice.userId, { scopes: ALL_SCOPES });
  const renewed = alice.withKey({ keyId: again.key_id, secret: again.secret, passphrase: again.passphrase });
  const open = await renewed.client.openOrders(market.id);
  assert.deepEqual(
    open.map(({ order_hash }) => order_hash),
    [placed.body.order_hash],
  );
  await renewed.client.cancelAll();
});

test('requests faster than they can be handled close their socket, and no other waits (RULES.md 8.2)', async (t) => {
  const [eager, patient] = [await trader(), await trader()];
  const flood = await RawSocket.open(t, server.baseUrl, '/v1/ws', headersOf(eager));
  const other = await connect(t, patient);
  const request = JSON.stringify({ channel: 'order', id: 1, data: { action: 'cancel', order_hash: '0x' } });
  const flooding = (async () => {
    while (!flood.isClosed) await flood.send(10_000, OPCODE.TEXT, request);
  })();
  await eventually('the close', async () => flood.isClosed);
  await flooding;
  assert.match(flood.received, /server is busy$/);
  assert.equal((await ask(other, { action: 'cancel', order_hash: UNKNOWN_HASH })).status, 404);
});
