/** The keys of an exchange in the hands of a thief, each alone (THREATS.md says the same in words). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, maxUint256 } from 'viem';
import { NO_ANVIL } from './anvil.ts';
import { send } from './deploy.ts';
import {
  BUY,
  CHAIN_ID,
  type ChainMarket,
  CONTRACT_OF,
  chainRig,
  EXIT_DELAY,
  key,
  RESOLUTION_DELAY,
  ROLES,
  refused,
  SELL,
  type SignedChainOrder,
  USDC,
} from './rig.ts';

const rig = await chainRig(RESOLUTION_DELAY);
const options = { skip: NO_ANVIL };
const [victim, thief] = [key(1), key(2)];
const UNIT = 1_000_000n;
const THOUSAND = 1000n * UNIT;
const NOTICE = 7n * 86_400n;
const DENIED = 'AccessControlUnauthorizedAccount';
const ALL_YES = [1_000_000n, 0n] as const;
const TRANSFER_FIELDS = [
  ...['from', 'to'].map((name) => ({ name, type: 'address' })),
  ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
  { name: 'nonce', type: 'bytes32' },
];

const proposeAs = (from: Address, { marketId }: ChainMarket, [yes, no]: readonly [bigint, bigint]) =>
  rig.decide(from, 'propose', [marketId, yes, no]);
/** Past the contract in which a decision waits. */
const resolveAs = (from: Address, { marketId }: ChainMarket, [yes, no]: readonly [bigint, bigint]) =>
  send(rig.client, from, rig.contracts.marketFactory, 'MarketFactory', 'resolve', [marketId, yes, no]);
const carryOut = (number: bigint, from: Address = thief.address) => rig.decide(from, 'carryOut', [number]);
const veto = (number: bigint) => rig.decide(ROLES.vetoer, 'veto', [number]);

const grant = async (contract: 'exchange' | 'resolutions', role: string, to: Address, from = ROLES.admin) => {
  const of = CONTRACT_OF[contract];
  await send(rig.client, from, rig.contracts[contract], of, 'grantRole', [await rig.call(contract, role, []), to]);
};

/**
 * The victim has signed to buy 1,000 No at 0.90, and has cancelled that off the chain: the contract does not know it.
 * The thief has 100 USDC and buys the Yes.
 */
async function cancelledOrder(): Promise<{ market: ChainMarket; orders: SignedChainOrder[] }> {
  const market = await rig.createMarket();
  await rig.fund(victim, THOUSAND);
  await rig.fund(thief, THOUSAND / 10n);
  const free = { feeRateBps: 0n };
  const orders = [
    await rig.order(thief, BUY, market.yes, THOUSAND, THOUSAND / 10n, free),
    await rig.order(victim, BUY, market.no, THOUSAND, (THOUSAND * 9n) / 10n, free),
  ];
  return { market, orders };
}

test(
  'OPERATOR_KEY and RESOLVER_KEY together take what signed orders cover, where nobody vetoes in time',
  options,
  async () => {
    const { market, orders } = await cancelledOrder();
    await rig.settleAll(orders, [rig.match(THOUSAND, (THOUSAND * 9n) / 10n)]);
    await proposeAs(ROLES.resolver, market, ALL_YES);
    const claim = () => rig.operator('claim', [thief.address, market.conditionId]);
    const asleep = await rig.client.snapshot();
    await rig.pass(RESOLUTION_DELAY - 10n);
    await refused(carryOut(1n), 'NotDue');
    await refused(claim(), 'MarketNotDecided');
    await veto(1n);
    await rig.pass(RESOLUTION_DELAY);
    await refused(carryOut(1n), 'NotOpen');
    await refused(proposeAs(ROLES.resolver, market, ALL_YES), DENIED);
    await refused(claim(), 'MarketNotDecided');
    await rig.client.revert({ id: asleep });
    await rig.pass(RESOLUTION_DELAY);
    await carryOut(1n);
    await claim();
    await rig.operator('withdrawFor', [rig.freshHash(), thief.address, USDC, THOUSAND]);
    assert.equal(await rig.walletUsdc(thief.address), THOUSAND, '100 USDC have become 1,000');
    assert.equal(await rig.held(victim, USDC), THOUSAND / 10n);
  },
);

test('OPERATOR_KEY alone fills the order, at its price, and decides nothing', options, async () => {
  const { market, orders } = await cancelledOrder();
  await rig.settleAll(orders, [rig.match(THOUSAND, (THOUSAND * 9n) / 10n)]);
  await refused(resolveAs(ROLES.operator, market, ALL_YES), DENIED);
  await refused(rig.operator('claim', [thief.address, market.conditionId]), 'MarketNotDecided');
  const again = await rig.settle(orders, [rig.match(THOUSAND, (THOUSAND * 9n) / 10n)]);
  assert.deepEqual(again.failed, [{ index: 0, error: 'Overfilled' }]);
  await rig.operator('withdrawFor', [rig.freshHash(), victim.address, USDC, THOUSAND / 10n]);
  assert.equal(await rig.walletUsdc(victim.address), THOUSAND / 10n, 'an account is paid to itself');
});

test(
  'OPERATOR_KEY alone gains where the owner has cancelled because the outcome is known by then',
  options,
  async () => {
    const { market, orders } = await cancelledOrder();
    await rig.settleAll(orders, [rig.match(THOUSAND, (THOUSAND * 9n) / 10n)]);
    // The honest decision.
    await rig.resolve(market, ...ALL_YES);
    await rig.operator('claim', [thief.address, market.conditionId]);
    await rig.exchange(thief.address, 'requestExit', []);
    await rig.pass(EXIT_DELAY);
    await rig.exchange(thief.address, 'exit', [[USDC]]);
    await rig.exchange(thief.address, 'withdraw', [USDC, THOUSAND, thief.address]);
    assert.equal(await rig.walletUsdc(thief.address), THOUSAND);
  },
);

test('RESOLVER_KEY alone proposes, is ended by one veto, and settles and pays nothing', options, async () => {
  const { market, orders } = await cancelledOrder();
  const others = [await rig.createMarket(), await rig.createMarket()];
  await rig.fundSets(victim, market, THOUSAND);
  await refused(resolveAs(ROLES.resolver, market, ALL_YES), DENIED);
  for (const each of [market, ...others]) await proposeAs(ROLES.resolver, each, ALL_YES);
  for (const name of ['veto', 'carryOut']) {
    const error = name === 'veto' ? 'NotAVetoer' : 'NotDue';
    await refused(rig.decide(ROLES.resolver, name, [1n]), error);
  }
  await veto(2n);
  await rig.pass(RESOLUTION_DELAY);
  for (const number of [1n, 2n, 3n]) await refused(carryOut(number), 'NotOpen');
  await refused(proposeAs(ROLES.resolver, market, ALL_YES), DENIED);
  // Another key decides it rightly, and nothing of before is in its way.
  await grant('resolutions', 'PROPOSER_ROLE', ROLES.payer);
  await proposeAs(ROLES.payer, market, [0n, 1_000_000n]);
  await rig.pass(RESOLUTION_DELAY);
  await carryOut(4n, victim.address);
  const asResolver = (name: string, args: readonly unknown[]) => rig.exchange(ROLES.resolver, name, args);
  await refused(asResolver('settleBatch', [rig.freshHash(), orders, []]), DENIED);
  await refused(asResolver('claim', [victim.address, market.conditionId]), 'NotTheAccount');
  await refused(asResolver('withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
  await refused(proposeAs(ROLES.payer, market, ALL_YES), 'MarketDecided');
});

test(
  'the vetoer’s key keeps markets undecided until it is taken away, a week later, and does no more',
  options,
  async () => {
    const { market, orders } = await cancelledOrder();
    const vetoer = (name: string, args: readonly unknown[]) => rig.exchange(ROLES.vetoer, name, args);
    await proposeAs(ROLES.resolver, market, ALL_YES);
    await veto(1n);
    await rig.decide(ROLES.admin, 'addVetoer', [victim.address]);
    await rig.decide(ROLES.admin, 'removeVetoer', [ROLES.vetoer]);
    await grant('resolutions', 'PROPOSER_ROLE', ROLES.resolver);
    await proposeAs(ROLES.resolver, market, ALL_YES);
    await veto(2n);
    await rig.pass(NOTICE);
    await grant('resolutions', 'PROPOSER_ROLE', ROLES.resolver);
    await proposeAs(ROLES.resolver, market, ALL_YES);
    await refused(veto(3n), 'NotAVetoer');
    await refused(proposeAs(ROLES.vetoer, market, ALL_YES), DENIED);
    await refused(resolveAs(ROLES.vetoer, market, ALL_YES), DENIED);
    await refused(rig.decide(ROLES.vetoer, 'addVetoer', [ROLES.vetoer]), DENIED);
    await refused(vetoer('settleBatch', [rig.freshHash(), orders, []]), DENIED);
    await refused(vetoer('withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
  },
);

test(
  'PAUSER_ROLE stops deposits and settlement, and neither resumes nor keeps a wallet from leaving',
  options,
  async () => {
    const pauser: Address = '0x00000000000000000000000000000000000000a7';
    const { market, orders } = await cancelledOrder();
    await rig.fundSets(victim, market, UNIT);
    await rig.operator('release', [rig.freshHash(), victim.address, USDC, UNIT]);
    await grant('exchange', 'PAUSER_ROLE', pauser);
    const as = (name: string, args: readonly unknown[]) => rig.exchange(pauser, name, args);
    await as('pause', []);
    await refused(as('unpause', []), DENIED);
    await refused(as('withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
    await refused(rig.operator('settleBatch', [rig.freshHash(), orders, []]), 'EnforcedPause');
    await rig.mint(thief.address, UNIT);
    const deposit = await rig.depositArgs(thief, UNIT);
    await refused(rig.exchange(thief.address, 'depositWithAuthorization', deposit), 'EnforcedPause');
    await rig.exchange(victim.address, 'withdraw', [USDC, UNIT, victim.address]);
    await rig.exchange(victim.address, 'requestExit', []);
    await rig.pass(EXIT_DELAY);
    const tokens = [USDC, market.yes, market.no];
    await rig.exchange(victim.address, 'exit', [tokens]);
    await rig.exchange(victim.address, 'mergeToEscrow', [market.conditionId, UNIT]);
    await rig.exchange(victim.address, 'withdraw', [USDC, THOUSAND, victim.address]);
    assert.equal(await rig.walletUsdc(victim.address), THOUSAND + UNIT);
    await rig.exchange(ROLES.admin, 'unpause', []);
  },
);

test('SWEEPER_ROLE pays fees to the recipient of the deployment, and nothing to anyone else', options, async () => {
  const sweeper: Address = '0x00000000000000000000000000000000000000a8';
  const market = await rig.createMarket();
  await rig.fund(victim, THOUSAND);
  await rig.fundSets(thief, market, THOUSAND);
  const orders = [
    await rig.order(victim, BUY, market.yes, THOUSAND, THOUSAND / 2n),
    await rig.order(thief, SELL, market.yes, THOUSAND, THOUSAND / 2n),
  ];
  await rig.settleAll(orders, [rig.match(THOUSAND, THOUSAND / 2n)]);
  await grant('exchange', 'SWEEPER_ROLE', sweeper);
  const fees = (THOUSAND / 2n / 10_000n) * 50n;
  await refused(rig.exchange(sweeper, 'sweepFees', [USDC, fees + 1n]), 'InsufficientHeld');
  await rig.exchange(sweeper, 'sweepFees', [USDC, fees]);
  assert.deepEqual([await rig.walletUsdc(ROLES.feeRecipient), await rig.walletUsdc(sweeper)], [fees, 0n]);
  await refused(rig.exchange(sweeper, 'withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
});

test(
  'RELAYER_KEY sends what an owner has signed, to whom the owner says, and can do nothing else',
  options,
  async () => {
    const relayer: Address = '0x00000000000000000000000000000000000000a9';
    const provider: Address = '0x00000000000000000000000000000000000000b1';
    const { market, orders } = await cancelledOrder();
    await rig.mint(victim.address, UNIT);
    const { usdc } = rig.contracts;
    const terms = { from: victim.address, to: provider, value: UNIT, validAfter: 0n, validBefore: maxUint256 };
    const message = { ...terms, nonce: rig.freshHash() };
    const signature = await victim.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: CHAIN_ID, verifyingContract: usdc },
      types: { TransferWithAuthorization: TRANSFER_FIELDS },
      primaryType: 'TransferWithAuthorization',
      message,
    });
    const transfer = (changes: Partial<typeof message>) => {
      const args = [...Object.values({ ...message, ...changes }), signature];
      return send(rig.client, relayer, usdc, 'DemoUsdc', 'transferWithAuthorization', args);
    };
    await assert.rejects(transfer({ to: relayer }));
    await assert.rejects(transfer({ value: 1n }));
    await refused(resolveAs(relayer, market, ALL_YES), DENIED);
    await refused(rig.exchange(relayer, 'settleBatch', [rig.freshHash(), orders, []]), DENIED);
    await refused(rig.exchange(relayer, 'withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
    await transfer({});
    await assert.rejects(transfer({}), 'once');
    assert.deepEqual([await rig.walletUsdc(provider), await rig.walletUsdc(relayer)], [UNIT, 0n]);
  },
);

test('PAYER_KEY pays a victim to the victim: trades of that account fail, and nobody gains', options, async () => {
  const { orders } = await cancelledOrder();
  const { payments, exchange } = rig.contracts;
  const each = { operationId: rig.freshHash(), account: victim.address, amount: THOUSAND, isRelease: false };
  await send(rig.client, ROLES.payer, payments, 'Payments', 'pay', [exchange, [each]]);
  assert.equal(await rig.walletUsdc(victim.address), THOUSAND);
  const { failed } = await rig.settle(orders, [rig.match(THOUSAND, (THOUSAND * 9n) / 10n)]);
  assert.deepEqual(failed, [{ index: 0, error: 'InsufficientHeld' }]);
});

test('DEPLOYER_KEY makes markets and nothing else; PERMIT_KEY moves nobody’s USDC', options, async () => {
  const { market, orders } = await cancelledOrder();
  await refused(resolveAs(ROLES.deployer, market, ALL_YES), DENIED);
  for (const from of [ROLES.deployer, ROLES.permitSigner]) {
    await refused(rig.exchange(from, 'settleBatch', [rig.freshHash(), orders, []]), DENIED);
    await refused(rig.exchange(from, 'withdrawFor', [rig.freshHash(), victim.address, USDC, 1n]), DENIED);
    await refused(rig.exchange(from, 'pause', []), DENIED);
  }
  // A permit for the thief's account, with an authorization that the victim never signed.
  await rig.mint(victim.address, UNIT);
  const [permit, signature, authorization] = (await rig.depositArgs(thief, UNIT)) as [object, string, object];
  const forged = [permit, signature, { ...authorization, from: victim.address }];
  await assert.rejects(rig.exchange(ROLES.permitSigner, 'depositWithAuthorization', forged));
  assert.equal(await rig.walletUsdc(victim.address), UNIT);
});

test(
  'the administrator takes the vetoer away a week before, and decides nothing without it seeing that',
  options,
  async () => {
    const market = await rig.createMarket();
    await refused(resolveAs(ROLES.admin, market, ALL_YES), DENIED);
    const onFactory = [await rig.call('marketFactory', 'RESOLVER_ROLE', []), ROLES.admin];
    await refused(
      send(rig.client, ROLES.admin, rig.contracts.marketFactory, 'MarketFactory', 'grantRole', onFactory),
      DENIED,
    );
    await rig.decide(ROLES.admin, 'announceDelay', [1n]);
    await rig.decide(ROLES.admin, 'addVetoer', [thief.address]);
    await rig.decide(ROLES.admin, 'removeVetoer', [ROLES.vetoer]);
    await grant('resolutions', 'PROPOSER_ROLE', ROLES.admin);
    await proposeAs(ROLES.admin, market, ALL_YES);
    await refused(carryOut(1n), 'NotDue');
    await veto(1n);
    await rig.pass(NOTICE);
    await grant('resolutions', 'PROPOSER_ROLE', ROLES.admin);
    await proposeAs(ROLES.admin, market, ALL_YES);
    await refused(veto(2n), 'NotAVetoer');
    await rig.pass(1n);
    await carryOut(2n);
  },
);

test(
  'the administrator can become every other key but that of decisions at once, and gets no unheld funds',
  options,
  async () => {
    const { market } = await cancelledOrder();
    await rig.operator('release', [rig.freshHash(), victim.address, USDC, THOUSAND / 2n]);
    await refused(rig.exchange(ROLES.admin, 'withdrawFor', [rig.freshHash(), thief.address, USDC, 1n]), DENIED);
    await grant('exchange', 'OPERATOR_ROLE', ROLES.admin);
    await refused(resolveAs(ROLES.admin, market, ALL_YES), DENIED);
    await rig.exchange(ROLES.admin, 'announceSuccessor', [thief.address]);
    const migration = [[victim.address], [USDC]];
    await refused(rig.exchange(ROLES.admin, 'migrate', migration), 'SuccessorNotDue');
    await rig.pass(2n * EXIT_DELAY - 10n);
    await refused(rig.exchange(ROLES.admin, 'migrate', migration), 'SuccessorNotDue');
    await rig.exchange(ROLES.admin, 'pause', []);
    await rig.exchange(victim.address, 'withdraw', [USDC, THOUSAND / 2n, victim.address]);
    assert.equal(await rig.walletUsdc(victim.address), THOUSAND / 2n, 'also while it is paused');
  },
);
