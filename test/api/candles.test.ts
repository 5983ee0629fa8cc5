/** Candles over HTTP, by the client and the command line (RULES.md 13.13). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const [maker, taker] = [await makeTrader(server), await makeTrader(server)];
const pathOf = ({ id }: { id: string }): string => `/v1/markets/${id}/candles`;

/** Mints sets: one account buys Yes at a price, the other No at one USDC minus that price. */
async function mint(market: OrderMarket, yes: string, no: string, size: string): Promise<void> {
  await maker.place(market, { price: yes, size });
  await taker.place(market, { outcomeIndex: 1, price: no, size });
}

const market = await makeMarket(server);
await mint(market, '0.65', '0.35', '10');
await mint(market, '0.60', '0.40', '4');

test('RULES.md 13.13: both outcomes have the same trades, each at its own prices', async () => {
  // Two trades on two sides of midnight are in two candles.
  const read = async (outcome_index: 0 | 1) => {
    const { candles } = await maker.client.candles(market.id, { interval: '1d', outcome_index });
    const trades = candles.reduce((sum, candle) => sum + candle.trades, 0);
    return trades === 2 && candles.length === 1 && candles[0]!;
  };
  const yes = await eventually('both trades in Yes', () => read(0));
  const no = await eventually('both trades in No', () => read(1));
  const both = { start: yes.start, token_quantity_atomic: '14000000', trades: 2, is_open: true };
  const volume_usdc_micro = '5100000';
  assert.deepEqual(yes, {
    ...{ ...both, open: '0.65', high: '0.65', low: '0.6', close: '0.6' },
    ...{ notional_usdc_micro: '8900000', volume_usdc_micro },
  });
  assert.deepEqual(no, {
    ...{ ...both, open: '0.35', high: '0.4', low: '0.35', close: '0.4' },
    ...{ notional_usdc_micro: '5100000', volume_usdc_micro },
  });
  assert.equal(yes.start % 86_400, 0);
});

test("RULES.md 13.13: the volumes of all candles add up to the market's", async () => {
  const { candles } = (await server.request('GET', `${pathOf(market)}?interval=1m&limit=1000`)).body;
  const micro = candles.reduce(
    (sum: number, candle: { volume_usdc_micro: string }) => sum + Number(candle.volume_usdc_micro),
    0,
  );
  await eventually('the volume', async () => {
    const { total_volume } = (await server.request('GET', `/v1/markets/${market.id}`)).body;
    return Number(total_volume) * 1e6 === micro;
  });
});

test('RULES.md 13.13: intervals without trades have candles, and the first has the opening', async () => {
  const quiet = await makeMarket(server);
  const byDefault = await eventually('the market is known', async () => {
    const { body } = await server.request('GET', pathOf(quiet));
    return body.candles.length > 0 && body;
  });
  assert.deepEqual(
    { ...byDefault, candles: [] },
    {
      ...{ market_id: quiet.id, outcome_index: 0, interval: '1h', candles: [], next_cursor: null },
    },
  );
  const nothing = { open: null, high: null, low: null, close: null, trades: 0 };
  const volumes = { token_quantity_atomic: '0', notional_usdc_micro: '0', volume_usdc_micro: '0' };
  const { start, is_open: _, ...rest } = byDefault.candles[0];
  assert.deepEqual(rest, { ...nothing, ...volumes });
  assert.equal(start % 3600, 0);
  const from = new Date(start * 1000).toISOString();
  assert.equal((await maker.client.candles(quiet.id, { from, limit: 1 })).candles.length, 1);
  assert.deepEqual((await maker.client.candles(quiet.id, { to: from })).candles, []);
  assert.deepEqual((await maker.client.candles(quiet.id, { cursor: String(start) })).candles, []);
});

for (const [query, message] of [
  ['interval=2h', 'invalid interval'],
  ['outcome_index=2', 'invalid outcome_index'],
  ['from=yesterday', 'invalid from'],
  ['to=tomorrow', 'invalid to'],
  ['limit=0', 'invalid limit'],
  ['limit=1001', 'invalid limit'],
  ['cursor=abc', 'invalid cursor'],
  ['cursor=-60', 'invalid cursor'],
  ['from=2026-10-02&to=2026-10-02', 'from must be before to'],
] as const) {
  test(`candles with ${query} are refused`, async () => {
    assertRefused(await server.request('GET', `${pathOf(market)}?${query}`), 400, 'VALIDATION_ERROR', message);
  });
}

test('candles of an unknown market are 404', async () => {
  for (const id of [UNKNOWN_MARKET, 'x']) {
    assertRefused(await server.request('GET', pathOf({ id })), 404, 'NOT_FOUND', 'market not found');
  }
});
