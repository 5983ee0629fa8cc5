/** Full sets, claims (data/contracts/src/Sets.sol), and the factory that makes and decides markets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, type Hex, keccak256, toBytes, toHex } from 'viem';
import { marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { NO_ANVIL } from './anvil.ts';
import { send } from './deploy.ts';
import { BUY, type ChainMarket, chainRig, eventsOf, key, ROLES, refused, SELL, USDC } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob, carol] = [key(1), key(2), key(3)];
const TEN = 10_000_000n;
const claim = (from: Address, account: Address, { conditionId }: ChainMarket) =>
  rig.exchange(from, 'claim', [account, conditionId]);
const onFactory = (from: Address, name: string, args: unknown[]) =>
  send(rig.client, from, rig.contracts.marketFactory, 'MarketFactory', name, args);

test('a wallet splits what is unheld into sets that it can trade, and merges unheld sets', options, async () => {
  const market = await rig.createMarket();
  const { conditionId } = market;
  await rig.fund(alice, TEN);
  const split = (amount: bigint) => rig.exchange(alice.address, 'splitFromEscrow', [conditionId, amount]);
  await refused(split(1n), 'InsufficientUnheld');
  await rig.operator('release', [rig.freshHash(), alice.address, USDC, 6_000_000n]);
  await refused(split(0n), 'ZeroAmount');
  await refused(rig.exchange(alice.address, 'splitFromEscrow', [rig.freshHash(), 1n]), 'UnknownMarket');
  await split(4_000_000n);
  assert.deepEqual(await rig.balance(alice, USDC), [4_000_000n, 2_000_000n]);
  assert.deepEqual(await rig.balance(alice, market.yes), [4_000_000n, 0n]);
  await refused(rig.exchange(alice.address, 'mergeToEscrow', [conditionId, 1n]), 'InsufficientUnheld');
  for (const token of [market.yes, market.no]) {
    await rig.operator('release', [rig.freshHash(), alice.address, token, 3_000_000n]);
  }
  await rig.exchange(alice.address, 'mergeToEscrow', [conditionId, 3_000_000n]);
  assert.deepEqual(await rig.balance(alice, USDC), [4_000_000n, 5_000_000n]);
  assert.deepEqual(await rig.balance(alice, market.no), [1_000_000n, 0n]);
});

test('splits and merges of the ledger are mirrored once for each operation', options, async () => {
  const { conditionId, yes, no } = await rig.createMarket();
  await rig.fund(alice, TEN);
  const split = [rig.freshHash(), alice.address, conditionId, 4_000_000n];
  const merge = [rig.freshHash(), alice.address, conditionId, 1_000_000n];
  for (const [name, args] of [
    ['splitFor', split],
    ['mergeFor', merge],
  ] as const) {
    await refused(rig.exchange(alice.address, name, args), 'AccessControlUnauthorizedAccount');
    await rig.operator(name, args);
    assert.deepEqual((await rig.operator(name, args)).logs, []);
  }
  assert.equal(await rig.held(alice, USDC), 7_000_000n);
  assert.equal(await rig.held(alice, yes), 3_000_000n);
  const tooMany = [rig.freshHash(), alice.address, conditionId, 3_000_001n];
  await refused(rig.operator('mergeFor', tooMany), 'InsufficientHeld');
  assert.equal(await rig.walletTokens(rig.contracts.exchange, no), 3_000_000n);
});

test(
  'a decided market pays each account once, rounded down, and the rounding to the fee account',
  options,
  async () => {
    const market = await rig.createMarket();
    const { exchange } = rig.contracts;
    await rig.fundSets(alice, market, 3_000_001n);
    await rig.fund(bob, TEN);
    const orders = [
      await rig.order(alice, SELL, market.yes, 1_000_001n, 333_334n, { feeRateBps: 0n }),
      await rig.order(bob, BUY, market.yes, 1_000_001n, 333_334n, { feeRateBps: 0n }),
    ];
    await rig.settleAll(orders, [rig.match(1_000_001n, 333_334n)]);
    await refused(rig.operator('claim', [alice.address, market.conditionId]), 'MarketNotDecided');
    await rig.resolve(market, 333_333n, 666_667n);
    await refused(claim(carol.address, alice.address, market), 'NotTheAccount');
    await claim(alice.address, alice.address, market);
    // floor(2,000,000 * 0.333333 + 3,000,001 * 0.666667) = floor(666,666 + 2,000,001.666667)
    assert.equal(await rig.held(alice, USDC), 333_334n + 2_666_667n);
    await claim(ROLES.operator, bob.address, market);
    assert.equal(await rig.held(bob, USDC), TEN - 333_334n + 333_333n);
    assert.equal(await rig.held(exchange, USDC), 1n, 'what rounding kept back');
    assert.equal(await rig.walletUsdc(exchange), 13_000_001n);
    const repeated = await claim(alice.address, alice.address, market);
    const [{ args }] = eventsOf(repeated.logs, 'Exchange', 'Claimed');
    assert.deepEqual([args['heldMicro'], args['unheldMicro']], [0n, 0n]);
  },
);

test('unheld tokens are paid into what is unheld', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  await rig.operator('release', [rig.freshHash(), alice.address, market.yes, 4_000_000n]);
  await rig.resolve(market, 1_000_000n, 0n);
  await claim(alice.address, alice.address, market);
  assert.deepEqual(await rig.balance(alice, USDC), [6_000_000n, 4_000_000n]);
});

test('an account with one micro of each outcome is not short of what its holding pays', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, 1n);
  await rig.resolve(market, 500_000n, 500_000n);
  await claim(alice.address, alice.address, market);
  assert.equal(await rig.held(alice, USDC), 1n);
});

test('nothing of a market is traded, split or merged once it is redeemed', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  await rig.fundSets(bob, market, TEN);
  await rig.fund(bob, TEN);
  await rig.resolve(market, 1_000_000n, 0n);
  const orders = [
    await rig.order(alice, SELL, market.yes, TEN, 6_000_000n),
    await rig.order(bob, BUY, market.yes, TEN, 6_000_000n),
  ];
  await rig.settleAll(orders, [rig.match(100n, 60n)]);
  await claim(ROLES.operator, alice.address, market);
  const { failed } = await rig.settle(orders, [rig.match(100n, 60n)]);
  assert.deepEqual(failed, [{ index: 0, error: 'UnknownToken' }]);
  for (const name of ['splitFor', 'mergeFor']) {
    await refused(rig.operator(name, [rig.freshHash(), bob.address, market.conditionId, 1n]), 'UnknownMarket');
  }
  await onFactory(carol.address, 'register', [market.marketId]);
  assert.deepEqual((await rig.settle(orders, [rig.match(100n, 60n)])).failed, [{ index: 0, error: 'UnknownToken' }]);
});

test('the ids of a market and its tokens follow from its id, as the exchange derives them', options, async () => {
  const { marketId, conditionId, yes } = await rig.createMarket();
  const { marketFactory, usdc } = rig.contracts;
  assert.equal(await rig.call('conditionalTokens', 'getOutcomeSlotCount', [conditionId]), 2n);
  assert.equal(await rig.call('exchange', 'conditionOf', [yes]), conditionId);
  const made = toBytes(marketId);
  const ids = [made, ...Array.from({ length: 30 }, (_, at) => toBytes(keccak256(toHex(at))).subarray(0, 16))];
  for (const idBytes of ids) {
    const derived = marketIds(marketFactory, idBytes);
    if (idBytes === made) assert.equal(derived.conditionId, conditionId);
    assert.equal(derived.questionId, keccak256(idBytes));
    assert.equal(await rig.call('marketFactory', 'conditionOf', [derived.questionId]), derived.conditionId);
    const tokens = (await rig.call('marketFactory', 'tokensOf', [derived.conditionId])) as bigint[];
    assert.deepEqual(outcomeTokenIds({ marketFactory, collateral: usdc }, idBytes), tokens.map(String));
  }
});

test('a market is made once, also when anybody prepared its condition before', options, async () => {
  const marketId = toHex(77, { size: 16 });
  const { conditionalTokens, marketFactory } = rig.contracts;
  const prepare = [marketFactory, keccak256(marketId), 2n];
  await send(rig.client, carol.address, conditionalTokens, 'IConditionalTokens', 'prepareCondition', prepare);
  const created = await onFactory(ROLES.deployer, 'createMarket', [marketId]);
  assert.equal(eventsOf(created.logs, 'MarketFactory', 'MarketCreated').length, 1);
  assert.deepEqual((await onFactory(ROLES.deployer, 'createMarket', [marketId])).logs, []);
  await refused(
    onFactory(carol.address, 'createMarket', [toHex(78, { size: 16 })]),
    'AccessControlUnauthorizedAccount',
  );
  await onFactory(ROLES.admin, 'pause', []);
  await refused(onFactory(ROLES.deployer, 'createMarket', [toHex(78, { size: 16 })]), 'EnforcedPause');
});

test('only the contract of resolutions decides a market, and once', options, async () => {
  const market = await rig.createMarket();
  const resolve = (from: Address, id: Hex) => onFactory(from, 'resolve', [id, 1_000_000n, 0n]);
  for (const from of [carol.address, ROLES.resolver, ROLES.admin]) {
    await refused(resolve(from, market.marketId), 'AccessControlUnauthorizedAccount');
  }
  await refused(onFactory(carol.address, 'register', [toHex(5000, { size: 16 })]), 'MarketNotCreated');
  await rig.resolve(market, 1_000_000n, 0n);
  await refused(rig.resolve(market, 1_000_000n, 0n), 'MarketDecided');
  const registration = [rig.freshHash(), 1n, 2n];
  await refused(rig.exchange(ROLES.admin, 'registerMarket', registration), 'NotTheFactory');
});
