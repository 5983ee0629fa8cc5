/** Balances, full sets, and money that several shards want at once, on a real server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertMissing, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';

afterEachOfFile(() => assertBalanced(server));

test('an account without anything has zeros and no tokens', async () => {
  const alice = await makeTrader(server, { depositMicro: 0 });
  assert.deepEqual(await alice.client.balances(), { usdc: { available: '0', reserved: '0' }, tokens: [] });
});

test('the balance includes deposits and withdrawals as soon as they are answered', async () => {
  const alice = await makeTrader(server, { depositMicro: 7_000_001 });
  await server.admin.withdraw(alice.userId, { amount_usdc_micro: '2000000' });
  assert.equal((await alice.client.balances()).usdc.available, '5000001');
});

test('a split turns USDC into as many of both outcomes, a merge turns them back', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const split = await alice.send('POST', `/v1/markets/${market.id}/split`, { amount: '10000000' });
  assert.equal(split.status, 200);
  // On a chain its fee is said as well.
  const { fee_usdc_micro: _, ...answered } = split.body;
  assert.deepEqual(answered, { message: split.body.message, market_id: market.id, amount: '10000000' });
  assert.deepEqual(await alice.client.balances(), {
    usdc: { available: '990000000', reserved: '0' },
    tokens: [
      { market_id: market.id, outcome_index: 0, available: '10000000', reserved: '0' },
      { market_id: market.id, outcome_index: 1, available: '10000000', reserved: '0' },
    ],
  });
  await alice.client.merge(market.id, 9_999_900);
  assert.deepEqual(await alice.holdings(market), { usdc: 999_999_900, reserved: 0, yes: 100, no: 100 });
});

test('tokens that an order has reserved are shown apart and cannot be merged', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  await alice.client.split(market.id, 10_000_000);
  await alice.place(market, { side: 'SELL', price: '0.90', size: '4' });
  const [yes, no] = (await alice.client.balances()).tokens;
  assert.deepEqual([yes!.available, yes!.reserved], ['6000000', '4000000']);
  assert.deepEqual([no!.available, no!.reserved], ['10000000', '0']);
  const answer = await alice.send('POST', `/v1/markets/${market.id}/merge`, { amount: '6000100' });
  assertMissing(answer, {
    asset: 'TOKEN',
    required: '6000100',
    available: '6000000',
    reserved: '4000000',
  });
  await alice.client.merge(market.id, 6_000_000);
});

test('a split beyond the available USDC names what is missing and changes nothing', async () => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { depositMicro: 5_000_000 });
  await alice.place(market, { price: '0.50', size: '4' });
  const answer = await alice.send('POST', `/v1/markets/${market.id}/split`, { amount: '3000100' });
  assertMissing(answer, {
    asset: 'USDC',
    required: '3000100',
    available: '3000000',
    reserved: '2000000',
  });
  assert.deepEqual(await alice.holdings(market), { usdc: 3_000_000, reserved: 2_000_000, yes: 0, no: 0 });
  await alice.client.split(market.id, 3_000_000);
});

for (const action of ['split', 'merge']) {
  test(`a ${action} is refused for a bad amount, an unknown market and a missing scope`, async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const path = `/v1/markets/${market.id}/${action}`;
    const wrong: [unknown, string][] = [
      [{}, 'missing field: amount'],
      [{ amount: 1000 }, 'invalid amount'],
      [{ amount: '0' }, 'invalid amount'],
      [{ amount: '-100' }, 'invalid amount'],
      [{ amount: '1.5' }, 'invalid amount'],
      [{ amount: '0100' }, 'invalid amount'],
      [{ amount: '1000000000000001' }, 'invalid amount'],
      [{ amount: null }, 'invalid amount'],
      [{ amount: '100', market_id: market.id }, 'unknown field: market_id'],
      [[], 'invalid body'],
    ];
    for (const [body, message] of wrong) {
      assertRefused(await alice.send('POST', path, body), 400, 'VALIDATION_ERROR', message);
    }
    const partOfLot = await alice.send('POST', path, { amount: '150' });
    if (action === 'split') {
      assertRefused(partOfLot, 400, 'INVALID_LOT', 'amount is not a multiple of the lot size');
    } else {
      assertMissing(partOfLot, { asset: 'TOKEN', required: '150', available: '0', reserved: '0' });
    }
    for (const id of [UNKNOWN_MARKET, 'x']) {
      const answer = await alice.send('POST', `/v1/markets/${id}/${action}`, { amount: '100' });
      assertRefused(answer, 404, 'NOT_FOUND', 'market not found');
    }
    const reader = await makeTrader(server, { scopes: ['read:account', 'trade:bulk'] });
    const unscoped = await reader.send('POST', path, { amount: '100' });
    assertRefused(unscoped, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    assertRefused(
      await server.request('POST', path, { amount: '100' }),
      401,
      'UNAUTHORIZED',
      'missing required API key headers',
    );
  });
}

test('a locked market dissolves sets but makes none', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  await alice.client.split(market.id, 10_000_000);
  await server.admin.patchMarket(market.id, { status: 'locked' });
  const split = await alice.send('POST', `/v1/markets/${market.id}/split`, { amount: '100' });
  assertRefused(split, 400, 'MARKET_NOT_ACTIVE', 'market not active');
  await alice.client.merge(market.id, 10_000_000);
  assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
});

test('balances need a key that may read the account', async () => {
  const trader = await makeTrader(server, { scopes: ['trade:orders'] });
  const unscoped = await trader.send('GET', '/v1/user/balances');
  assertRefused(unscoped, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
  const anonymous = await server.request('GET', '/v1/user/balances');
  assertRefused(anonymous, 401, 'UNAUTHORIZED', 'missing required API key headers');
});

test('orders in many markets that want the same last dollar get it once', async () => {
  const markets = await Promise.all(Array.from({ length: 8 }, () => makeMarket(server)));
  const alice = await makeTrader(server, { depositMicro: 1_000_000 });
  const answers = await Promise.all(
    markets.map((market) => alice.post(alice.body(market, { price: '0.50', size: '2' }))),
  );
  const won = answers.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  for (const answer of answers) {
    if (answer.status === 200) continue;
    assertRefused(answer, 400, 'INSUFFICIENT_BALANCE', 'insufficient balance');
    assert.equal(answer.body.details.required, '1000000');
  }
  assert.deepEqual((await alice.client.balances()).usdc, { available: '0', reserved: '1000000' });
  await alice.client.cancelAll();
  assert.deepEqual((await alice.client.balances()).usdc, { available: '1000000', reserved: '0' });
});

test('many small fills pay the fee that one large fill pays', async () => {
  const market = await makeMarket(server);
  const [alice, bob, carol] = [await makeTrader(server), await makeTrader(server), await makeTrader(server)];
  await alice.client.split(market.id, 3_000_000);
  await alice.place(market, { side: 'SELL', price: '0.33', size: '3' });
  for (let fill = 0; fill < 3; fill++) await bob.place(market, { price: '0.33', size: '1' });
  // 990,000 micro received in three parts: floor(50 * 990,000 / 10,000) = 4,950 in all.
  assert.equal((await alice.holdings(market)).usdc, 1_000_000_000 - 3_000_000 + 990_000 - 4_950);
  // Bob's three orders are three orders: 5,000 tokens each.
  assert.equal((await bob.holdings(market)).yes, 3 * 995_000);
  await carol.place(market, { outcomeIndex: 1, price: '0.50', size: '3' });
  await bob.place(market, { price: '0.50', size: '3' });
  assert.equal((await carol.holdings(market)).no, 3_000_000 - 15_000);
});
