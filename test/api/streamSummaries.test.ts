/** The channels `ticker` and `candle`, beside the same over HTTP (RULES.md 8.24, 8.25). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
const [maker, taker] = [await makeTrader(server), await makeTrader(server)];

async function trade(market: Awaited<ReturnType<typeof makeMarket>>, price: string): Promise<void> {
  await maker.place(market, { price, size: '10' });
  await taker.place(market, {
    outcomeIndex: 1,
    price: String(Math.round((1 - Number(price)) * 100) / 100),
    size: '10',
  });
}

const newest = (client: StreamClient, id: string): Json => client.of('ticker').findLast((f) => f.data.market_id === id);
const tickerOf = async (id: string): Promise<Json> => (await server.request('GET', `/v1/markets/${id}/ticker`)).body;

test('RULES.md 8.24: a named ticker comes first, and each change after it; of all the changes alone', async (t) => {
  const [market, quiet] = [await makeMarket(server), await makeMarket(server)];
  await trade(market, '0.65');
  const named = await StreamClient.open(t, server.baseUrl);
  const all = await StreamClient.open(t, server.baseUrl);
  const active = await named.subscribe({ ticker: { markets: [market.id.toUpperCase(), quiet.id] } });
  assert.deepEqual(active.ticker, { markets: [market.id, quiet.id], all: false });
  assert.deepEqual((await all.subscribe({ ticker: { all: true } })).ticker, { markets: [], all: true });
  await eventually(
    'both tickers',
    async () => newest(named, market.id) !== undefined && newest(named, quiet.id) !== undefined,
  );
  assert.deepEqual(newest(named, quiet.id).data, await tickerOf(quiet.id));
  await trade(market, '0.60');
  for (const client of [named, all]) {
    await client.until(
      ({ channel, data }) => channel === 'ticker' && data.trades === 2 && data.market_id === market.id,
    );
    assert.deepEqual(newest(client, market.id).data, await tickerOf(market.id));
  }
  assert.equal(newest(all, quiet.id), undefined, 'nothing of it has changed');
  const unnamed = await makeMarket(server);
  await trade(unnamed, '0.55');
  await all.until(({ channel, data }) => channel === 'ticker' && data.market_id === unnamed.id && data.trades === 1);
  const again = await StreamClient.open(t, server.baseUrl);
  await again.subscribe({ ticker: { markets: [market.id] } });
  const known = await again.until(({ channel }) => channel === 'ticker');
  assert.deepEqual(known.data, await tickerOf(market.id), 'a ticker that is known comes at once');
  assert.equal((await named.ask('unsubscribe', { ticker: { markets: [quiet.id] } })).data.ticker.markets.length, 1);
  const none = await named.ask('unsubscribe', { ticker: { markets: [market.id] } });
  assert.equal(none.data.ticker, undefined);
});

test('RULES.md 8.25: candles of either outcome are streamed as they change, and after a given one', async (t) => {
  const market = await makeMarket(server);
  await trade(market, '0.65');
  const read = async (outcome_index: 0 | 1): Promise<Json[]> =>
    (await server.request('GET', `/v1/markets/${market.id}/candles?interval=1m&outcome_index=${outcome_index}`)).body
      .candles;
  const client = await StreamClient.open(t, server.baseUrl);
  await client.subscribe({ candle: { markets: [market.id], interval: '1m' } });
  const answer = await client.subscribe({ candle: { markets: [market.id], interval: '1d', outcome_index: 1 } });
  const named = { market_id: market.id, outcome_index: 0, interval: '1m' };
  assert.deepEqual(answer.candle, [named, { ...named, outcome_index: 1, interval: '1d' }]);
  await client.until(({ channel, data }) => channel === 'candle' && data.trades === 1);
  await trade(market, '0.60');
  const no = await client.until(({ interval, data }) => interval === '1d' && data.trades === 2);
  const { open, close, high, low, is_open, token_quantity_atomic } = no.data;
  assert.deepEqual([open, close, high, low, is_open], ['0.35', '0.4', '0.4', '0.35', true]);
  assert.equal(token_quantity_atomic, '20000000');
  // From the first interval on: every closed candle once, then the open one.
  const back = await StreamClient.open(t, server.baseUrl);
  const [first] = await read(0);
  await back.subscribe({ candle: { markets: [market.id], interval: '1m', after: { [market.id]: first.start - 60 } } });
  const sum = (): number => {
    const byStart = new Map(back.of('candle').map(({ data }) => [data.start, data.trades]));
    return [...byStart.values()].reduce((total, trades) => total + trades, 0);
  };
  await eventually('both trades', async () => sum() === 2);
  assert.equal(back.of('candle')[0].data.start, first.start);
  const closed = back.of('candle').flatMap(({ data }) => (data.is_open ? [] : [data.start]));
  assert.deepEqual(closed, [...new Set(closed)].sort());
  const left = await client.ask('unsubscribe', { candle: { markets: [market.id], interval: '1m' } });
  assert.equal(left.data.candle.length, 1);
});

test('what names no market or interval is refused, and 100 series are the most', async (t) => {
  const client = await StreamClient.open(t, server.baseUrl);
  const markets = [(await makeMarket(server)).id];
  const invalid = [
    { ticker: {} },
    { ticker: { all: false } },
    { ticker: { markets: ['x'] } },
    { ticker: { all: true, snapshot: true } },
    { candle: { markets } },
    { candle: { markets: [], interval: '1m' } },
    { candle: { markets, interval: '2m' } },
    { candle: { markets, interval: '1m', outcome_index: 2 } },
    { candle: { markets, interval: '1m', after: { [UNKNOWN]: 1 } } },
    { candle: { markets, interval: '1m', after: { [markets[0]!]: 1e300 } } },
    { candle: { markets, interval: '1m', after: { [markets[0]!]: -1 } } },
    { candle: { markets, interval: '1m', after: 3 } },
  ];
  for (const wanted of invalid) {
    const { channel, data } = await client.ask('subscribe', wanted);
    assert.deepEqual([channel, data.code], ['error', 'VALIDATION_ERROR'], JSON.stringify(wanted));
  }
  for (const wanted of [
    { ticker: { markets: [UNKNOWN], all: true } },
    { candle: { markets: [UNKNOWN], interval: '1m' } },
  ]) {
    const { data } = await client.ask('subscribe', { ...wanted, user: false });
    assert.deepEqual([data.code, data.details.value], ['NOT_FOUND', UNKNOWN]);
  }
  const far = { markets, interval: '1d', after: { [markets[0]!]: 99_999_999_999 } };
  assert.equal((await client.subscribe({ candle: far })).candle.length, 1, 'nothing comes of it');
});
