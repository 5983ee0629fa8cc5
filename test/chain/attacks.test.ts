/** Attacks on the contracts by contracts: hooks that call back, a hostile successor; and amounts at their bounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Abi, type Address, concat, encodeFunctionData, type Hex, numberToHex, toHex } from 'viem';
import { bpsFloor } from '../../shared/base/int.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, deployExchange, send } from './deploy.ts';
import {
  BUY,
  CHAIN_ID,
  type ChainMarket,
  chainRig,
  EXIT_DELAY,
  eventsOf,
  key,
  ROLES,
  refused,
  SELL,
  SETTLEMENT_GRACE,
  USDC,
} from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob, carol] = [key(1), key(2), key(3)];
const TEN = 10_000_000n;
const ATTACKER: Address = `0x${'66'.repeat(20)}`;
const RECEIVED = '0xf23a6e61';
const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
const callOf = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: abiOf('Exchange'), functionName, args });

/**
 * Code that makes one call on every call to it, writes to slot 0 whether that failed (1) or not (2), and accepts the
 * token.
 */
function callsBack(target: Address, data: Hex): Hex {
  const length = numberToHex((data.length - 2) / 2, { size: 2 });
  const answer = `0x7f${RECEIVED.slice(2)}${'00'.repeat(28)}60005260206000f3` as const;
  const call = concat(['0x6000600061', length, '0x6000600073', target, '0x5af1600101600055', answer]);
  // The data of the call comes after the code: nine bytes that copy the data, and the call.
  const offset = numberToHex((call.length - 2) / 2 + 9, { size: 2 });
  return concat(['0x61', length, '0x61', offset, '0x600039', call, data]);
}

/** True if the call that the code at this address makes was refused; undefined if it was not made. */
async function isRefused(address: Address): Promise<boolean | undefined> {
  const noted = BigInt((await rig.client.getStorageAt({ address, slot: toHex(0) })) ?? 0);
  return noted === 0n ? undefined : noted === 1n;
}

/** The account gets these tokens of the market, unheld. */
async function fundUnheld(account: Address, { conditionId, yes, no }: ChainMarket, amount: bigint): Promise<void> {
  await rig.mint(alice.address, amount);
  await rig.exchange(alice.address, 'depositWithAuthorization', await rig.depositArgs(alice, amount, { account }));
  await rig.operator('splitFor', [rig.freshHash(), account, conditionId, amount]);
  for (const token of [yes, no]) await rig.operator('release', [rig.freshHash(), account, token, amount]);
}

test('a wallet that calls back while it is paid is refused, whatever it calls', options, async () => {
  const market = await rig.createMarket();
  const { exchange } = rig.contracts;
  await fundUnheld(ATTACKER, market, TEN);
  const calls: readonly [string, readonly unknown[]][] = [
    ['withdraw', [market.yes, 1n, ATTACKER]],
    ['hold', [market.yes, 1n]],
    ['mergeToEscrow', [market.conditionId, 1n]],
    ['splitFromEscrow', [market.conditionId, 1n]],
    ['exit', [[market.yes]]],
    ['claim', [ATTACKER, market.conditionId]],
  ];
  for (const [name, args] of calls) {
    await rig.client.setCode({ address: ATTACKER, bytecode: callsBack(exchange, callOf(name, args)) });
    await rig.client.setStorageAt({ address: ATTACKER, index: 0, value: toHex(0, { size: 32 }) });
    await rig.exchange(ATTACKER, 'withdraw', [market.yes, 1_000_000n, ATTACKER]);
    assert.equal(await isRefused(ATTACKER), true, name);
  }
  const paid = BigInt(calls.length) * 1_000_000n;
  assert.deepEqual(await rig.balance(ATTACKER, market.yes), [0n, TEN - paid]);
  assert.equal(await rig.walletTokens(ATTACKER, market.yes), paid);
  assert.equal(await rig.walletTokens(exchange, market.yes), TEN - paid);
});

test('a hostile successor gets the tokens that are migrated, and no others', options, async () => {
  const market = await rig.createMarket();
  const { exchange, conditionalTokens } = rig.contracts;
  await rig.fundSets(bob, market, 1_000_000n);
  await fundUnheld(alice.address, market, TEN);
  await rig.exchange(ROLES.admin, 'announceSuccessor', [ATTACKER]);
  await rig.pass(2n * EXIT_DELAY);
  const theft = encodeFunctionData({
    abi: abiOf('IConditionalTokens') as Abi,
    functionName: 'safeTransferFrom',
    args: [exchange, carol.address, market.yes, TEN, '0x'],
  });
  await rig.client.setCode({ address: ATTACKER, bytecode: callsBack(conditionalTokens, theft) });
  await rig.operator('migrate', [[bob.address], [market.yes]]);
  assert.equal(await isRefused(ATTACKER), true);
  assert.equal(await rig.walletTokens(carol.address, market.yes), 0n);
  await rig.exchange(alice.address, 'withdraw', [market.yes, TEN, alice.address]);
});

test('tokens do not migrate into a market that the successor has redeemed', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  const { exchange, marketFactory } = rig.contracts;
  const successor = await deployExchange(rig.client, ROLES, delays, rig.contracts, exchange);
  const on = (from: Address, name: string, args: unknown[]) =>
    send(rig.client, from, successor, 'Exchange', name, args);
  const tokens = [[alice.address], [market.yes]];
  await rig.exchange(ROLES.admin, 'announceSuccessor', [successor]);
  await rig.pass(2n * EXIT_DELAY);
  await refused(rig.operator('migrate', tokens), 'UnknownToken');
  await send(rig.client, ROLES.admin, marketFactory, 'MarketFactory', 'setExchange', [successor]);
  await send(rig.client, carol.address, marketFactory, 'MarketFactory', 'register', [market.marketId]);
  await rig.resolve(market, 1_000_000n, 0n);
  // Anybody may claim nothing, and that redeems the market there.
  await on(carol.address, 'claim', [carol.address, market.conditionId]);
  await refused(rig.operator('migrate', tokens), 'UnknownToken');
  await rig.operator('claim', [alice.address, market.conditionId]);
  await rig.operator('migrate', [[alice.address], [USDC]]);
  assert.equal(await rig.walletUsdc(successor), TEN);
  assert.deepEqual(await rig.balance(alice, USDC), [0n, 0n]);
});

test('payouts that are not a million together decide nothing', options, async () => {
  const market = await rig.createMarket();
  for (const [yes, no] of [
    [500_000n, 50_000n],
    [1n, 0n],
    [0n, 0n],
    [1_000_001n, 0n],
    [2n ** 255n, 2n ** 255n],
    [2n ** 256n - 1n, 1_000_001n],
  ]) {
    await refused(rig.resolve(market, yes, no), 'PayoutsNotWhole');
  }
  await rig.resolve(market, 0n, 1_000_000n);
});

for (const ticks of [1n, 99n]) {
  test(`forty fills of one lot at ${ticks} of 100 ticks pay the fees of the engine`, options, async () => {
    const market = await rig.createMarket();
    const [lots, unit, rate] = [40n, 100n, 37n];
    await rig.fund(alice, TEN);
    await rig.fundSets(bob, market, TEN);
    const terms = [market.yes, lots * unit, lots * ticks, { feeRateBps: rate }] as const;
    const orders = [await rig.order(alice, BUY, ...terms), await rig.order(bob, SELL, ...terms)];
    const matches = Array.from({ length: Number(lots) }, () => rig.match(unit, ticks));
    const { logs } = await rig.settleAll(orders, matches);
    const fees = eventsOf(logs, 'Exchange', 'MatchSettled').map(({ args }) => [args['takerFee'], args['makerFee']]);
    const feeUntil = (received: bigint) => BigInt(bpsFloor(Number(received), Number(rate)));
    const expected = matches.map((_, index) => {
      const number = BigInt(index);
      return [unit, ticks].map((one) => feeUntil((number + 1n) * one) - feeUntil(number * one));
    });
    assert.deepEqual(fees, expected);
    assert.equal(await rig.held(alice, market.yes), lots * unit - feeUntil(lots * unit));
    assert.equal(await rig.held(bob, USDC), lots * ticks - feeUntil(lots * ticks));
    const { failed } = await rig.settle(orders, [rig.match(unit, ticks)]);
    assert.deepEqual(failed, [{ index: 0, error: 'Overfilled' }]);
  });
}

test('after a fork of the chain an order is one of the old chain alone', options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, TEN);
  const signed = await rig.order(alice, BUY, market.yes, TEN, 6_000_000n);
  assert.equal(await rig.call('exchange', 'refusalOf', [signed]), '0x00000000');
  const setChain = (id: number) => rig.client.request({ method: 'anvil_setChainId' as never, params: [id] as never });
  await setChain(CHAIN_ID + 1);
  try {
    assert.notEqual(await rig.call('exchange', 'refusalOf', [signed]), '0x00000000');
  } finally {
    await setChain(CHAIN_ID);
  }
});
