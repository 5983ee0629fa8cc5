/** Deposits, withdrawals and exits (data/contracts/src/Escrow.sol), fees and the successor (Exchange.sol). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Abi, type Address, encodeFunctionData, parseAbi, zeroAddress } from 'viem';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, deployExchange, receiptOf, send } from './deploy.ts';
import {
  BUY,
  type ChainMarket,
  chainRig,
  EXIT_DELAY,
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
const deposit = (from: Address, args: readonly unknown[]) => rig.exchange(from, 'depositWithAuthorization', args);

test('a permitted deposit is credited to the account, whoever sends it and whoever pays', options, async () => {
  await rig.mint(bob.address, TEN);
  await deposit(carol.address, await rig.depositArgs(bob, TEN, { account: alice.address }));
  assert.equal(await rig.held(alice, USDC), TEN);
  assert.equal(await rig.walletUsdc(bob.address), 0n);
  assert.equal(await rig.walletUsdc(rig.contracts.exchange), TEN);
});

test('a deposit without a good permit takes nothing', options, async () => {
  await rig.mint(alice.address, 10n * TEN);
  const { timestamp } = await rig.client.getBlock();
  const args = (changes: object) => rig.depositArgs(alice, TEN, changes);
  await refused(deposit(alice.address, await args({ deadline: timestamp - 1n })), 'PermitExpired');
  await refused(deposit(alice.address, await args({ signer: bob })), 'PermitNotSigned');
  await refused(deposit(alice.address, await args({ account: zeroAddress })), 'InvalidAddress');
  await refused(deposit(alice.address, await rig.depositArgs(alice, 0n)), 'ZeroAmount');
  const good = await args({});
  const [permit, permitSignature, authorization] = good;
  for (const change of [
    { account: bob.address },
    { amount: TEN - 1n },
    { nonce: rig.freshHash() },
    { deadline: 2n ** 40n },
  ]) {
    await refused(
      deposit(alice.address, [{ ...permit, ...change }, permitSignature, authorization]),
      'PermitNotSigned',
    );
  }
  await deposit(alice.address, good);
  await refused(deposit(alice.address, good), 'PermitAlreadyUsed');
  await refused(deposit(bob.address, await args({ nonce: permit.nonce })), 'PermitAlreadyUsed');
  assert.equal(await rig.held(alice, USDC), TEN);
});

test('an exchange that was deployed without a signer of permits takes no deposits', options, async () => {
  const roles = { ...ROLES, permitSigner: zeroAddress };
  const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
  const exchange = await deployExchange(rig.client, roles, delays, rig.contracts);
  const [permit, , authorization] = await rig.depositArgs(alice, TEN);
  const args = [permit, `0x${'00'.repeat(65)}`, authorization];
  const attempt = send(rig.client, alice.address, exchange, 'Exchange', 'depositWithAuthorization', args);
  await refused(attempt, 'PermitNotSigned');
});

test("nobody can use a wallet's authorization for another account", options, async () => {
  await rig.mint(alice.address, TEN);
  const [permit, permitSignature, authorization] = await rig.depositArgs(alice, TEN);
  const [hers, hersSignature] = await rig.depositArgs(carol, TEN);
  const stolen = deposit(carol.address, [hers, hersSignature, authorization]);
  await refused(stolen, 'ERC3009InvalidSignature');
  const unbound = await rig.depositArgs(alice, TEN, { authorizationNonce: rig.freshHash() });
  await refused(deposit(alice.address, unbound), 'ERC3009InvalidSignature');
  await deposit(alice.address, [permit, permitSignature, authorization]);
});

test('a deposit that USDC refuses changes nothing', options, async () => {
  await refused(deposit(alice.address, await rig.depositArgs(alice, TEN)), 'ERC20InsufficientBalance');
  await rig.mint(alice.address, TEN);
  await send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', [alice.address, true]);
  await refused(deposit(alice.address, await rig.depositArgs(alice, TEN)), 'Blacklisted');
  await send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'pause', []);
  await refused(deposit(alice.address, await rig.depositArgs(alice, TEN)), 'EnforcedPause');
  assert.equal(await rig.held(alice, USDC), 0n);
});

test('the deposit calls of earlier contracts are refused by name', options, async () => {
  const legacy: readonly [string, readonly unknown[]][] = [
    ['deposit', [TEN]],
    ['depositFor', [alice.address, TEN]],
    ['depositWithPermit', [TEN, 0n, 27, rig.freshHash(), rig.freshHash()]],
  ];
  for (const [name, args] of legacy)
    await refused(rig.exchange(alice.address, name, args), 'DepositAuthorizationRequired');
});

test('tokens and coins cannot be sent to the exchange', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  await leaveWith(alice.address, market);
  await rig.client.setBalance({ address: alice.address, value: 1n });
  const abi: Abi = parseAbi(['function safeTransferFrom(address,address,uint256,uint256,bytes)']);
  const args = [alice.address, rig.contracts.exchange, market.yes, 1n, '0x'];
  const data = encodeFunctionData({ abi, functionName: 'safeTransferFrom', args });
  const call = { account: alice.address, gas: 1_000_000n, gasPrice: 0n, chain: null } as const;
  for (const transaction of [
    { ...call, to: rig.contracts.conditionalTokens, data },
    { ...call, to: rig.contracts.exchange, value: 1n },
  ]) {
    const hash = await rig.client.sendTransaction(transaction);
    assert.equal((await receiptOf(rig.client, hash)).status, 'reverted');
  }
});

/** The account requests its exit, waits, and takes its tokens of the market and its USDC to its wallet. */
async function leaveWith(account: Address, { yes, no }: ChainMarket): Promise<void> {
  await rig.exchange(account, 'requestExit', []);
  await rig.pass(EXIT_DELAY);
  await rig.exchange(account, 'exit', [[USDC, yes, no]]);
  for (const asset of [USDC, yes, no]) {
    const [, unheld] = await rig.balance(account, asset);
    if (unheld > 0n) await rig.exchange(account, 'withdraw', [asset, unheld, account]);
  }
}

test(
  'held funds leave only by the operator, to the wallet they belong to, once for each operation',
  options,
  async () => {
    await rig.fund(alice, TEN);
    await refused(rig.exchange(alice.address, 'withdraw', [USDC, 1n, alice.address]), 'InsufficientUnheld');
    const args = [rig.freshHash(), alice.address, USDC, 4_000_000n];
    await refused(rig.exchange(alice.address, 'withdrawFor', args), 'AccessControlUnauthorizedAccount');
    await rig.operator('withdrawFor', args);
    assert.deepEqual((await rig.operator('withdrawFor', args)).logs, [], 'a repeat does nothing');
    assert.equal(await rig.walletUsdc(alice.address), 4_000_000n);
    assert.equal(await rig.held(alice, USDC), 6_000_000n);
    const tooMuch = [rig.freshHash(), alice.address, USDC, 6_000_001n];
    await refused(rig.operator('withdrawFor', tooMuch), 'InsufficientHeld');
    assert.equal(await rig.call('exchange', 'operationDone', [tooMuch[0]]), false, 'it can be carried out later');
  },
);

test('released funds are the wallet`s own: it withdraws them anywhere, or holds them again', options, async () => {
  await rig.fund(alice, TEN);
  await refused(
    rig.exchange(alice.address, 'release', [rig.freshHash(), alice.address, USDC, 1n]),
    'AccessControlUnauthorizedAccount',
  );
  const args = [rig.freshHash(), alice.address, USDC, 4_000_000n];
  await rig.operator('release', args);
  assert.deepEqual((await rig.operator('release', args)).logs, []);
  const ofFees = [rig.freshHash(), rig.contracts.exchange, USDC, 0n];
  await refused(rig.operator('release', ofFees), 'InvalidAddress');
  assert.deepEqual(await rig.balance(alice, USDC), [6_000_000n, 4_000_000n]);
  await rig.exchange(alice.address, 'withdraw', [USDC, 1_000_000n, bob.address]);
  await rig.exchange(alice.address, 'hold', [USDC, 2_000_000n]);
  assert.deepEqual(await rig.balance(alice, USDC), [8_000_000n, 1_000_000n]);
  assert.equal(await rig.walletUsdc(bob.address), 1_000_000n);
  await refused(rig.exchange(alice.address, 'hold', [USDC, 1_000_001n]), 'InsufficientUnheld');
  await refused(rig.exchange(alice.address, 'hold', [USDC, 0n]), 'ZeroAmount');
  await refused(rig.exchange(alice.address, 'withdraw', [USDC, 1n, rig.contracts.exchange]), 'InvalidAddress');
});

test('an exit waits until what is matched is settled, and no operator can keep it from going on', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  await rig.fund(bob, TEN);
  await refused(rig.exchange(alice.address, 'exit', [[USDC]]), 'ExitNotDue');
  await rig.exchange(alice.address, 'requestExit', []);
  await refused(rig.exchange(alice.address, 'requestExit', []), 'ExitPending');
  await rig.pass(EXIT_DELAY - 10n);
  await refused(rig.exchange(alice.address, 'exit', [[market.yes]]), 'ExitNotDue');
  // A trade of before the request settles in the meantime.
  const orders = [
    await rig.order(alice, SELL, market.yes, 4_000_000n, 2_000_000n),
    await rig.order(bob, BUY, market.yes, 4_000_000n, 2_000_000n),
  ];
  await rig.settleAll(orders, [rig.match(4_000_000n, 2_000_000n)]);
  await rig.exchange(ROLES.admin, 'pause', []);
  await rig.pass(10n);
  await rig.exchange(alice.address, 'exit', [[USDC, market.yes, market.no]]);
  assert.deepEqual(await rig.balance(alice, market.yes), [0n, 6_000_000n]);
  await rig.exchange(alice.address, 'withdraw', [market.yes, 6_000_000n, carol.address]);
  await rig.exchange(alice.address, 'withdraw', [USDC, 1_990_000n, alice.address]);
  assert.equal(await rig.walletTokens(carol.address, market.yes), 6_000_000n);
});

test('an account that leaves takes no new funds until it stays', options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, TEN);
  await rig.operator('release', [rig.freshHash(), alice.address, USDC, TEN]);
  await refused(rig.exchange(alice.address, 'cancelExit', []), 'ExitNotDue');
  await rig.exchange(alice.address, 'requestExit', []);
  await rig.mint(alice.address, TEN);
  await refused(deposit(alice.address, await rig.depositArgs(alice, TEN)), 'ExitPending');
  await refused(rig.exchange(alice.address, 'hold', [USDC, TEN]), 'ExitPending');
  await refused(rig.exchange(alice.address, 'splitFromEscrow', [market.conditionId, TEN]), 'ExitPending');
  await rig.exchange(alice.address, 'cancelExit', []);
  await rig.exchange(alice.address, 'hold', [USDC, TEN]);
});

test('a pause stops what brings funds in, and nothing that brings them out', options, async () => {
  await rig.fund(alice, TEN);
  await rig.mint(alice.address, TEN);
  await rig.exchange(ROLES.admin, 'pause', []);
  await refused(deposit(alice.address, await rig.depositArgs(alice, TEN)), 'EnforcedPause');
  await rig.operator('release', [rig.freshHash(), alice.address, USDC, 2n]);
  await refused(rig.exchange(alice.address, 'hold', [USDC, 1n]), 'EnforcedPause');
  await rig.exchange(alice.address, 'withdraw', [USDC, 2n, alice.address]);
  await rig.operator('withdrawFor', [rig.freshHash(), alice.address, USDC, 1n]);
});

test(
  'USDC that is sent straight to the contract is in no account, and no function gives it back',
  options,
  async () => {
    const { exchange } = rig.contracts;
    const accounts = [alice.address, bob.address, exchange];
    const held = () => Promise.all(accounts.map((account) => rig.balance(account, USDC)));
    const before = await held();
    const [, , [fees]] = before;
    await rig.mint(exchange, TEN);
    assert.deepEqual(await held(), before, 'whose it was is not known here');
    await refused(rig.operator('sweepFees', [USDC, fees! + 1n]), 'InsufficientHeld');
    await refused(rig.operator('withdrawFor', [rig.freshHash(), exchange, USDC, fees! + 1n]), 'InsufficientHeld');
    await refused(rig.operator('release', [rig.freshHash(), exchange, USDC, 1n]), 'InvalidAddress');
    await refused(rig.exchange(alice.address, 'withdraw', [USDC, TEN, alice.address]), 'InsufficientUnheld');
  },
);

test('fees are swept to the one recipient of the deployment', options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, TEN);
  await rig.fundSets(bob, market, TEN);
  const orders = [
    await rig.order(alice, BUY, market.yes, TEN, 6_000_000n),
    await rig.order(bob, SELL, market.yes, TEN, 6_000_000n),
  ];
  await rig.settleAll(orders, [rig.match(TEN, 6_000_000n)]);
  await refused(rig.exchange(alice.address, 'sweepFees', [USDC, 1n]), 'AccessControlUnauthorizedAccount');
  await refused(rig.operator('sweepFees', [USDC, 30_001n]), 'InsufficientHeld');
  await rig.operator('sweepFees', [USDC, 30_000n]);
  await rig.operator('sweepFees', [market.yes, 50_000n]);
  assert.equal(await rig.walletUsdc(ROLES.feeRecipient), 30_000n);
  assert.equal(await rig.walletTokens(ROLES.feeRecipient, market.yes), 50_000n);
  const roles = { ...ROLES, feeRecipient: zeroAddress };
  const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
  const without = await deployExchange(rig.client, roles, delays, rig.contracts);
  await refused(send(rig.client, ROLES.operator, without, 'Exchange', 'sweepFees', [USDC, 1n]), 'NoFeeRecipient');
});

test(
  'an announced successor takes over held funds after the delay; unheld ones stay with their wallets',
  options,
  async () => {
    const market = await rig.createMarket();
    await rig.fundSets(alice, market, TEN);
    await rig.fund(alice, TEN);
    await rig.operator('release', [rig.freshHash(), alice.address, USDC, 3_000_000n]);
    const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
    const { exchange } = rig.contracts;
    const successor = await deployExchange(rig.client, ROLES, delays, rig.contracts, exchange);
    const on = (from: Address, name: string, args: unknown[]) =>
      send(rig.client, from, successor, 'Exchange', name, args);
    const all = [
      [alice.address, alice.address, bob.address],
      [USDC, market.yes, USDC],
    ];
    await refused(rig.operator('announceSuccessor', [successor]), 'AccessControlUnauthorizedAccount');
    await refused(rig.operator('migrate', all), 'SuccessorNotDue');
    await rig.exchange(ROLES.admin, 'announceSuccessor', [successor]);
    await rig.pass(EXIT_DELAY + 60n);
    await refused(rig.operator('migrate', all), 'SuccessorNotDue');
    await rig.pass(EXIT_DELAY);
    await refused(rig.exchange(alice.address, 'migrate', all), 'AccessControlUnauthorizedAccount');
    await refused(rig.operator('migrate', [[alice.address], []]), 'LengthsDiffer');
    const { marketFactory } = rig.contracts;
    await send(rig.client, ROLES.admin, marketFactory, 'MarketFactory', 'setExchange', [successor]);
    await send(rig.client, carol.address, marketFactory, 'MarketFactory', 'register', [market.marketId]);
    await rig.operator('migrate', all);
    await refused(on(ROLES.admin, 'receiveMigrated', [alice.address, 1n]), 'NotThePredecessor');
    assert.deepEqual(await rig.balance(alice, USDC), [0n, 3_000_000n]);
    assert.equal(await rig.walletUsdc(successor), 7_000_000n);
    assert.equal(await rig.walletTokens(successor, market.yes), TEN);
    const call = { address: successor, abi: abiOf('Exchange'), functionName: 'balanceOf' };
    assert.deepEqual(await rig.client.readContract({ ...call, args: [alice.address, market.yes] }), [TEN, 0n]);
    await rig.exchange(alice.address, 'withdraw', [USDC, 3_000_000n, alice.address]);
  },
);
