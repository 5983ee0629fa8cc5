/** RULES.md 1.2: a market of every grid, over HTTP: prices, lots, trades of both kinds, and values off the grid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TICKS_PER_UNIT } from '../../shared/base/codes.ts';
import { eventually } from '../support/eventually.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const [alice, bob] = [await makeTrader(server), await makeTrader(server)];

afterEachOfFile(() => assertBalanced(server));

for (const ticks_per_unit of TICKS_PER_UNIT) {
  test(`a market with ${ticks_per_unit} ticks trades at its first, its last and a middle price`, async () => {
    const market = await makeMarket(server, { ticks_per_unit });
    const priceOf = (ticks: number): string => String(ticks / ticks_per_unit);
    const grid = await alice.client.tickSize(market.id);
    assert.deepEqual([grid.tick_size, grid.lot_size_atomic], [priceOf(1), String(ticks_per_unit)]);
    const middle = Math.ceil(ticks_per_unit / 2);
    for (const ticks of [1, middle, ticks_per_unit - 1]) {
      // Yes at p and No at 1 - p make a set.
      const [yes, no] = [priceOf(ticks), priceOf(ticks_per_unit - ticks)];
      await alice.place(market, { price: yes, size: '10' });
      const [bid] = (await alice.client.book(market.id)).bids;
      assert.deepEqual([bid!.price, bid!.token_quantity_atomic], [yes, '10000000']);
      assert.equal(bid!.notional_usdc_micro, String((10_000_000 / ticks_per_unit) * ticks));
      const { fills } = await bob.place(market, { outcomeIndex: 1, price: no, size: '10' });
      assert.equal(fills[0]!.price, no);
    }
    const trades = await eventually('the trades', async () => {
      const page = await alice.client.userTrades({ market_id: market.id });
      return page.trades.length === 3 && page.trades;
    });
    assert.deepEqual(
      trades.map(({ price }) => price),
      [ticks_per_unit - 1, middle, 1].map((ticks) => (1 - ticks / ticks_per_unit).toFixed(8)),
      'the newest first, at the price of the taker',
    );
    const middling = { price: priceOf(middle), size: '10' };
    const [micro, atomic] = [(10_000_000 / ticks_per_unit) * middle, 10_000_000];
    const offPrice = await alice.post(alice.bodyOf(market, middling, micro + 1, atomic));
    assertRefused(offPrice, 400, 'INVALID_TICK', 'price is not a multiple of the tick size');
    const halves = alice.bodyOf(market, middling, middle * 3, ticks_per_unit * 3);
    assert.equal((await alice.post(halves)).body.code, 'BELOW_MIN_SIZE', 'three lots are on the grid');
  });
}

test('a grid below 10, above 10,000, or that does not divide 10,000 makes no market', async () => {
  for (const ticks_per_unit of [1, 2, 4, 5, 8, 20_000, 30, 64, 3125, 9999]) {
    await assert.rejects(makeMarket(server, { ticks_per_unit: ticks_per_unit as 100 }), {
      code: 'VALIDATION_ERROR',
      message: /ticks_per_unit/,
    });
  }
});
