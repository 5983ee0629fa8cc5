/**
 * The stream of a real server: who may connect, the frames of real orders, and their recovery after each kind of end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { StreamBook } from '../support/streamBook.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const SEED = 77;
const SEA = {
  title: 'Is the sea calm?',
  description: '',
  category: 'Sea',
  trading_ends_at: '2099-01-01T00:00:00.000Z',
};
const STREAM_SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'stream:market', 'stream:user'] as const;

const server = await sharedServer();
const streamer = () => makeTrader(server, { scopes: [...STREAM_SCOPES] });
const signed = (trader: Trader) => trader.client.prepareSigned('GET', '/v1/ws').headers;

async function keepsBook(client: StreamClient, marketId: string): Promise<StreamBook> {
  const book = new StreamBook(marketId);
  await client.settle();
  book.follow(client.frames);
  return book;
}

// The first test, so that nobody else's connections are counted.
test('a sixth connection of a key, a 21st without one: error, then 1008 (RULES.md 8.2)', async (t) => {
  const alice = await streamer();
  for (const [most, headersOf] of [
    [5, () => signed(alice)],
    [20, () => ({})],
  ] as const) {
    const open = () => StreamClient.open(t, server.baseUrl, headersOf());
    const clients: StreamClient[] = [];
    for (let i = 0; i < most; i++) clients.push(await open());
    await assertClosed(await open(), 'RATE_LIMITED');
    for (const client of clients) await client.settle();
    clients[0].end();
    await clients[0].closed;
    await eventually('room for another', async () => {
      const next = await open();
      return next.ask('ping').then(
        () => true,
        () => false,
      );
    });
  }
});

test('the upgrade is signed like any GET; a bad credential refuses it with 401 (RULES.md 8.1)', async (t) => {
  const alice = await streamer();
  const headers = signed(alice);
  const client = await StreamClient.open(t, server.baseUrl, headers);
  assert.equal((await client.subscribe({ user: true })).user, true);

  const repeated = await StreamClient.refused(server.baseUrl, headers);
  assert.deepEqual([repeated.status, repeated.body.error], [401, 'nonce already used']);
  const forged = await StreamClient.refused(server.baseUrl, { ...signed(alice), 'x-svc-signature': 'A'.repeat(43) });
  assert.deepEqual([forged.status, forged.body.code, forged.body.error], [401, 'UNAUTHORIZED', 'invalid signature']);
  const unknown = await StreamClient.refused(server.baseUrl, { ...signed(alice), 'x-svc-api-key': 'key_nobody' });
  assert.deepEqual([unknown.status, unknown.body.code], [401, 'API_KEY_UNAUTHORIZED']);
  const other = alice.client.prepareSigned('GET', '/v1/time').headers;
  assert.equal((await StreamClient.refused(server.baseUrl, other)).status, 401);

  const plain = await server.request('GET', '/v1/ws');
  assert.deepEqual([plain.status, plain.body.code], [400, 'VALIDATION_ERROR']);
});

test('public channels need no key, others a key with their scope (RULES.md 8.1)', async (t) => {
  const market = await makeMarket(server);
  const anonymous = await StreamClient.open(t, server.baseUrl);
  assert.deepEqual((await anonymous.subscribe({ markets: [market.id.toUpperCase()] })).markets, [market.id]);
  const refused = await anonymous.ask('subscribe', { user: true });
  assert.deepEqual([refused.channel, refused.data.code], ['error', 'UNAUTHORIZED']);

  const [noStream, onlyUser] = [
    await makeTrader(server, { scopes: ['read:account'] }),
    await makeTrader(server, { scopes: ['stream:user'] }),
  ];
  const client = await StreamClient.open(t, server.baseUrl, signed(noStream));
  for (const data of [{ markets: [market.id] }, { user: true }]) {
    assert.equal((await client.ask('subscribe', data)).data.code, 'INSUFFICIENT_SCOPE');
  }
  const userClient = await StreamClient.open(t, server.baseUrl, signed(onlyUser));
  assert.equal((await userClient.subscribe({ user: true })).user, true);
  const both = await userClient.ask('subscribe', { user: true, markets: [market.id] });
  assert.equal(both.data.code, 'INSUFFICIENT_SCOPE');
});

test('a mint is a trade, a delta of the maker, and a fill for each of the two (RULES.md 8.4, 8.6, 8.9)', async (t) => {
  const market = await makeMarket(server);
  const [alice, bob] = [await streamer(), await streamer()];
  const [maker, taker] = [
    await StreamClient.open(t, server.baseUrl, signed(alice)),
    await StreamClient.open(t, server.baseUrl, signed(bob)),
  ];
  await maker.subscribe({ markets: [market.id], user: true });
  await taker.subscribe({ user: true });
  const rests = await alice.place(market, { price: '0.65', size: '10' });
  const takes = await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '4' });
  await Promise.all([maker.settle(), taker.settle()]);

  const [fill] = takes.fills;
  const trade = maker.of('trade')[0];
  assert.deepEqual([trade.market_id, trade.sequence], [market.id, 2]);
  assert.deepEqual(trade.data, {
    trade_id: fill!.trade_id,
    filled_at: trade.data.filled_at,
    outcome_index: 1,
    taker_side: 'BUY',
    price: '0.35',
    token_quantity_atomic: '4000000',
    notional_usdc_micro: '1400000',
    match_type: 'mint',
  });
  assert.deepEqual(maker.of('book_delta')[1].data, {
    event: 'fill',
    order_id: rests.order_id,
    outcome_index: 0,
    side: 'BUY',
    price: '0.65',
    token_quantity_atomic: '4000000',
    remaining_token_quantity_atomic: '6000000',
    level: { outcome_index: 0, side: 'BUY', price: '0.65', token_quantity_atomic: '6000000', num_orders: 1 },
  });
  const record = await alice.client.getOrder(rests.order_hash);
  assert.deepEqual(maker.of('fill')[0].data, {
    order_id: rests.order_id,
    order_hash: rests.order_hash,
    trade_id: fill!.trade_id,
    market_id: market.id,
    filled_at: trade.data.filled_at,
    role: 'maker',
    party_side: 'BUY',
    party_outcome_index: 0,
    price: '0.65',
    token_quantity_atomic: '4000000',
    notional_usdc_micro: '2600000',
    fee_amount: '20000',
    fee_asset: 'TOKEN',
    remaining: record.remaining,
    status: record.status,
  });
  assert.deepEqual(
    taker.frames.filter(({ user_sequence }) => user_sequence !== undefined && user_sequence > 0).map(briefOf),
    [
      [1, 'order_status', 'open', 'placed'],
      [2, 'fill', 'filled', undefined],
      [3, 'order_status', 'filled', 'filled'],
    ],
  );
  assert.equal(taker.of('fill')[0].data.notional_usdc_micro, '1400000');
});

test('every private frame has the names its order was placed with, again after kill -9 (RULES.md 8.9)', async (t) => {
  const market = await makeMarket(server);
  const [alice, bob] = [
    await makeTrader(server, { scopes: [...STREAM_SCOPES] }),
    await makeTrader(server, { scopes: [...STREAM_SCOPES] }),
  ];
  await alice.client.setOrderGroup('quotes', { window_seconds: 60, max_token_quantity_atomic: '900000000' });
  const live = await StreamClient.open(t, server.baseUrl, signed(alice));
  await live.subscribe({ user: true });
  const clientOrderId = 'a "b" \\ ~';
  await alice.place(market, { price: '0.40', size: '4', clientOrderId, orderGroup: 'quotes' });
  await alice.place(market, { price: '0.39', size: '4', clientOrderId: 'alone' });
  await alice.place(market, { price: '0.38', size: '4', orderGroup: 'quotes' });
  await alice.place(market, { price: '0.37', size: '4' });
  await bob.place(market, { outcomeIndex: 1, price: '0.60', size: '2' });
  await alice.client.cancelByClientId(clientOrderId);
  await live.settle();
  const both = [clientOrderId, 'quotes'];
  const expected = [
    [1, 'order_status', 'placed', ...both],
    [2, 'order_status', 'placed', 'alone', undefined],
    [3, 'order_status', 'placed', undefined, 'quotes'],
    [4, 'order_status', 'placed', undefined, undefined],
    [5, 'fill', undefined, ...both],
    [6, 'order_status', 'user', ...both],
  ];
  const sent = privateOf(live);
  assert.deepEqual(sent.map(namesOf), expected);
  const replayed = await StreamClient.open(t, server.baseUrl, signed(alice));
  await replayed.subscribe({ user: true, user_since: 0 });
  await replayed.until(({ user_sequence }) => user_sequence === 6);
  assert.deepEqual(privateOf(replayed), sent);

  await server.kill();
  await server.start();
  const back = alice.reconnected();
  const client = await StreamClient.open(t, server.baseUrl, signed(back));
  await client.subscribe({ user: true, user_since: 0 });
  await client.until(({ user_sequence }) => user_sequence === 6);
  assert.deepEqual(privateOf(client), sent);
  // Orders that were open before the start, and one that is filled on arrival.
  await bob.reconnected().client.split(market.id, 20_000_000);
  await bob.reconnected().place(market, { side: 'SELL', price: '0.38', size: '5' });
  await bob.reconnected().place(market, { side: 'SELL', price: '0.50', size: '1' });
  await back.place(market, { price: '0.50', size: '1', clientOrderId: 'taker', orderGroup: 'quotes' });
  // Frames after a start wait until those of all earlier events were published from the read model.
  await client.until(({ user_sequence }) => user_sequence === 12);
  assert.deepEqual(privateOf(client).slice(6).map(namesOf), [
    [7, 'fill', undefined, 'alone', undefined],
    [8, 'order_status', 'filled', 'alone', undefined],
    [9, 'fill', undefined, undefined, 'quotes'],
    [10, 'order_status', 'placed', 'taker', 'quotes'],
    [11, 'fill', undefined, 'taker', 'quotes'],
    [12, 'order_status', 'filled', 'taker', 'quotes'],
  ]);
  const { remaining } = privateOf(client)[9].data;
  assert.equal(remaining, '500000', 'an order is placed before any of it is filled');
});

test('the killed remainder of an order off the grid is sent as in its record (RULES.md 1.6, 8.9)', async (t) => {
  const market = await makeMarket(server);
  const [alice, bob] = [await streamer(), await streamer()];
  await alice.place(market, { price: '0.65', size: '3' });
  await bob.client.split(market.id, 20_000_000);
  const client = await StreamClient.open(t, server.baseUrl, signed(bob));
  await client.subscribe({ user: true });
  const body = bob.bodyOf(
    market,
    { side: 'SELL', price: '0.60', size: '10', timeInForce: 'FAK' },
    10_000_050,
    6_000_000,
  );
  const placed = await bob.client.placeOrder(body);
  const record = await bob.client.getOrder(placed.order_hash);
  // Private frames leave once their log has them, which may be after the answer.
  const end = await eventually('the end of the order', async () => {
    const last = client.of('order_status').at(-1)?.data;
    return last?.status !== 'open' && last;
  });
  assert.deepEqual(
    [end.reason, end.status, end.remaining, end.filled_amount],
    ['fak_remainder', record.status, record.remaining, record.filled_amount],
  );
});

test("under random orders the stream's book equals the one of GET /v1/orders/book (RULES.md 8.4)", async (t) => {
  const market = await makeMarket(server);
  const traders = [await streamer(), await streamer()];
  for (const trader of traders) await trader.client.split(market.id, 100_000_000);
  const client = await StreamClient.open(t, server.baseUrl);
  await client.subscribe({ markets: [market.id], snapshot: true, checksum: true });
  const random = new Random(SEED);
  const open: { trader: Trader; hash: string }[] = [];
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 20 }, () => act(random, market, random.pick(traders), open)));
    const book = await keepsBook(client, market.id);
    book.assertShown(await traders[0].client.book(market.id, { levels: 100 }));
    assert.ok(book.checked > 1, `seed ${SEED}`);
  }
});

test('too large a message: error, 1008; too many messages or markets: an error alone (RULES.md 8.2)', async (t) => {
  const large = await StreamClient.open(t, server.baseUrl);
  large.send({ channel: 'ping', id: 'x'.repeat(16_384) });
  await assertClosed(large, 'PAYLOAD_TOO_LARGE');
  const huge = await StreamClient.open(t, server.baseUrl);
  huge.send('x'.repeat(900_000));
  await assertClosed(huge, 'PAYLOAD_TOO_LARGE');

  const eager = await StreamClient.open(t, server.baseUrl);
  for (let i = 0; i < 21; i++) eager.send({ channel: 'ping', id: i });
  const refused = await eager.until(({ id }) => id === 20);
  assert.deepEqual([refused.channel, refused.data.code], ['error', 'RATE_LIMITED']);
  assert.ok(refused.data.retry_after_ms >= 1 && refused.data.retry_after_ms <= 1000);
  assert.equal(eager.of('pong').length, 20);

  const greedy = await StreamClient.open(t, server.baseUrl);
  const lines = Array.from({ length: 501 }, (_, at) =>
    JSON.stringify({ market: { external_event_id: `sea-${at}`, ...SEA } }),
  );
  const { body: imported } = await server.adminRequest('POST', '/admin/catalogue/import', lines.join('\n'));
  const ids: string[] = imported.lines.map(({ id }: Json) => id);
  assert.equal((await greedy.subscribe({ markets: ids.slice(0, 300) })).markets.length, 300);
  assert.equal((await greedy.subscribe({ markets: ids.slice(100, 500), snapshot: true })).markets.length, 500);
  // Books come at the pace of the client, so its next answer may overtake them.
  const booked = () => new Set(greedy.of('book').map(({ market_id }) => market_id)).size;
  await greedy.until(() => booked() === 400);
  assert.equal(greedy.of('book').length, 400);
  const { channel, data } = await greedy.ask('subscribe', { markets: ids.slice(500) });
  assert.deepEqual([channel, data.code, data.error], ['error', 'INVALID_REQUEST', 'too many markets (max 500)']);
  assert.equal((await greedy.subscribe({ markets: ids.slice(0, 1) })).markets.length, 500);
  for (const part of [ids.slice(0, 300), ids.slice(200, 500)]) await greedy.subscribe({ market: { markets: part } });
  const over = await greedy.ask('subscribe', { market: { markets: ids.slice(500), all: true } });
  assert.deepEqual([over.data.code, over.data.error], ['INVALID_REQUEST', 'too many markets (max 500)']);
  assert.equal((await greedy.subscribe({ market: { all: true } })).market.markets.length, 500);
});

test('a revoked key closes its sockets at once (RULES.md 8.1)', async (t) => {
  const alice = await streamer();
  const client = await StreamClient.open(t, server.baseUrl, signed(alice));
  await client.subscribe({ user: true });
  await server.admin.revokeApiKey(signed(alice)['x-svc-api-key']);
  await assertClosed(client, 'API_KEY_UNAUTHORIZED');
});

test('a connection that ends takes the orders of its account with it, if it said so (RULES.md 8.10)', async (t) => {
  const market = await makeMarket(server);
  const alice = await streamer();
  const watcher = await StreamClient.open(t, server.baseUrl);
  await watcher.subscribe({ markets: [market.id] });
  const client = await StreamClient.open(t, server.baseUrl, signed(alice));
  await client.subscribe({ user: true, cancel_on_disconnect: true });
  const { order_id, order_hash } = await alice.place(market, { price: '0.65', size: '10' });
  client.socket.terminate();
  const { data } = await watcher.until(({ data: { event } }) => event === 'cancel');
  assert.equal(data.order_id, order_id);
  assert.equal((await alice.client.getOrder(order_hash)).status, 'cancelled');
});

test('SIGTERM closes sockets with 1001, and cancels orders on request (RULES.md 8.2, 8.10)', async (t) => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { scopes: [...STREAM_SCOPES] });
  const { order_hash } = await alice.place(market, { price: '0.65', size: '10' });
  const client = await StreamClient.open(t, server.baseUrl, signed(alice));
  await client.subscribe({ user: true, cancel_on_disconnect: true });
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await client.closed, { code: 1001, reason: 'server is stopping' });
  await server.start();
  assert.equal((await alice.reconnected().client.getOrder(order_hash)).status, 'cancelled');
});

test('a market goes on counting where it was after kill -9 in the middle of a flow (RULES.md 8.3)', async (t) => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { scopes: [...STREAM_SCOPES] });
  const before = await StreamClient.open(t, server.baseUrl);
  await before.subscribe({ markets: [market.id], snapshot: true, checksum: true });
  const bodies = Array.from({ length: 40 }, (_, at) => alice.body(market, { price: `0.${10 + at}`, size: '2' }));
  const answers = Promise.allSettled(bodies.map((body) => alice.post(body)));
  await before.until(({ sequence }) => sequence >= 5);
  await server.kill();
  await answers;
  const sent = new StreamBook(market.id);
  sent.follow(before.frames);

  await server.start();
  const back = alice.reconnected();
  const client = await StreamClient.open(t, server.baseUrl);
  await client.subscribe({ markets: [market.id], from_sequence: { [market.id]: sent.sequence }, checksum: true });
  await back.place(market, { price: '0.95', size: '2' });
  await client.settle();
  const last = sent.sequence!;
  sent.follow(client.frames);
  assert.ok(sent.sequence! > last, 'no frame is sent twice');
  sent.assertShown(await back.client.book(market.id, { levels: 100 }));
});

test('the document names every message and refers to nothing it does not have', async () => {
  const { body, status } = await server.request('GET', '/asyncapi.json');
  assert.equal(status, 200);
  assert.equal(body.asyncapi, '3.0.0');
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!);
  assert.ok(references.length > 20);
  for (const path of references) {
    assert.ok(path.split('/').reduce((place: Json, name) => place?.[name], body) !== undefined, path);
  }
});

function privateOf({ frames }: StreamClient): Json[] {
  return frames.filter(({ channel }) => channel === 'fill' || channel === 'order_status');
}

function namesOf({ user_sequence, channel, data }: Json): unknown[] {
  return [user_sequence, channel, data.reason, data.client_order_id, data.order_group];
}

function briefOf({ user_sequence, channel, data }: Json): unknown[] {
  return [user_sequence, channel, data.status, data.reason];
}

async function assertClosed(client: StreamClient, code: string): Promise<void> {
  const { code: closeCode, reason } = await client.closed;
  const last = client.frames.at(-1);
  assert.deepEqual([last.channel, last.data.code, last.data.error, closeCode], ['error', code, reason, 1008]);
}

/** Places an order around the middle, or ends one. */
async function act(
  random: Random,
  market: Awaited<ReturnType<typeof makeMarket>>,
  trader: Trader,
  open: { trader: Trader; hash: string }[],
): Promise<void> {
  if (open.length > 0 && random.chance(30)) {
    const [order] = open.splice(random.below(open.length), 1);
    // It may have been filled in the meantime.
    await order!.trader.send('DELETE', `/v1/orders/${order!.hash}`);
    return;
  }
  const placed = await trader.place(market, {
    side: random.pick(['BUY', 'SELL'] as const),
    outcomeIndex: random.pick([0, 1] as const),
    price: `0.${random.between(45, 55)}`,
    size: String(random.between(1, 4)),
  });
  open.push({ trader, hash: placed.order_hash });
}
