/** Many payments in one transaction, by a key that can do nothing else (data/contracts/src/Payments.sol). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Address, decodeErrorResult, encodeFunctionData, type Hex } from 'viem';
import { OK } from '../../shared/base/errors.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, receiptOf, send, sendData } from './deploy.ts';
import { FEE_MICRO, FINAL_BLOCKS, FollowedExchange } from './followedExchange.ts';
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

/** By operation: the name of the error of each failed one. */
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
  // Through a contract of the thief's in place of an exchange it reaches no other function of the real one.
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

type Options = Omit<ConstructorParameters<typeof FollowedExchange>[0], 'chain' | 'markets'>;

/** Each account has ten USDC, in the ledger too. */
async function funded(t: TestContext, options: Options): Promise<FollowedExchange> {
  const { accounts } = options;
  const markets = [{ ticksPerUnit: 100, feeBps: 0, minOrderAtomic: 100 }];
  const exchange = new FollowedExchange({ ...options, chain: rig, markets });
  t.after(() => exchange.close());
  await FollowedExchange.grantRights(rig);
  for (const account of accounts) await rig.fund(key(account), TEN);
  await rig.client.mine({ blocks: FINAL_BLOCKS });
  for (let round = 0; accounts.some((account) => exchange.usdcOf(account) === 0); round++) {
    assert.ok(round < 50, 'the deposits are in the ledger');
    await exchange.step();
  }
  return exchange;
}

/** The ledger carries it out: a withdrawal that the ledger refuses is never sent to the chain. */
function withdraw(exchange: FollowedExchange, account: number, micro: number): void {
  assert.equal(exchange.withdraw(account, micro).reply.code, OK, `a withdrawal of ${micro} micro-USDC of ${account}`);
}

const paidOf = (accounts: readonly number[]) =>
  Promise.all(accounts.map((account) => rig.walletUsdc(key(account).address)));

/** RULES.md 17.26 */
test(
  'payments of many accounts are one transaction of their own key, and a bad one is made again',
  options,
  async (t) => {
    const accounts = Array.from({ length: 12 }, (_, index) => 100 + index);
    const [spiteful] = accounts as [number];
    let isBelieved = true;
    const exchange = await funded(t, {
      accounts,
      around: (rpc) => ({
        call: async (method, params) => {
          const isSimulation = method === 'eth_call' && 'gas' in (params[0] as object);
          return isSimulation && !isBelieved ? '0x' : rpc.call(method, params);
        },
      }),
    });
    const sent = () => rig.client.getTransactionCount({ address: exchange.payer.address });
    const sentByOperator = () => rig.client.getTransactionCount({ address: exchange.operator.address });
    const before = await sentByOperator();
    const freeze = (isFrozen: boolean) => {
      const args = [key(spiteful).address, isFrozen];
      return send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', args);
    };
    await freeze(true);
    isBelieved = false;
    for (const account of accounts) withdraw(exchange, account, Number(PAY));
    // The first round learns the nonce of the key.
    for (let round = 0; round < 3; round++) await exchange.step();
    assert.equal(await sent(), 1, 'one transaction for all');
    const paid = () => paidOf(accounts);
    assert.deepEqual(await paid(), [0n, ...accounts.slice(1).map(() => PAY)]);
    await exchange.step();
    const health = exchange.settlement.health({ problem: null, balances: [], nodes: [] });
    assert.deepEqual([health.failedInRow, health.refusedPayments], [0, 1]);
    const [refusal] = exchange.settlement.payments.heldUp(10, 0);
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

for (const isWithoutPayer of [false, true]) {
  const who = isWithoutPayer ? 'the operator' : 'a payer';
  test(`payments about which the nodes answer nothing clear hold up no others of ${who}`, options, async (t) => {
    const accounts = Array.from({ length: 12 }, (_, index) => 200 + index);
    // Lists of addresses differ by provider: one refuses, and from another comes no answer at all.
    const [refused, unanswered] = accounts as [number, number];
    const names = (account: number) => key(account).address.slice(2).toLowerCase();
    let isListed = true;
    const exchange = await funded(t, {
      ...{ accounts, isWithoutPayer },
      around: (rpc) => ({
        call: async (method, params) => {
          const { data = '', gas } = (params[0] ?? {}) as { data?: string; gas?: string };
          if (isListed && method === 'eth_call' && gas !== undefined) {
            if (data.includes(names(refused))) throw new RpcError('eth_call: this address is on a list');
            if (data.includes(names(unanswered))) throw new NodeUnreachable('eth_call: no answer');
          }
          return rpc.call(method, params);
        },
      }),
    });
    for (const account of accounts) for (let n = 0; n < 2; n++) withdraw(exchange, account, Number(PAY));
    const paid = () => paidOf(accounts);
    const others = accounts.slice(2).map(() => 2n * PAY);
    // One payment of each account at a time, and without a key of their own eight of all accounts.
    for (let round = 0; round < 8; round++) await exchange.step();
    assert.deepEqual(await paid(), [0n, 0n, ...others]);
    await rig.client.mine({ blocks: FINAL_BLOCKS });
    // A round that has reached its end has compared ledger and chain.
    for (let round = 0; round < 3; round++) await exchange.step();
    await exchange.reconcile();
    const waiting = exchange.settlement.payments.heldUp(10, 0).map(({ account, reason }) => [account, reason]);
    assert.deepEqual(waiting, [
      [refused, 'eth_call: this address is on a list'],
      [unanswered, 'eth_call: no answer'],
    ]);
    isListed = false;
    await exchange.finish();
    assert.deepEqual(
      await paid(),
      accounts.map(() => 2n * PAY),
    );
    await exchange.compare('after the payments');
  });
}

/** RULES.md 17.26 */
test('accounts take turns, however many payments one of them has asked for before', options, async (t) => {
  const accounts = Array.from({ length: 10 }, (_, index) => 300 + index);
  const spiteful = accounts.slice(0, -1);
  const victim = accounts.at(-1)!;
  const exchange = await funded(t, { accounts, isWithoutPayer: true });
  for (let n = 0; n < 9; n++) for (const account of spiteful) withdraw(exchange, account, 1_000_000);
  withdraw(exchange, victim, Number(PAY));
  const isPaid = async () => (await rig.walletUsdc(key(victim).address)) === PAY;
  let rounds = 0;
  while (!(await isPaid())) {
    assert.ok(rounds++ < 50);
    await exchange.step();
  }
  const others = await paidOf(spiteful);
  const before = others.reduce((sum, micro) => sum + Number(micro / 1_000_000n), 0);
  assert.ok(before <= 2 * 9, `${before} of 81 payments of others came before the one of the victim`);
  await exchange.finish();
});

/** RULES.md 17.48 */
test('while the signer of one key is away, the others send what is theirs', options, async (t) => {
  const accounts = [401, 402];
  const [splits, withdraws] = accounts as [number, number];
  let away: Hex | null = null;
  const exchange = await funded(t, {
    accounts,
    aroundKey: (own) => ({
      ...own,
      sign: async (transaction) => {
        if (own.address === away) throw new NodeUnreachable('the signer of a key: no answer');
        return own.sign(transaction);
      },
    }),
  });
  exchange.openMarkets();
  assert.equal(exchange.split(splits, 0, Number(PAY)).reply.code, OK);
  await exchange.finish();
  const [market] = exchange.markets;
  const held = () => rig.held(key(splits), market!.yes);
  const paid = () => rig.walletUsdc(key(withdraws).address);
  const both = async (owner: Hex) => {
    away = owner;
    assert.equal(exchange.split(splits, 0, Number(PAY)).reply.code, OK);
    withdraw(exchange, withdraws, Number(PAY));
    for (let round = 0; round < 6; round++) await exchange.step();
    const found = [await held(), await paid()];
    away = null;
    await exchange.finish();
    return found;
  };
  assert.deepEqual(await both(exchange.operator.address), [PAY, PAY]);
  assert.deepEqual(await both(exchange.payer.address), [3n * PAY, PAY]);
  assert.deepEqual([await held(), await paid()], [3n * PAY, 2n * PAY]);
  await exchange.compare('at the end');
});

const HOUR_MS = 3_600_000;
/** Enough blocks for a held-back payment to be checked again, and rounds that pay it. */
async function goOn(exchange: FollowedExchange, passMs = 0): Promise<void> {
  exchange.nowMs += passMs;
  await rig.client.mine({ blocks: 31 });
  for (let round = 0; round < 3; round++) await exchange.step();
}

/** RULES.md 17.49 */
test(
  'what is above the bound of an account waits for its hour, over restarts too, and stops no other',
  options,
  async (t) => {
    const accounts = [501, 502, 503];
    const [thief, victim, whale] = accounts as [number, number, number];
    const exchange = await funded(t, { accounts, payBounds: { accountMicro: 6_000_000, allMicro: 10 ** 12 } });
    for (let n = 0; n < 3; n++) withdraw(exchange, thief, Number(PAY));
    await goOn(exchange);
    await goOn(exchange);
    exchange.restart();
    withdraw(exchange, victim, Number(PAY));
    withdraw(exchange, whale, 9_000_000);
    withdraw(exchange, whale, 950_000);
    await goOn(exchange);
    await goOn(exchange);
    assert.deepEqual(await paidOf(accounts), [2n * PAY, PAY, 0n]);
    const waiting = () => exchange.settlement.payments.heldUp(10, 0).map(({ account, reason }) => [account, reason]);
    const reason = 'more than an account is paid in an hour';
    assert.deepEqual(waiting(), [
      [thief, reason],
      [whale, reason],
    ]);
    const health = exchange.settlement.health({ problem: null, balances: [], nodes: [] });
    assert.deepEqual([health.refusedPayments, health.heldUpPayments], [0, 2]);
    assert.ok(health.oldestWorkMs < 60_000, 'what a bound holds back is no work that is late');
    await goOn(exchange, HOUR_MS);
    assert.deepEqual(await paidOf(accounts), [3n * PAY, PAY, 0n]);
    // A payment above the bound waits for a day, and later ones of the account wait behind it.
    await goOn(exchange, 22 * HOUR_MS);
    assert.deepEqual(waiting(), [[whale, reason]]);
    await goOn(exchange, HOUR_MS);
    await exchange.finish();
    assert.deepEqual(await paidOf(accounts), [3n * PAY, PAY, TEN - 2n * BigInt(FEE_MICRO)]);
    await exchange.compare('after the payments');
  },
);

/** RULES.md 17.49 */
test('accounts that move money to and fro leave something of the bound of all to others', options, async (t) => {
  const accounts = Array.from({ length: 12 }, (_, index) => 520 + index);
  const busy = accounts.slice(0, -1);
  const victim = accounts.at(-1)!;
  const [all, most] = [40_000_000, 10_000_000];
  const exchange = await funded(t, { accounts, payBounds: { accountMicro: most, allMicro: all } });
  const began = exchange.nowMs;
  let asked = 0;
  for (let turn = 0; turn < 4; turn++) {
    for (const account of busy) {
      // Asks for shares of its balance, as far as allowed: payments over the bound wait, and so do those behind them.
      withdraw(exchange, account, 1_000_000);
      asked += 1_000_000;
    }
    await goOn(exchange);
    for (const account of busy) {
      const micro = await rig.walletUsdc(key(account).address);
      if (micro > 0n) await rig.fund(key(account), micro);
    }
    await rig.client.mine({ blocks: FINAL_BLOCKS });
    await goOn(exchange);
  }
  withdraw(exchange, victim, 500_000);
  await goOn(exchange);
  assert.ok(exchange.nowMs - began < HOUR_MS);
  const sent = exchange.settlement.payments.sentSince(0);
  const sumOf = (account: number) => sent.reduce((sum, each) => sum + (each.account === account ? each.amount : 0), 0);
  const whole = sent.reduce((sum, { amount }) => sum + amount, 0);
  assert.ok(whole < asked && whole < all, `${whole} of ${asked} micro-USDC`);
  assert.equal(sumOf(victim), 500_000);
  assert.equal(await rig.walletUsdc(key(victim).address), 500_000n);
  for (const account of busy) assert.ok(sumOf(account) <= all / 8);
});
