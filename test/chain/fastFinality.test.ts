/**
 * On a chain whose blocks are final with two behind them, the 32 confirmations decide when something is settled and
 * when it is compared (RULES.md 14.8): an account with a payment in each block makes no difference, and stops nobody.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from 'viem';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key, USDC } from './rig.ts';

const DEPOSIT = 100_000_000;
const PAYMENTS = 20;
const [SPITEFUL, VICTIM] = [0x61, 0x62];

test('a payment in each block of a chain of quick finality refuses nobody', { skip: NO_ANVIL }, async (t) => {
  const rig = await ChainRig.start(1);
  t.after(() => rig.stop());
  const server = await startServer(t, {
    ...(await chainSettings(rig)),
    MOST_CHAIN_MOVEMENTS_A_DAY: String(PAYMENTS),
    MOST_HEAD_AGE_MS: '3600000',
  });
  const traderOf = async (number: number) => {
    const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
    await rig.fund(key(number), BigInt(DEPOSIT));
    await eventually('the deposit', async () => {
      await rig.client.mine({ blocks: 1 });
      return (await trader.client.balances()).usdc.available === String(DEPOSIT);
    });
    return trader;
  };
  const [spiteful, victim] = [await traderOf(SPITEFUL), await traderOf(VICTIM)];
  const market = await makeMarket(server);
  let finalized = 0n;
  for (let paid = 0; paid < PAYMENTS; paid++) {
    // The most payments that may wait for the chain at once.
    await eventually('another payment is taken', async () => {
      await rig.client.mine({ blocks: 1 });
      const { order_hash } = await victim.place(market, { price: '0.10', size: '1' });
      await victim.client.cancelOrder(order_hash);
      const { settlement } = await server.admin.operations();
      assert.equal(settlement?.differences, 0, `after ${paid} payments`);
      finalized = (await rig.client.getBlock({ blockTag: 'finalized' })).number;
      const withdrawal = { amount_usdc_micro: '1000000', reference: `payment-${paid}` };
      return await spiteful.client.ledger.withdraw(withdrawal).catch(({ code }) => {
        assert.equal(code, 'CONFLICT');
        return false;
      });
    });
  }
  assert.ok((await rig.client.getBlockNumber()) - finalized < 32n, 'what the node calls final decides nothing here');
  const left = BigInt(DEPOSIT - PAYMENTS * 1_000_000);
  await eventually('all is paid, and compared', async () => {
    await rig.client.mine({ blocks: 8 });
    const { settlement } = await server.admin.operations();
    assert.equal(settlement?.differences, 0);
    return (await rig.held(key(SPITEFUL), USDC)) === left && settlement.work.mined === 0;
  });
  assert.equal(await rig.walletUsdc(key(SPITEFUL).address), BigInt(PAYMENTS) * 1_000_000n);
});
