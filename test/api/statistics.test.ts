/** Public statistics over HTTP (RULES.md 13), on one server: requests are about this file's own markets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await startServer(fileScope);
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const get = (path: string): Promise<Answer> => server.request('GET', path);

/** `maker` rests with BUY Yes at a price, `taker` sells it to the maker out of a set, so that No is left. */
async function trade(market: OrderMarket, maker: Trader, taker: Trader, price: string, size: string): Promise<void> {
  await taker.client.split(market.id, Number(size) * 1_000_000);
  await maker.place(market, { price, size });
  await taker.place(market, { side: 'SELL', price, size, timeInForce: 'FAK' });
}

const [maker, taker] = [await makeTrader(server), await makeTrader(server)];
const market = await makeMarket(server);

async function fillsOf(query: string): Promise<{ fills: Json[]; next_cursor: string | null }> {
  const { status, body } = await get(`/v1/markets/fills/recent?${query}`);
  assert.equal(status, 200);
  return body;
}

test('RULES.md 13.2: before the first fill the tape is empty, and is so for ten seconds for everyone', async () => {
  const askedMs = Date.now();
  assert.deepEqual((await get('/v1/markets/fills/recent')).body, { fills: [], next_cursor: null });
  await trade(market, maker, taker, '0.65', '10');
  await eventually('the fill is shown', async () => (await fillsOf('limit=10')).fills.length === 1);
  const shared = [await get('/v1/markets/fills/recent'), await get('/v1/markets/fills/recent?limit=50')];
  // On a machine that was busy for ten seconds the answer has been computed again.
  if (Date.now() - askedMs < 10_000) for (const { body } of shared) assert.deepEqual(body.fills, [], 'shared');
});

test('RULES.md 13.2: a fill is shown as its taker sees it, without an id and under a pseudonym', async () => {
  const { fills } = await fillsOf('limit=10');
  const { filled_at, user_handle, ...fill } = fills[0];
  assert.deepEqual(fill, {
    market_id: market.id,
    market_title: 'Will it rain tomorrow?',
    outcome: 'Yes',
    side: 'SELL',
    size_usd: '6.5',
    price_cents: '65',
    category: 'Weather',
  });
  assert.match(user_handle, /^anon-[A-Z2-7]{4}$/);
  assert.ok(Math.abs(Date.parse(filled_at) - Date.now()) < 60_000);
  await trade(market, maker, taker, '0.50', '2');
  const newest = await eventually('the second fill', async () => {
    const { fills } = await fillsOf('limit=10');
    return fills.length === 2 && fills;
  });
  assert.equal(newest[0].user_handle, user_handle, 'the pseudonym of an account stays the same');
  assert.equal(newest[0].size_usd, '1', 'newest first');
});

test('RULES.md 13.2: min_size_usd and since are inclusive, and leave out smaller and older trades', async () => {
  assert.deepEqual(
    (await fillsOf('min_size_usd=6.5')).fills.map(({ size_usd }) => size_usd),
    ['6.5'],
  );
  assert.deepEqual((await fillsOf('min_size_usd=6.500001')).fills, []);
  assert.deepEqual(
    (await fillsOf('min_size_usd=1')).fills.map(({ size_usd }) => size_usd),
    ['1', '6.5'],
  );
  const { fills } = await fillsOf('limit=10');
  const olderMs = Date.parse(fills[1].filled_at);
  for (const [sinceMs, sizes] of [
    [olderMs, ['1', '6.5']],
    [olderMs + 1, ['1']],
  ] as const) {
    const { fills: found } = await fillsOf(`since=${new Date(sinceMs).toISOString()}`);
    assert.deepEqual(
      found.map(({ size_usd }) => size_usd),
      sizes,
    );
  }
  assert.deepEqual((await fillsOf('since=2100-01-01T00:00:00Z')).fills, []);
});

test('RULES.md 13.2: the cursor leads from page to page, and to the end', async () => {
  const first = await fillsOf('limit=1');
  assert.equal(first.fills.length, 1);
  assert.match(first.next_cursor!, /^[A-Za-z0-9_-]{22}$/);
  await trade(market, maker, taker, '0.40', '1');
  const second = await fillsOf(`limit=1&cursor=${first.next_cursor}`);
  assert.deepEqual(
    second.fills.map(({ size_usd }) => size_usd),
    ['6.5'],
    'a fill that arrives does not move the pages',
  );
  assert.equal(second.next_cursor, null);
  const filtered = await fillsOf(`limit=1&min_size_usd=1&cursor=${first.next_cursor}`);
  assert.deepEqual(
    filtered.fills.map(({ size_usd }) => size_usd),
    ['6.5'],
  );
});

for (const [query, field] of [
  ['limit=0', 'limit'],
  ['limit=201', 'limit'],
  ['limit=x', 'limit'],
  ['since=yesterday', 'since'],
  ['min_size_usd=-1', 'min_size_usd'],
  ['min_size_usd=1000000.01', 'min_size_usd'],
  ['min_size_usd=many', 'min_size_usd'],
  ['cursor=abc', 'cursor'],
] as const) {
  test(`recent fills with ${query} are refused`, async () => {
    assertRefused(await get(`/v1/markets/fills/recent?${query}`), 400, 'VALIDATION_ERROR', `invalid ${field}`);
  });
}

test('RULES.md 13.4: the history has the last Yes price of each interval', async () => {
  const quiet = await makeMarket(server);
  for (const interval of ['1m', '5m', '1h', '1d']) {
    const path = `/v1/markets/${quiet.id}/history?interval=${interval}`;
    assert.deepEqual((await get(path)).body, { market_id: quiet.id, history: [] });
  }
  await trade(quiet, maker, taker, '0.30', '1');
  await trade(quiet, maker, taker, '0.70', '1');
  const history = await eventually('both trades', async () => {
    const { body } = await get(`/v1/markets/${quiet.id}/history?interval=1d`);
    return body.history[0]?.price === '0.7' && body.history;
  });
  assert.equal(history.length, 1);
  assert.equal(history[0].timestamp % 86_400, 0);
  const byDefault = (await get(`/v1/markets/${quiet.id}/history`)).body.history;
  assert.deepEqual(byDefault, (await get(`/v1/markets/${quiet.id}/history?interval=1h`)).body.history);
});

test('RULES.md 13.4: trades are newest first, in terms of Yes: buying No at 0.40 is selling Yes at 0.60', async () => {
  const traded = await makeMarket(server);
  await trade(traded, maker, taker, '0.65', '10');
  await maker.place(traded, { price: '0.60', size: '5' });
  await taker.place(traded, { outcomeIndex: 1, price: '0.40', size: '5' });
  const trades = await eventually('both trades', async () => {
    const { body } = await get(`/v1/markets/${traded.id}/trades`);
    return body.trades.length === 2 && body.trades;
  });
  const shown = trades.map(({ id, timestamp, ...trade }: Json) => {
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.ok(Number.isInteger(timestamp));
    return trade;
  });
  assert.deepEqual(shown, [
    { price: '0.6', amount: '5000000', side: 'SELL' },
    { price: '0.65', amount: '10000000', side: 'SELL' },
  ]);
});

test('history and trades of an unknown market are 404; an unknown interval is refused', async () => {
  for (const path of ['history', 'trades']) {
    const answer = await get(`/v1/markets/${UNKNOWN_MARKET}/${path}`);
    assertRefused(answer, 404, 'NOT_FOUND', 'market not found');
  }
  const answer = await get(`/v1/markets/${market.id}/history?interval=2h`);
  assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid interval');
});

test('RULES.md 13.3: a profile is private until its account says otherwise', async () => {
  const [ann, bob] = [await makeTrader(server), await makeTrader(server)];
  const path = '/v1/user/public-profile';
  assert.deepEqual((await ann.send('GET', path)).body, { handle: null, avatar_url: null, is_public: false });
  const hidden = { handle: 'ann_7', avatar_url: 'https://example.com/ann.png', is_public: false };
  assert.deepEqual((await ann.send('PUT', path, hidden)).body, hidden);
  assert.deepEqual((await ann.send('GET', path)).body, hidden);
  assertRefused(await bob.send('PUT', path, { handle: 'ann_7', is_public: true }), 409, 'CONFLICT', 'handle is taken');
  const shown = market;
  await trade(shown, maker, ann, '0.90', '9');
  const handleOf = async (): Promise<string | undefined> =>
    (await fillsOf('min_size_usd=8.1&limit=5')).fills.find(({ size_usd }) => size_usd === '8.1')?.user_handle;
  assert.match(await eventually('the fill of ann', handleOf), /^anon-/);
  await ann.send('PUT', path, { ...hidden, is_public: true });
  assert.equal(await handleOf(), 'ann_7');
  // A handle that is given up is free.
  await ann.send('PUT', path, { handle: 'ann_8', is_public: true });
  assert.equal((await bob.send('PUT', path, { handle: 'ann_7', is_public: false })).status, 200);
  assert.equal(await handleOf(), 'ann_8');
});

for (const [body, field] of [
  [{ handle: 'ab', is_public: true }, 'handle'],
  [{ handle: 'a'.repeat(21), is_public: true }, 'handle'],
  [{ handle: 'Ann', is_public: true }, 'handle'],
  [{ handle: 'anon-abcd', is_public: true }, 'handle'],
  [{ handle: 'ann', is_public: 'yes' }, 'is_public'],
  [{ handle: 'ann', avatar_url: 'javascript:alert(1)', is_public: true }, 'avatar_url'],
] as const) {
  test(`a profile ${JSON.stringify(body)} is refused`, async () => {
    const answer = await taker.send('PUT', '/v1/user/public-profile', body);
    assertRefused(answer, 400, 'VALIDATION_ERROR', `invalid ${field}`);
  });
}

test('a profile needs a key that may manage the account', async () => {
  const reader = await makeTrader(server, { scopes: ['read:account'] });
  const answer = await reader.send('PUT', '/v1/user/public-profile', { handle: 'ann_9', is_public: true });
  assertRefused(answer, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
  assertRefused(await get('/v1/user/public-profile'), 401, 'UNAUTHORIZED', 'missing required API key headers');
});

test('RULES.md 13.7: earnings are realized gains plus positions valued at the middle of the book', async () => {
  const [buyer, seller, quoter] = [await makeTrader(server), await makeTrader(server), await makeTrader(server)];
  const priced = await makeMarket(server);
  for (const [trader, handle] of [
    [buyer, 'buyer_1'],
    [seller, 'seller_1'],
  ] as const) {
    await trader.send('PUT', '/v1/user/public-profile', { handle, is_public: true });
  }
  await trade(priced, buyer, seller, '0.65', '10');
  await quoter.place(priced, { price: '0.70', size: '1' });
  await quoter.place(priced, { outcomeIndex: 1, price: '0.20', size: '1' });
  for (const window of ['24h', '7d', '30d', 'all']) {
    const traders = await eventually('both traders', async () => {
      const { body } = await get(`/v1/leaderboards/traders?window=${window}&limit=99`);
      assert.equal(body.window, window);
      const found = body.traders.filter(({ handle }: Json) => ['buyer_1', 'seller_1'].includes(handle));
      return found.length === 2 && found[0].pnl_usdc > 0 && found;
    });
    // 10 bought at 0.65 for 6.50; 9.95 of them arrive, worth 7.4625 at 0.75.
    const bought = { handle: 'buyer_1', user_id: buyer.userId, avatar_url: null, pnl_usdc: 0.9625 };
    // Half of a set of 10 cost 5, sold for 6.50 less 0.0325; the other half is worth 2.50.
    const sold = { handle: 'seller_1', user_id: seller.userId, avatar_url: null, pnl_usdc: -1.0325 };
    assert.deepEqual(traders, [
      { ...bought, roi: 0, trade_count: 1 },
      { ...sold, roi: 0, trade_count: 1 },
    ]);
  }
});

test('RULES.md 13.7: the best trader is first; accounts without a public profile have pseudonyms', async () => {
  const { traders } = (await get('/v1/leaderboards/traders?limit=98')).body;
  const earned = traders.map(({ pnl_usdc }: Json) => pnl_usdc);
  assert.deepEqual(
    earned,
    earned.toSorted((a: number, b: number) => b - a),
  );
  for (const { handle, user_id, avatar_url } of traders) {
    if (handle.startsWith('anon-')) assert.deepEqual([user_id, avatar_url], [null, null]);
  }
  assert.ok(traders.some(({ handle }: Json) => handle.startsWith('anon-')));
  assert.equal((await get('/v1/leaderboards/traders?limit=1')).body.traders.length, 1);
  assert.ok((await get('/v1/leaderboards/traders')).body.traders.length <= 10);
});

test('RULES.md 13.5: the pulse has 24 hours, oldest first, with their traded volume and fees', async () => {
  const decided = await makeMarket(server);
  const volumeMicro = async (): Promise<number> =>
    Math.round(Number((await get('/v1/platform/config')).body.total_volume) * 1e6);
  // Trades of the tests before may not be in it yet.
  const beforeMicro = await volumeMicro();
  await trade(decided, maker, taker, '0.50', '4');
  await server.admin.resolveMarket(decided.id, { outcome_index: 0 });
  await maker.client.claim(decided.id);
  // An account's own read waits until the read model has the claim; the pulse does not, and is kept once it is made.
  await maker.client.userTrades();
  await eventually('the volume of the last trade', async () => {
    const { body } = await get(`/v1/markets/${decided.id}`);
    return body.volume_24h === 2 && (await volumeMicro()) >= beforeMicro + 2_000_000;
  });
  const { total_volume } = (await get('/v1/platform/config')).body;
  const { body } = await get('/v1/markets/stats/pulse');
  assert.equal(body.tape_24h.length, 24);
  const hours = body.tape_24h.map(({ hour }: Json) => Date.parse(hour));
  for (let i = 1; i < 24; i++) assert.equal(hours[i] - hours[i - 1], 3_600_000);
  assert.ok(Math.abs(hours[23] + 1_800_000 - Date.now()) < 3_600_000, 'the last hour is the present one');
  const volume = body.tape_24h.reduce((sum: number, { volume_usdc }: Json) => sum + volume_usdc, 0);
  assert.equal(String(Math.round(volume * 1e6) / 1e6), total_volume);
  assert.equal(body.total_volume_24h, Number(total_volume));
  // 4 bought less the fee of 0.02 tokens.
  assert.deepEqual([body.settled_today_usd, body.settled_today_usdc], ['3.98', 3.98]);
  assert.deepEqual([body.volume_24h_delta, body.volume_24h_delta_pct, body.traders_online_delta], [0, 0, 0]);
  assert.ok(body.active_traders_24h >= 4 && body.traders_online_24h >= body.active_traders_24h);
  assert.ok(body.active_markets >= 4);
  assert.deepEqual((await get('/v1/markets/stats/pulse')).body, body, 'shared for 30 seconds');
});

test('RULES.md 13.6: the spotlight has the categories with the largest volume of seven days', async () => {
  const { body } = await get('/v1/markets/stats/category-spotlight?window=7d');
  const { total_volume } = (await get('/v1/platform/config')).body;
  assert.equal(body.window, '7d');
  assert.deepEqual(body.categories, [
    { category: 'Weather', volume_usdc: Number(total_volume), volume_delta_pct: 0, market_count: 5 },
  ]);
  assert.deepEqual((await get('/v1/markets/stats/category-spotlight')).body, body);
});

test('RULES.md 13.8: a native market shows its own volume of 24 hours and its full sets', async () => {
  const own = await makeMarket(server);
  const before = (await get(`/v1/markets/${own.id}`)).body;
  assert.deepEqual([before.volume_24h, before.open_interest], [0, 0]);
  await trade(own, maker, taker, '0.50', '7');
  const body = await eventually('the volume', async () => {
    const { body } = await get(`/v1/markets/${own.id}`);
    return body.volume_24h > 0 && body;
  });
  assert.deepEqual([body.volume_24h, body.open_interest, body.total_volume], [3, 7, '3.5']);
});

for (const [path, field] of [
  ['/v1/leaderboards/traders?window=1y', 'window'],
  ['/v1/leaderboards/traders?limit=0', 'limit'],
  ['/v1/leaderboards/traders?limit=101', 'limit'],
  ['/v1/markets/stats/category-spotlight?window=24h', 'window'],
] as const) {
  test(`${path} is refused`, async () => {
    assertRefused(await get(path), 400, 'VALIDATION_ERROR', `invalid ${field}`);
  });
}
