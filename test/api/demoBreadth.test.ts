/** The quotes of the demo in the markets that no market maker of its flow is in, on a real exchange. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseMarkets, quoteAll, valuesOf } from '../../shared/client/examples/demoBreadth.ts';
import { sharedServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const FAR = '2099-01-01T00:00:00.000Z';
const server = await sharedServer();

test('the values of the results of one question add up to one, and every value stays the same', () => {
  const markets = ['one', 'two', 'three'].map((id) => ({ id }));
  const exclusive = valuesOf(markets, true);
  assert.ok(Math.abs(exclusive.reduce((a, b) => a + b, 0) - 1) < 1e-9, `${exclusive}`);
  const single = valuesOf(markets, false);
  assert.ok(
    single.every((value) => value > 0.05 && value < 0.95),
    `${single}`,
  );
  assert.deepEqual(valuesOf(markets, false), single);
});

test('the demo quotes both sides of a book without orders, and offers again what was taken', async () => {
  const { admin } = server;
  const fields = { description: '', category: 'Breadth', trading_ends_at: FAR };
  const event = await admin.createEvent({
    title: 'Breadth',
    category: 'Breadth',
    start_time: new Date().toISOString(),
  });
  const [quoted, left] = [
    await admin.createMarket({ ...fields, event_id: event.id, title: 'Quoted?' }),
    await admin.createMarket({ ...fields, event_id: event.id, title: 'Left to others?' }),
  ];
  const [broad, buyer] = [await makeTrader(server), await makeTrader(server)];
  const { client, signer } = broad;
  const asked = [quoted.id, left.id].map((market_id) => ({ market_id, outcome_index: 0 as const }));
  const all = await chooseMarkets(client, (id) => id === left.id);
  assert.ok(!all.has(left.id));
  const chosen = new Map([[quoted.id, all.get(quoted.id)!]]);
  const grids = new Map();
  assert.equal(await quoteAll(client, signer, chosen, grids), 2);
  const [first, second] = (await client.bbos(asked)).markets;
  assert.ok(first!.best_bid !== null && first!.best_ask !== null);
  assert.deepEqual([second!.best_bid, second!.best_ask], [null, null]);
  assert.equal(await quoteAll(client, signer, chosen, grids), 0, 'both sides are there');
  await buyer.place(grids.get(quoted.id)!, { price: first!.best_ask!, size: '20' });
  assert.equal(await quoteAll(client, signer, chosen, grids), 1);
  assert.deepEqual((await client.bbos(asked)).markets[0]!.best_ask, first!.best_ask);
});
