/** Several shards over one account's money (RULES.md 3.1): what one reserves, no other can. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { assertBalanced, makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const SHARDS = 3;
const server = await startServer(fileScope, { SHARDS: String(SHARDS), VERIFY_THREADS: '1' });

const markets = await marketPerShard(server, SHARDS);

test('orders in three shards race for the same last dollar and exactly one gets it', async () => {
  for (let round = 0; round < 10; round++) {
    const trader = await makeTrader(server, { depositMicro: 1_000_000 });
    const answers = await Promise.all(
      markets.map((market) => trader.post(trader.body(market, { price: '0.5', size: '2' }))),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [200, 400, 400], JSON.stringify(answers.map((answer) => answer.body)));
    for (const { status, body } of answers) {
      if (status === 200) continue;
      assert.equal(body.code, 'INSUFFICIENT_BALANCE');
      assert.deepEqual(body.details, {
        asset: 'USDC',
        required: '1000000',
        available: '0',
        reserved: body.details.reserved,
      });
    }
    const { usdc } = await trader.client.balances();
    assert.deepEqual(usdc, { available: '0', reserved: '1000000' });
  }
  await assertBalanced(server);
});

test('cancel-all reaches every shard and gives everything back', async () => {
  const trader = await makeTrader(server, { depositMicro: 30_000_000 });
  for (const market of markets) {
    for (const price of ['0.1', '0.2']) await trader.place(market, { price, size: '10' });
  }
  const { cancelled } = await trader.client.cancelAll();
  assert.equal(cancelled, 2 * SHARDS);
  assert.deepEqual((await trader.client.balances()).usdc, { available: '30000000', reserved: '0' });
});

test('money won in one shard buys in another as soon as the answer says so', async () => {
  const [first, second] = markets as [OrderMarket, OrderMarket];
  const seller: Trader = await makeTrader(server, { depositMicro: 10_000_000 });
  const buyer: Trader = await makeTrader(server, { depositMicro: 10_000_000 });
  await seller.client.split(first.id, 10_000_000);
  await buyer.place(first, { price: '0.6', size: '10' });
  const sold = await seller.place(first, { side: 'SELL', price: '0.6', size: '10' });
  assert.equal(sold.status, 'filled');
  // 6 USDC less the fee of 50 bps.
  const spent = await seller.post(seller.body(second, { price: '0.01', size: '597' }));
  assert.equal(spent.status, 200, JSON.stringify(spent.body));
  assert.deepEqual((await seller.client.balances()).usdc, { available: '0', reserved: '5970000' });
  await assertBalanced(server);
});
