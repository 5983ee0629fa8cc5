/** Many payments in one transaction, by a key that can do nothing else (data/contracts/src/Payments.sol). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, decodeErrorResult, encodeFunctionData, type Hex } from 'viem';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, receiptOf, send, sendData } from './deploy.ts';
import { FINAL_BLOCKS, FollowedExchange } from './followedExchange.ts';
import { chainRig, eventsOf, key, ROLES, refused, USDC } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob, carol] = [key(1), key(2), key(3)];
const TEN = 10_000_000n;
const PAY = 3_000_000n;

type Payment = { operationId: Hex; account: Address; amount: bigint; isRelease: boolean };

const payment = (account: Address, changes: Partial<Payment> = {}): Payment => {
  return { operationId: rig.freshHash(), account, amount: PAY, isRelease: false, ...changes };
};

const pay = (payments: readonly Payment[], from: Address = ROLES.payer, exchange: Address = rig.contracts.exchange) =>
  send(rig.client, from, rig.contracts.payments, 'Payments', 'pay', [exchange, payments]);

/** By operation, the name of the error of each that has failed. */
function failuresOf({ logs }: Awaited<ReturnType<typeof pay>>): [unknown, string][] {
  const abi = [...abiOf('Exchange'), ...abiOf('DemoUsdc').filter(({ type }) => type === 'error')];
  return eventsOf(logs, 'Payments', 'PaymentFailed').map(({ args }) => {
    return [args['operationId'], decodeErrorResult({ abi, data: args['reason'] as Hex }).errorName];
  });
}

test('one bad payment fails alone, wherever it is, and can be made later', options, async () => {
  for (const trader of [alice, bob, carol]) await rig.fund(trader, TEN);
  const freeze = (isFrozen: boolean) =>
    send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', [bob.address, isFrozen]);
  await freeze(true);
  const bad = payment(bob.address);
  const tooMuch = payment(carol.address, { amount: TEN + 1n });
  const good = [payment(alice.address), payment(carol.address, { isRelease: true })];
  const receipt = await pay([bad, good[0]!, tooMuch, good[1]!]);
  assert.deepEqual(failuresOf(receipt), [
    [bad.operationId, 'Blacklisted'],
    [tooMuch.operationId, 'InsufficientHeld'],
  ]);
  assert.equal(await rig.walletUsdc(alice.address), PAY);
  assert.deepEqual(await rig.balance(carol, USDC), [TEN - PAY, PAY]);
  assert.deepEqual(await rig.balance(bob, USDC), [TEN, 0n]);
  await freeze(false);
  assert.deepEqual(failuresOf(await pay([...good, bad])), []);
  assert.deepEqual([await rig.walletUsdc(alice.address), await rig.walletUsdc(bob.address)], [PAY, PAY], 'once each');
});

test('too little gas fails the whole transaction, and no payment of it alone', options, async () => {
  for (const trader of [alice, bob]) await rig.fund(trader, TEN);
  const payments = [payment(alice.address), payment(bob.address)];
  const data = encodeFunctionData({
    abi: abiOf('Payments'),
    functionName: 'pay',
    args: [rig.contracts.exchange, payments],
  });
  const whole = await rig.client.estimateGas({ account: ROLES.payer, to: rig.contracts.payments, data });
  let done = 0;
  for (let step = 0; step < 30; step++) {
    const snapshot = await rig.client.snapshot();
    const gas = 40_000n + (whole * BigInt(step)) / 25n;
    const hash = await rig.client.sendTransaction({
      ...{ account: ROLES.payer, to: rig.contracts.payments, data, gas, gasPrice: 0n, chain: null },
    });
    const receipt = await receiptOf(rig.client, hash);
    assert.deepEqual(failuresOf(receipt), [], `with ${gas} gas`);
    if (receipt.status === 'success') done++;
    await rig.client.revert({ id: snapshot });
  }
  assert.ok(done > 0 && done < 30, `${done} of 30`);
});

test('nobody else pays, the payer pays an account to itself alone, and does nothing else', options, async () => {
  for (const trader of [alice, bob]) await rig.fund(trader, TEN);
  const market = await rig.createMarket();
  for (const from of [alice.address, ROLES.operator, ROLES.deployer, ROLES.permitSigner]) {
    await refused(pay([payment(alice.address)], from), 'AccessControlUnauthorizedAccount');
  }
  await refused(pay([payment(alice.address)], ROLES.payer, bob.address), 'NotAnExchange');
  const { exchange } = rig.contracts;
  const id = rig.freshHash();
  const calls: readonly [string, readonly unknown[]][] = [
    ['withdrawFor', [id, alice.address, USDC, PAY]],
    ['release', [id, alice.address, USDC, PAY]],
    ['splitFor', [id, alice.address, market.conditionId, PAY]],
    ['mergeFor', [id, alice.address, market.conditionId, PAY]],
    ['settleBatch', [id, [], []]],
    ['migrate', [[alice.address], [USDC]]],
    ['sweepFees', [USDC, 1n]],
    ['pause', []],
  ];
  for (const [name, args] of calls) {
    await refused(rig.exchange(ROLES.payer, name, args), 'AccessControlUnauthorizedAccount');
  }
  // By a contract of the thief's in the place of an exchange it reaches no other function of the true one.
  const thief: Address = `0x${'66'.repeat(20)}`;
  await rig.client.setCode({ address: thief, bytecode: '0x00' });
  const theft = encodeFunctionData({
    abi: abiOf('Payments'),
    functionName: 'pay',
    args: [thief, [payment(thief)]],
  });
  assert.equal(
    (await sendData(rig.client, { from: ROLES.payer, to: rig.contracts.payments, data: theft })).status,
    'success',
  );
  assert.equal(await rig.walletUsdc(exchange), 2n * TEN);
});

/** RULES.md 17.26 */
test(
  'payments of many accounts are one transaction of their own key, and a bad one is made again',
  options,
  async (t) => {
    const accounts = Array.from({ length: 12 }, (_, index) => 100 + index);
    const [spiteful] = accounts as [number];
    let isBelieved = true;
    const exchange = new FollowedExchange({
      chain: rig,
      accounts,
      markets: [],
      around: (rpc) => ({
        call: async (method, params) => {
          const isSimulation = method === 'eth_call' && 'gas' in (params[0] as object);
          return isSimulation && !isBelieved ? '0x' : rpc.call(method, params);
        },
      }),
    });
    t.after(() => exchange.close());
    await FollowedExchange.grantRights(rig);
    for (const account of accounts) await rig.fund(key(account), TEN);
    await rig.client.mine({ blocks: FINAL_BLOCKS });
    for (let round = 0; accounts.some((account) => exchange.usdcOf(account) === 0); round++) {
      assert.ok(round < 50, 'the deposits are in the ledger');
      await exchange.step();
    }
    const sent = () => rig.client.getTransactionCount({ address: exchange.payer.address });
    const sentByOperator = () => rig.client.getTransactionCount({ address: exchange.operator.address });
    const before = await sentByOperator();
    const freeze = (isFrozen: boolean) => {
      const args = [key(spiteful).address, isFrozen];
      return send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', args);
    };
    await freeze(true);
    isBelieved = false;
    for (const account of accounts) exchange.withdraw(account, Number(PAY));
    // The first round learns the nonce of the key.
    for (let round = 0; round < 3; round++) await exchange.step();
    assert.equal(await sent(), 1, 'one transaction for all');
    const paid = () => Promise.all(accounts.map((account) => rig.walletUsdc(key(account).address)));
    assert.deepEqual(await paid(), [0n, ...accounts.slice(1).map(() => PAY)]);
    await exchange.step();
    const health = exchange.settlement.health({ problem: null, balances: [], nodes: [] });
    assert.deepEqual([health.failedInRow, health.refusedPayments], [0, 1]);
    const [refusal] = exchange.settlement.payments.refused(10, 0);
    assert.deepEqual([refusal!.account, refusal!.reason?.length], [spiteful, '0x12345678'.length], 'the error of USDC');
    isBelieved = true;
    await freeze(false);
    await exchange.finish();
    assert.deepEqual(
      await paid(),
      accounts.map(() => PAY),
    );
    await exchange.compare('after the payments');
    await exchange.reconcile();
    assert.equal(await sentByOperator(), before, 'the operator has paid nobody');
  },
);
