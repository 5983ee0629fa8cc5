/** The buyers and sellers in the flow of the demo, on a real exchange whose quotes move in the meantime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tickToPrice } from '../../shared/base/units.ts';
import { take } from '../../shared/client/examples/demoTaker.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();

test('the taker of the demo takes a quote that moves away while its order is under way', async () => {
  const moving = await makeMarket(server);
  const [other, buyer] = [await makeTrader(server), await makeTrader(server)];
  const quoteAt = async (halfSpreadTicks: number): Promise<void> => {
    await other.client.cancelMarket(moving.id);
    const price = tickToPrice(50 - halfSpreadTicks, 100);
    for (const outcomeIndex of [0, 1] as const) await other.place(moving, { outcomeIndex, price, size: '100' });
  };
  const { client } = buyer;
  const late: Parameters<typeof take>[0] = {
    bbos: async (asked) => {
      const seen = await client.bbos(asked);
      await quoteAt(3);
      return seen;
    },
    balances: () => client.balances(),
    orderMarket: (id) => client.orderMarket(id),
    feeRate: (id) => client.feeRate(id),
    signAndPlace: (signer, draft) => client.signAndPlace(signer, draft),
  };
  // Buys either outcome, and sells what it has bought.
  for (let turn = 0; turn < 4; turn++) {
    await quoteAt(2);
    await take(late, buyer.signer, [moving.id]);
  }
  const { body } = await buyer.send('GET', '/v1/user/orders/v2');
  assert.deepEqual(
    body.orders.map(({ status }: { status: string }) => status),
    Array(4).fill('filled'),
  );
});
