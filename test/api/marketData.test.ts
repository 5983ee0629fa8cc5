/** A market's grid, fee and best prices on a real server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const READS = ['tick-size', 'bbo', 'spread', 'midpoint'];

test('the tick size tells the grid, the lot and the smallest order', async () => {
  const market = await makeMarket(server);
  const answer = await server.request('GET', `/v1/market-data/${market.id}/tick-size`);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, {
    market_id: market.id,
    tick_size: '0.01',
    ticks_per_unit: 100,
    lot_size_atomic: '100',
    min_order_size_atomic: '1000000',
  });
  const fine = await makeMarket(server, { ticks_per_unit: 10_000, min_order_size_atomic: '5000000' });
  assert.deepEqual((await server.request('GET', `/v1/market-data/${fine.id}/tick-size`)).body, {
    market_id: fine.id,
    tick_size: '0.0001',
    ticks_per_unit: 10_000,
    lot_size_atomic: '10000',
    min_order_size_atomic: '5000000',
  });
});

test('the fee rate is the one to sign, and follows the market', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  assert.deepEqual(await alice.client.feeRate(market.id), {
    market_id: market.id,
    maker_fee_bps: 50,
    taker_fee_bps: 50,
    maker_fee_pct: '0.5%',
    taker_fee_pct: '0.5%',
  });
  await server.admin.patchMarket(market.id, { fee_bps: 25 });
  const moved = await alice.client.feeRate(market.id);
  assert.deepEqual([moved.maker_fee_bps, moved.maker_fee_pct], [25, '0.25%']);
});

test('the fee rate is for keys that may read their account', async () => {
  const market = await makeMarket(server);
  const path = `/v1/market-data/${market.id}/fee-rate`;
  const anonymous = await server.request('GET', path);
  assertRefused(anonymous, 401, 'UNAUTHORIZED', 'missing required API key headers');
  const trader = await makeTrader(server, { scopes: ['trade:orders'] });
  assertRefused(await trader.send('GET', path), 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
});

test('no market, no data', async () => {
  const alice = await makeTrader(server);
  for (const id of [UNKNOWN_MARKET, 'x']) {
    for (const read of [...READS, 'fee-rate']) {
      const answer = await alice.send('GET', `/v1/market-data/${id}/${read}`);
      assertRefused(answer, 404, 'NOT_FOUND', 'market not found');
    }
  }
});

test('best prices, spread and midpoint are exact, and mirrored for the other outcome', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  await alice.place(market, { price: '0.64', size: '10' });
  await alice.place(market, { price: '0.60', size: '10' });
  await alice.place(market, { outcomeIndex: 1, price: '0.33', size: '10' });
  const read = async (what: string, outcome: number) =>
    (await server.request('GET', `/v1/market-data/${market.id}/${what}?outcome_index=${outcome}`)).body;

  const { timestamp, ...bbo } = await read('bbo', 0);
  assert.ok(Math.abs(timestamp - Date.now() / 1000) < 60 && Number.isInteger(timestamp));
  const base = { market_id: market.id, outcome_index: 0 };
  const yes = { best_bid: '0.64', best_ask: '0.67', spread: '0.03' };
  assert.deepEqual(bbo, { ...base, ...yes, midpoint: '0.655' });
  // 10,000 * 0.03 / 0.655 = 458.01…
  assert.deepEqual(await read('spread', 0), { ...base, ...yes, spread_bps: 458 });
  assert.deepEqual(await read('midpoint', 0), { ...base, midpoint: '0.655' });

  const mirror = { market_id: market.id, outcome_index: 1 };
  const no = { best_bid: '0.33', best_ask: '0.36', spread: '0.03' };
  const { timestamp: _, ...mirrored } = await read('bbo', 1);
  assert.deepEqual(mirrored, { ...mirror, ...no, midpoint: '0.345' });
  // 10,000 * 0.03 / 0.345 = 869.56…
  assert.deepEqual(await read('spread', 1), { ...mirror, ...no, spread_bps: 870 });
});

test('every value that needs an empty side of the book is null', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const read = async (what: string) => (await server.request('GET', `/v1/market-data/${market.id}/${what}`)).body;
  const base = { market_id: market.id, outcome_index: 0 };
  const { timestamp: _, ...empty } = await read('bbo');
  assert.deepEqual(empty, { ...base, best_bid: null, best_ask: null, spread: null, midpoint: null });
  await alice.place(market, { price: '0.20', size: '10' });
  const { timestamp: __, ...oneSided } = await read('bbo');
  assert.deepEqual(oneSided, { ...base, best_bid: '0.2', best_ask: null, spread: null, midpoint: null });
  const nothing = { ...base, spread: null, spread_bps: null, best_bid: '0.2', best_ask: null };
  assert.deepEqual(await read('spread'), nothing);
  assert.deepEqual(await read('midpoint'), { ...base, midpoint: null });
});

test('an outcome that does not exist is refused by name', async () => {
  const market = await makeMarket(server);
  for (const read of ['bbo', 'spread', 'midpoint']) {
    for (const outcome of ['2', '-1', 'yes', '']) {
      const answer = await server.request('GET', `/v1/market-data/${market.id}/${read}?outcome_index=${outcome}`);
      assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid outcome_index');
    }
  }
});

test('the best prices of many markets equal those of each one, in the order of the request', async () => {
  const [market, other, alice] = [await makeMarket(server), await makeMarket(server), await makeTrader(server)];
  await alice.place(market, { price: '0.64', size: '10' });
  await alice.place(market, { outcomeIndex: 1, price: '0.34', size: '10' });
  const asked = [
    { market_id: market.id.toUpperCase(), outcome_index: 1 as const },
    { market_id: other.id, outcome_index: 0 as const },
    { market_id: market.id, outcome_index: 0 as const },
  ];
  const { markets } = await alice.client.bbos(asked);
  const single = await Promise.all(
    asked.map(({ market_id, outcome_index }) => alice.client.bbo(market_id, { outcome_index })),
  );
  const timeless = (rows: typeof markets) => rows.map((row) => ({ ...row, timestamp: 0 }));
  assert.deepEqual(timeless(markets), timeless(single));
  assert.deepEqual([markets[0].best_bid, markets[0].best_ask, markets[1].best_bid], ['0.34', '0.36', null]);
});

test('a request for no, too many or unknown markets is refused as a whole; no key is needed', async () => {
  const market = await makeMarket(server);
  const post = (body: unknown) => server.request('POST', '/v1/market-data/bbo', body);
  const row = { market_id: market.id, outcome_index: 0 };
  assert.equal((await post(Array(50).fill(row))).body.markets.length, 50);
  assertRefused(await post(Array(51).fill(row)), 400, 'INVALID_REQUEST', 'too many markets (max 50)');
  const none = await post([]);
  assertRefused(none, 400, 'VALIDATION_ERROR', 'no markets provided');
  assert.deepEqual(none.body.details, { field: 'body', rule: 'minItems' });
  for (const market_id of [UNKNOWN_MARKET, 'x']) {
    const answer = await post([row, { ...row, market_id }]);
    assertRefused(answer, 404, 'NOT_FOUND', 'market not found');
    assert.deepEqual(answer.body.details, { field: '1.market_id', rule: 'known', value: market_id });
  }
  const cases: [unknown, string][] = [
    [{ markets: [row] }, 'invalid body'],
    [[{ market_id: market.id }], 'missing field: outcome_index'],
    [[{ ...row, outcome_index: 2 }], 'invalid outcome_index'],
    [[{ ...row, side: 1 }], 'unknown field: side'],
    [[5], 'invalid body'],
  ];
  for (const [body, message] of cases) assertRefused(await post(body), 400, 'VALIDATION_ERROR', message);
});
