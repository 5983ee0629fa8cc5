/** Tickers over HTTP and by the client (RULES.md 13.14), and entity tags (6.15). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ticker } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const [maker, taker] = [await makeTrader(server), await makeTrader(server)];
const pathOf = ({ id }: { id: string }): string => `/v1/markets/${id}/ticker`;
const market = await makeMarket(server);
for (const [yes, no, size] of [
  ['0.65', '0.35', '10'],
  ['0.60', '0.40', '4'],
] as const) {
  await maker.place(market, { price: yes, size });
  await taker.place(market, { outcomeIndex: 1, price: no, size });
}
await maker.place(market, { price: '0.58', size: '7' });
await taker.place(market, { outcomeIndex: 1, price: '0.36', size: '3' });

test('RULES.md 13.14: a ticker has the last price, 24 hours and the best prices of either outcome', async () => {
  const read = async (outcome_index: 0 | 1): Promise<Ticker | false> => {
    const ticker = await maker.client.ticker(market.id, { outcome_index });
    return ticker.trades === 2 && ticker;
  };
  const yes = await eventually('both trades in Yes', () => read(0));
  const no = await eventually('both trades in No', () => read(1));
  const { sequence, timestamp, ...shown } = yes;
  const same = {
    ...{ market_id: market.id, token_quantity_atomic: '14000000', volume_usdc_micro: '5100000', trades: 2 },
    ...{ spread: '0.06', open_interest_atomic: '14000000' },
  };
  assert.deepEqual(shown, {
    ...{ ...same, outcome_index: 0, last_price: '0.6', change: '-0.05', open: '0.65', high: '0.65', low: '0.6' },
    ...{ notional_usdc_micro: '8900000', best_bid: '0.58', best_ask: '0.64', midpoint: '0.61' },
    ...{ best_bid_quantity_atomic: '7000000', best_ask_quantity_atomic: '3000000' },
  });
  const { sequence: _, timestamp: __, ...ofNo } = no;
  assert.deepEqual(ofNo, {
    ...{ ...same, outcome_index: 1, last_price: '0.4', change: '0.05', open: '0.35', high: '0.4', low: '0.35' },
    ...{ notional_usdc_micro: '5100000', best_bid: '0.36', best_ask: '0.42', midpoint: '0.39' },
    ...{ best_bid_quantity_atomic: '3000000', best_ask_quantity_atomic: '7000000' },
  });
  const { best_bid, best_ask, spread, midpoint } = await maker.client.bbo(market.id);
  assert.deepEqual([best_bid, best_ask, spread, midpoint], [yes.best_bid, yes.best_ask, yes.spread, yes.midpoint]);
  const { current_prices } = await maker.client.market(market.id);
  assert.deepEqual(current_prices, { 0: Number(yes.midpoint), 1: Number(no.midpoint) }, 'told the same way');
  assert.equal(sequence, (await maker.client.book(market.id)).sequence);
  assert.ok(Math.abs(Date.now() - timestamp) < 600_000);
  assert.deepEqual(await maker.client.ticker(market.id), yes, 'it keeps its time while it reads the same');
});

test('RULES.md 13.14: without trades and orders there are no prices', async () => {
  const quiet = await makeMarket(server);
  const { sequence, timestamp, ...shown } = (await server.request('GET', pathOf(quiet))).body;
  const none = { last_price: null, change: null, open: null, high: null, low: null };
  const noOrders = { best_bid_quantity_atomic: null, best_ask_quantity_atomic: null, spread: null, midpoint: null };
  assert.deepEqual(shown, {
    ...{ market_id: quiet.id, outcome_index: 0, ...none, best_bid: null, best_ask: null, ...noOrders },
    ...{ token_quantity_atomic: '0', notional_usdc_micro: '0', volume_usdc_micro: '0', trades: 0 },
    open_interest_atomic: '0',
  });
});

test('RULES.md 13.14: the tickers of all markets that are not decided, in one document', async () => {
  const decided = await makeMarket(server);
  const listed = (tickers: readonly Ticker[], { id }: { id: string }) => tickers.find((each) => each.market_id === id);
  await eventually('the market is listed', async () => listed((await maker.client.tickers()).tickers, decided));
  await server.admin.resolveMarket(decided.id, { outcome_index: 0 });
  const tickers = await eventually('the market is listed no more', async () => {
    const { tickers } = await maker.client.tickers();
    return listed(tickers, decided) === undefined && listed(tickers, market)?.trades === 2 && tickers;
  });
  assert.deepEqual(listed(tickers, market), await maker.client.ticker(market.id));
  assert.equal(new Set(tickers.map(({ market_id }) => market_id)).size, tickers.length);
  const alone = await server.request('GET', pathOf(decided));
  assert.deepEqual([alone.status, alone.body.trades], [200, 0], 'alone it still has one');
});

test('RULES.md 6.15: a document that the client has is not sent again, and one that has changed is', async () => {
  const get = (tag?: string, method = 'GET') =>
    fetch(`${server.baseUrl}/v1/tickers`, { method, headers: tag === undefined ? {} : { 'if-none-match': tag } });
  const { body, tag } = await eventually('nothing happens for a moment', async () => {
    const first = await get();
    const tag = first.headers.get('etag')!;
    const body = await first.text();
    const second = await get(tag);
    if (second.status !== 304) return false;
    assert.equal(await second.text(), '');
    assert.equal(second.headers.get('etag'), tag);
    return { body, tag };
  });
  assert.match(tag, /^"[A-Za-z0-9_-]{22}"$/);
  assert.ok(JSON.parse(body).tickers.length > 0);
  for (const [named, status] of [
    [`W/${tag}`, 304],
    [`"other", ${tag}`, 304],
    ['*', 304],
    ['"other"', 200],
  ] as const) {
    const answer = await get(named);
    // Other files may have traded on the shared server in the meantime.
    if (answer.headers.get('etag') === tag || named === '*') assert.equal(answer.status, status, named);
    await answer.text();
  }
  const head = await get(undefined, 'HEAD');
  assert.equal(head.status, 200);
  await maker.place(market, { price: '0.57', size: '1' });
  await eventually('a new document', async () => {
    const answer = await get(tag);
    return answer.status === 200 && (await answer.text()) !== body;
  });
});

test('tickers are refused for an unknown market or outcome', async () => {
  for (const id of [UNKNOWN_MARKET, 'x']) {
    assertRefused(await server.request('GET', pathOf({ id })), 404, 'NOT_FOUND', 'market not found');
  }
  const answer = await server.request('GET', `${pathOf(market)}?outcome_index=2`);
  assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid outcome_index');
});
