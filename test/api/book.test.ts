/** The public book of a real server: levels, mirror, depth, and the sequence that marks them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BookLevel } from '../../shared/client/types.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';

afterEachOfFile(() => assertBalanced(server));

const brief = (levels: readonly BookLevel[]): [string, string | undefined][] =>
  levels.map(({ price, token_quantity_atomic }) => [price, token_quantity_atomic]);

test('the book of a market without orders is empty', async () => {
  const market = await makeMarket(server);
  const answer = await server.request('GET', `/v1/orders/book/${market.id}`);
  assert.equal(answer.status, 200);
  const { sequence, timestamp, ...rest } = answer.body;
  assert.deepEqual(rest, { market_id: market.id, outcome_index: 0, bids: [], asks: [] });
  assert.equal(sequence, 0);
  assert.ok(Math.abs(timestamp - Date.now()) < 60_000);
});

test('both kinds of order stand in one queue per price, and the mirror shows the same', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  await alice.client.split(market.id, 50_000_000);
  await alice.place(market, { price: '0.65', size: '10' });
  await alice.place(market, { side: 'SELL', outcomeIndex: 1, price: '0.35', size: '2' });
  await alice.place(market, { price: '0.60', size: '7' });
  await alice.place(market, { side: 'SELL', price: '0.67', size: '3' });
  await alice.place(market, { outcomeIndex: 1, price: '0.33', size: '4' });

  const yes = await alice.client.book(market.id);
  assert.deepEqual(yes.bids, [
    {
      price: '0.65',
      num_orders: 2,
      token_quantity_atomic: '12000000',
      notional_usdc_micro: '7800000',
      // 6.50 USDC of the buyer and 2 tokens of the seller.
      size: '8500000',
    },
    {
      price: '0.6',
      num_orders: 1,
      token_quantity_atomic: '7000000',
      notional_usdc_micro: '4200000',
      size: '4200000',
    },
  ]);
  assert.deepEqual(yes.asks, [
    {
      price: '0.67',
      num_orders: 2,
      token_quantity_atomic: '7000000',
      notional_usdc_micro: '4690000',
      // 3 tokens of the seller and 1.32 USDC of the buyer of No.
      size: '4320000',
    },
  ]);

  const no = await alice.client.book(market.id, { outcome_index: 1 });
  assert.equal(no.outcome_index, 1);
  assert.deepEqual(no.bids, [
    {
      price: '0.33',
      num_orders: 2,
      token_quantity_atomic: '7000000',
      notional_usdc_micro: '2310000',
      size: '4320000',
    },
  ]);
  assert.deepEqual(brief(no.asks), [
    ['0.35', '12000000'],
    ['0.4', '7000000'],
  ]);

  const both = await alice.client.bothBooks(market.id);
  assert.deepEqual(both.outcome_0, { bids: yes.bids, asks: yes.asks });
  assert.deepEqual(both.outcome_1, { bids: no.bids, asks: no.asks });
  assert.equal(both.sequence, yes.sequence);
});

test('with both set to 1 or true the outcome is ignored, with 0 or false it is not', async () => {
  const market = await makeMarket(server);
  for (const query of [
    'both=1',
    'both=true',
    'both=1&outcome_index=1',
    'outcome_index=7&both=1',
    'both=1&outcome_index=x',
  ]) {
    const { body } = await server.request('GET', `/v1/orders/book/${market.id}?${query}`);
    assert.deepEqual(Object.keys(body).sort(), ['market_id', 'outcome_0', 'outcome_1', 'sequence', 'timestamp']);
  }
  for (const query of ['both=0&outcome_index=1', 'both=false&outcome_index=1']) {
    const { body } = await server.request('GET', `/v1/orders/book/${market.id}?${query}`);
    assert.equal(body.outcome_index, 1);
  }
});

test('levels limit each side to the best, 20 unless asked', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  for (let tick = 1; tick <= 22; tick++) {
    await alice.place(market, { price: (tick / 100).toFixed(2), size: '1' });
  }
  const path = `/v1/orders/book/${market.id}`;
  const count = async (query: string): Promise<number> => (await server.request('GET', path + query)).body.bids.length;
  assert.deepEqual([await count(''), await count('?levels=1'), await count('?levels=100')], [20, 1, 22]);
  const { bids } = await alice.client.book(market.id, { levels: 3 });
  assert.deepEqual(
    bids.map(({ price }) => price),
    ['0.22', '0.21', '0.2'],
  );
  const both = await alice.client.bothBooks(market.id, { levels: 2 });
  assert.deepEqual([both.outcome_0.bids.length, both.outcome_1.asks.length], [2, 2]);
});

test('a query that means nothing is refused by name', async () => {
  const market = await makeMarket(server);
  const wrong: [string, string][] = [
    ['levels=0', 'invalid levels'],
    ['levels=101', 'invalid levels'],
    ['levels=1.5', 'invalid levels'],
    ['levels=ten', 'invalid levels'],
    ['levels=', 'invalid levels'],
    ['levels=1&levels=2', 'invalid levels'],
    ['outcome_index=2', 'invalid outcome_index'],
    ['outcome_index=-1', 'invalid outcome_index'],
    ['outcome_index=yes', 'invalid outcome_index'],
    ['outcome_index=2&both=0', 'invalid outcome_index'],
    ['both=2', 'invalid both'],
    ['both=yes', 'invalid both'],
  ];
  for (const [query, message] of wrong) {
    const answer = await server.request('GET', `/v1/orders/book/${market.id}?${query}`);
    assertRefused(answer, 400, 'VALIDATION_ERROR', message);
  }
});

test('the book of no market is not found', async () => {
  for (const id of [UNKNOWN_MARKET, 'x', '0']) {
    const answer = await server.request('GET', `/v1/orders/book/${id}`);
    assertRefused(answer, 404, 'NOT_FOUND', 'market not found');
  }
});

test('fills and cancels leave exactly what remains, and every public change moves the sequence', async () => {
  const market = await makeMarket(server);
  const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  const sequences: number[] = [];
  const bids = async (): Promise<[string, string | undefined][]> => {
    const book = await alice.client.book(market.id);
    sequences.push(book.sequence);
    return brief(book.bids);
  };
  assert.deepEqual(await bids(), []);
  const first = await alice.place(market, { price: '0.60', size: '5' });
  await alice.place(market, { price: '0.60', size: '4' });
  await alice.place(market, { price: '0.58', size: '1' });
  assert.deepEqual(await bids(), [
    ['0.6', '9000000'],
    ['0.58', '1000000'],
  ]);
  await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '2' });
  assert.deepEqual(await bids(), [
    ['0.6', '7000000'],
    ['0.58', '1000000'],
  ]);
  await alice.client.cancelOrder(first.order_hash);
  assert.deepEqual(await bids(), [
    ['0.6', '4000000'],
    ['0.58', '1000000'],
  ]);
  await bob.place(market, { outcomeIndex: 1, price: '0.42', size: '5', timeInForce: 'FOK' });
  assert.deepEqual(await bids(), []);
  // Three orders opened; a trade and a delta; a cancel; twice a trade and a delta.
  assert.deepEqual(sequences, [0, 3, 5, 6, 10]);
});

test('the finest and the coarsest grid show their shortest prices', async () => {
  const alice = await makeTrader(server);
  for (const [ticks_per_unit, price, shown] of [
    [10, '0.5', '0.5'],
    [10_000, '0.0001', '0.0001'],
    [10_000, '0.9999', '0.9999'],
    [1000, '0.120', '0.12'],
  ] as const) {
    const market = await makeMarket(server, { ticks_per_unit });
    await alice.place(market, { price, size: '1' });
    assert.equal((await alice.client.book(market.id)).bids[0].price, shown);
  }
});

test('order by order a book has the queue of every level, in the terms of the outcome asked for', async () => {
  const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
  const first = await alice.place(market, { price: '0.40', size: '3' });
  const second = await bob.place(market, { price: '0.40', size: '2' });
  const best = await alice.place(market, { price: '0.41', size: '1' });
  const ask = await bob.place(market, { outcomeIndex: 1, price: '0.45', size: '7' });
  const order = ({ order_id }: typeof first, price: string, tokens: string) => {
    return { id: order_id, price, remaining_token_quantity_atomic: tokens };
  };
  const { timestamp: _, ...book } = await alice.client.bookOrders(market.id);
  const { sequence } = await alice.client.book(market.id);
  assert.deepEqual(book, {
    market_id: market.id,
    outcome_index: 0,
    bids: [order(best, '0.41', '1000000'), order(first, '0.4', '3000000'), order(second, '0.4', '2000000')],
    asks: [order(ask, '0.55', '7000000')],
    has_more: false,
    sequence,
  });
  const mirrored = await alice.client.bookOrders(market.id, { outcome_index: 1, levels: 1 });
  assert.deepEqual(mirrored.asks, [order(best, '0.59', '1000000')]);
  const both = (await server.request('GET', `/v1/orders/book/${market.id}?both=1&l3=1&levels=1`)).body;
  assert.deepEqual([both.outcome_0.bids.length, both.outcome_1.bids[0].price, both.sequence], [1, '0.45', sequence]);
});
