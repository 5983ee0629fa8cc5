/**
 * The fee of a movement on the chain (RULES.md 17.50): the contract takes it with the movement, whole or not at all,
 * and an exchange with it has the same in ledger and chain.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { send } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { chainRig, key, ROLES, refused, USDC } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const UNIT = 1_000_000n;
const FEE = 25_000n;
const FEE_SHIFT = 128n;
const withFee = (amount: bigint, fee = FEE): bigint => amount | (fee << FEE_SHIFT);
const feesHeld = async (): Promise<bigint> => (await rig.balance(rig.contracts.exchange, USDC))[0];

test('each movement takes its fee once, and none is made without it', options, async () => {
  const [alice, market] = [key(1), await rig.createMarket()];
  const { conditionId } = market;
  await rig.fund(alice, 10n * UNIT);
  const before = await feesHeld();
  const movements = {
    splitFor: [alice.address, conditionId, withFee(4n * UNIT)],
    mergeFor: [alice.address, conditionId, withFee(UNIT)],
    release: [alice.address, USDC, withFee(UNIT)],
    withdrawFor: [alice.address, USDC, withFee(2n * UNIT)],
  };
  for (const [name, args] of Object.entries(movements)) {
    const operation = rig.freshHash();
    await rig.operator(name, [operation, ...args]);
    await rig.operator(name, [operation, ...args]);
  }
  assert.equal((await feesHeld()) - before, 4n * FEE);
  assert.equal(await rig.held(alice, USDC), 4n * UNIT - 4n * FEE);
  assert.equal(await rig.walletUsdc(alice.address), 2n * UNIT);
  const left = 4n * UNIT - 4n * FEE;
  for (const name of ['splitFor', 'withdrawFor', 'release']) {
    const of = name === 'splitFor' ? conditionId : USDC;
    const args = [rig.freshHash(), alice.address, of, withFee(left - FEE + 1n)];
    await refused(rig.operator(name, args), 'InsufficientHeld');
  }
  const tooMuch = [rig.freshHash(), alice.address, USDC, withFee(1n, UNIT + 1n)];
  await refused(rig.operator('withdrawFor', tooMuch), 'FeeTooLarge');
  assert.deepEqual([await rig.held(alice, USDC), (await feesHeld()) - before], [left, 4n * FEE]);
  // A merge pays the fee from its proceeds if the account has nothing else.
  await rig.operator('withdrawFor', [rig.freshHash(), alice.address, USDC, left]);
  await rig.operator('mergeFor', [rig.freshHash(), alice.address, conditionId, withFee(UNIT)]);
  assert.equal(await rig.held(alice, USDC), UNIT - FEE);
});

test('in a batch of payments the fee goes with each, and one that cannot pay it fails alone', options, async () => {
  const { exchange, payments } = rig.contracts;
  const [bob, carol] = [key(2), key(3)];
  await rig.fund(bob, UNIT);
  await rig.fund(carol, UNIT + FEE);
  const before = await feesHeld();
  const made = [bob, carol].map(({ address: account }) => {
    return { operationId: rig.freshHash(), account, amount: withFee(UNIT), isRelease: false };
  });
  await send(rig.client, ROLES.payer, payments, 'Payments', 'pay', [exchange, made]);
  assert.deepEqual([await rig.held(bob, USDC), await rig.held(carol, USDC)], [UNIT, 0n]);
  assert.deepEqual([await rig.walletUsdc(carol.address), (await feesHeld()) - before], [UNIT, FEE]);
});

test(
  'an exchange takes it exactly: shown, answered, listed, in statement and books, on the chain',
  options,
  async (t) => {
    const settings = { ...(await chainSettings(rig)), CHAIN_MOVEMENT_FEE_MICRO: String(FEE), SHARDS: '2' };
    await rig.client.setIntervalMining({ interval: 1 });
    const server = new TestServer(temporaryDirectory());
    t.after(() => server.stop());
    await server.start({ ...settings, MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' });
    const before = await feesHeld();
    await rig.fund(key(0x51), 10n * UNIT);
    const trader = await makeTrader(server, { privateKey: toHex(0x51, { size: 32 }), depositMicro: 0 });
    const { client } = trader;
    const available = async (): Promise<bigint> => BigInt((await client.balances()).usdc.available);
    await eventually('the deposit', async () => {
      await rig.client.mine({ blocks: 8 });
      return (await available()) === 10n * UNIT;
    });
    const config = await client.platformConfig();
    assert.deepEqual(
      [config.movement_fee_usdc_micro, config.least_movement_usdc_micro, config.most_movements_a_day],
      [String(FEE), '1000000', 20],
    );
    const market = await makeMarket(server);
    const split = await client.split(market.id, 4_000_000);
    const merged = await client.merge(market.id, 1_000_000);
    assert.deepEqual([split.fee_usdc_micro, merged.fee_usdc_micro], [String(FEE), String(FEE)]);
    const left = 7n * UNIT - 2n * FEE;
    assert.equal(await available(), left);
    const all = { amount_usdc_micro: String(left), reference: 'all' };
    const short = await client.ledger.withdraw(all).catch((error: Error) => error);
    assert.match(String(short), /the amount and the fee of 25000 micro-USDC are more than is available/);
    const paid = await client.ledger.withdraw({ amount_usdc_micro: String(left - FEE), reference: 'net' });
    assert.equal(paid.fee_usdc_micro, String(FEE));
    const again = await client.ledger.withdraw({ amount_usdc_micro: String(left - FEE), reference: 'net' });
    assert.deepEqual([again.id, again.fee_usdc_micro, await available()], [paid.id, String(FEE), 0n]);
    await eventually(
      'the wallet is paid',
      async () => (await rig.walletUsdc(trader.address as `0x${string}`)) === left - FEE,
    );
    await eventually('each fee has the transaction of its movement', async () => {
      const { movements } = await client.ledger.fundMovements();
      const fees = movements.filter(({ type }) => type === 'movement_fee');
      assert.deepEqual(
        fees.map(({ amount_usdc_micro }) => amount_usdc_micro),
        Array.from({ length: 3 }, () => String(FEE)),
      );
      return fees.every(({ tx_hash }) => tx_hash !== null);
    });
    const { entries, closing } = await client.ledger.statement();
    assert.equal(closing.usdc_micro, '0');
    assert.equal(
      entries.filter(({ type, usdc_delta_micro }) => type === 'movement_fee' && usdc_delta_micro === '-25000').length,
      3,
    );
    assert.equal((await server.admin.ledger()).balanced, true);
    await eventually('ledger and chain are equal', async () => {
      await rig.client.mine({ blocks: 8 });
      const report = await reconcileChain(server.dataDir, rig.client.chain.rpcUrls.default.http[0], false).catch(
        () => null,
      );
      return report?.isEqual === true && (await server.admin.operations()).settlement?.work.mined === 0;
    });
    assert.equal((await feesHeld()) - before, 3n * FEE);
  },
);
