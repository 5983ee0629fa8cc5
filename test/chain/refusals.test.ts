/** Refusals of the exchange contract: a match fails alone, and a batch reverts if its sender may not send it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, encodeFunctionData, type Hex, zeroAddress } from 'viem';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, receiptOf } from './deploy.ts';
import {
  BUY,
  beforeEachOfFile,
  type ChainMarket,
  type ChainMatch,
  type ChainOrder,
  chainRig,
  EXIT_DELAY,
  eventsOf,
  key,
  ROLES,
  refused,
  SELL,
  SETTLEMENT_GRACE,
  type SignedChainOrder,
  USDC,
} from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob, carol] = [key(1), key(2), key(3)];
const TEN = 10_000_000n;
const SIX = 6_000_000n;
let market: ChainMarket;

beforeEachOfFile(async () => {
  market = await rig.createMarket();
  await rig.fund(alice, TEN);
  await rig.fundSets(bob, market, TEN);
});

/** A buy of ten Yes at 0.60 by Alice, and a sell of ten by Bob. */
async function pair(buyChanges: Partial<ChainOrder> = {}, sellChanges: Partial<ChainOrder> = {}) {
  return [
    await rig.order(alice, BUY, market.yes, TEN, SIX, buyChanges),
    await rig.order(bob, SELL, market.yes, TEN, SIX, sellChanges),
  ];
}

/** Asserts that the match fails with this error and leaves every balance as it was. */
async function fails(orders: SignedChainOrder[], match: ChainMatch, error: string): Promise<void> {
  const before = await balances();
  const { failed } = await rig.settle(orders, [match]);
  assert.deepEqual(failed, [{ index: 0, error }]);
  assert.deepEqual(await balances(), before);
  assert.equal(await rig.call('exchange', 'tradeSettled', [match.tradeId]), false);
}

async function balances(): Promise<unknown[]> {
  const assets = [USDC, market.yes, market.no];
  const accounts = [alice.address, bob.address, rig.contracts.exchange];
  return Promise.all(accounts.flatMap((account) => assets.map((asset) => rig.balance(account, asset))));
}

test('a match that fails leaves the others of its batch alone', options, async () => {
  const [buy, sell] = await pair();
  const foreign = await rig.order(carol, SELL, market.yes, TEN, SIX);
  const first = rig.match(1_000_000n, 600_000n);
  const matches = [first, rig.match(100n, 60n, { maker: 2n }), first, rig.match(2_000_000n, 1_200_000n)];
  const { failed, receipt } = await rig.settle([buy, sell, foreign], matches);
  assert.deepEqual(failed, [
    { index: 1, error: 'InsufficientHeld' },
    { index: 2, error: 'TradeAlreadySettled' },
  ]);
  const [{ args }] = eventsOf(receipt.logs, 'Exchange', 'BatchSettled');
  assert.deepEqual([args['matches'], args['failed']], [4n, 2n]);
  assert.equal(await rig.held(bob, market.yes), 7_000_000n);
});

test('a trade that failed can be settled by a later batch', options, async () => {
  const orders = [
    await rig.order(alice, BUY, market.yes, 2n * TEN, 2n * SIX),
    await rig.order(carol, SELL, market.yes, TEN, SIX),
  ];
  const match = rig.match(TEN, SIX);
  await fails(orders, match, 'InsufficientHeld');
  await rig.fundSets(carol, market, TEN);
  await rig.settleAll(orders, [match]);
  assert.equal(await rig.call('exchange', 'tradeSettled', [match.tradeId]), true);
});

test('a repeated batch does nothing, and a trade in another batch is settled once', options, async () => {
  const orders = await pair();
  const match = rig.match(1_000_000n, 600_000n);
  const batchId = rig.freshHash();
  assert.deepEqual((await rig.settle(orders, [match], batchId)).failed, []);
  const before = await balances();
  const repeated = await rig.settle(orders, [rig.match(1_000_000n, 600_000n)], batchId);
  assert.deepEqual(repeated.receipt.logs, []);
  assert.deepEqual(await balances(), before);
  assert.deepEqual((await rig.settle(orders, [match])).failed, [{ index: 0, error: 'TradeAlreadySettled' }]);
  await rig.settleAll(orders, [{ ...rig.match(1_000_000n, 600_000n), tradeId: match.tradeId ^ 1n }]);
  assert.deepEqual((await rig.settle(orders, [match])).failed, [{ index: 0, error: 'TradeAlreadySettled' }]);
});

test('an order is never filled beyond its signed quantity, over however many batches', options, async () => {
  await rig.fundSets(bob, market, TEN);
  const orders = [...(await pair()), await rig.order(bob, SELL, market.yes, TEN, SIX)];
  await rig.settleAll(orders, [rig.match(9_999_900n, 5_999_940n)]);
  await fails(orders, rig.match(200n, 120n, { maker: 2n }), 'Overfilled');
  await rig.settleAll(orders, [rig.match(100n, 60n, { maker: 2n })]);
  await fails(orders, rig.match(100n, 60n, { maker: 2n }), 'Overfilled');
});

test('no fill is worse than the price that either side signed', options, async () => {
  const orders = await pair();
  await fails(orders, rig.match(100n, 59n), 'PriceWorseThanSigned');
  await fails(orders, rig.match(100n, 61n), 'PriceWorseThanSigned');
  await fails(orders, rig.match(100n, 0n), 'PriceOutOfRange');
  await fails(orders, rig.match(100n, 100n), 'PriceOutOfRange');
  await fails(orders, rig.match(10n ** 16n, 1n), 'PriceOutOfRange');
});

test('only a buy and a sell of one outcome meet, or two of a kind of both', options, async () => {
  const other = await rig.createMarket();
  const buy = (token: bigint) => rig.order(alice, BUY, token, TEN, SIX);
  const sell = (token: bigint) => rig.order(bob, SELL, token, TEN, SIX);
  const match = () => rig.match(100n, 60n);
  await fails([await buy(market.yes), await sell(market.no)], match(), 'OrdersDoNotMeet');
  await fails([await buy(market.yes), await buy(market.yes)], match(), 'OrdersDoNotMeet');
  await fails([await sell(market.no), await sell(market.no)], match(), 'OrdersDoNotMeet');
  await fails([await buy(market.yes), await buy(other.no)], match(), 'OrdersDoNotMeet');
  await fails([await buy(5n), await sell(5n)], match(), 'UnknownToken');
  await fails(await pair(), rig.match(100n, 60n, { taker: 2n }), 'NoSuchOrder');
});

test('an order that nobody would have accepted is malformed', options, async () => {
  const changes: Partial<ChainOrder>[] = [
    { taker: alice.address },
    { side: 2 },
    { makerAmount: 0n },
    { takerAmount: 0n },
    { makerAmount: 10n ** 15n + 1n },
    { takerAmount: 10n ** 15n + 1n },
    { feeRateBps: 10_001n },
    { maker: zeroAddress },
    { maker: rig.contracts.exchange },
  ];
  for (const change of changes) await fails(await pair(change), rig.match(100n, 60n), 'OrderMalformed');
});

test('a changed field or a foreign key is a signature of something else', options, async () => {
  const [buy, sell] = await pair();
  for (const field of ['salt', 'expiration', 'nonce', 'feeRateBps', 'minTakerNet', 'takerAmount'] as const) {
    const changed = { ...buy, order: { ...buy.order, [field]: buy.order[field] + 2_000_000_000n } };
    if (field === 'feeRateBps') changed.order.feeRateBps = 51n;
    await fails([changed, sell], rig.match(100n, 60n), 'OrderNotSigned');
  }
  await fails([{ ...buy, signature: await rig.sign(carol, buy.order) }, sell], rig.match(100n, 60n), 'OrderNotSigned');
  await fails([{ ...buy, signature: '0x' }, sell], rig.match(100n, 60n), 'OrderNotSigned');
  await fails([{ ...buy, signature: `0x${'00'.repeat(65)}` }, sell], rig.match(100n, 60n), 'OrderNotSigned');
});

test('the least net amount holds for each fill in its proportion', options, async () => {
  // The fee leaves 9.95 tokens of ten, and 5.97 USDC of six.
  await fails(await pair({ minTakerNet: 9_950_001n }), rig.match(TEN, SIX), 'MinTakerNetNotMet');
  await fails(await pair({}, { minTakerNet: 5_970_001n }), rig.match(TEN, SIX), 'MinTakerNetNotMet');
  const short = await pair({ minTakerNet: 9_950_001n });
  await rig.settleAll(short, [rig.match(1_000_000n, 600_000n)]);
  await fails(short, rig.match(9_000_000n, 5_400_000n), 'MinTakerNetNotMet');
  const [, sell] = short;
  const fits = await rig.order(alice, BUY, market.yes, 9_000_000n, 5_400_000n, { minTakerNet: 8_955_000n });
  await rig.settleAll([fits, sell], [rig.match(4_000_000n, 2_400_000n), rig.match(5_000_000n, 3_000_000n)]);
});

test('an expired order settles for as long as the grace lasts', options, async () => {
  const { timestamp } = await rig.client.getBlock();
  const orders = await pair({ expiration: timestamp + 10n });
  await rig.pass(SETTLEMENT_GRACE - 5n);
  await rig.settleAll(orders, [rig.match(100n, 60n)]);
  await rig.pass(100n);
  await fails(orders, rig.match(100n, 60n), 'OrderExpired');
});

test('a delegate signs from its announcement on, and for a while after its removal', options, async () => {
  const orders = async () => [
    await rig.order(alice, BUY, market.yes, TEN, SIX, { by: carol }),
    await rig.order(bob, SELL, market.yes, TEN, SIX),
  ];
  await fails(await orders(), rig.match(100n, 60n), 'SignerNotDelegate');
  await rig.exchange(alice.address, 'addDelegate', [carol.address]);
  await rig.settleAll(await orders(), [rig.match(100n, 60n)]);
  await rig.exchange(alice.address, 'removeDelegate', [carol.address]);
  await rig.exchange(alice.address, 'removeDelegate', [carol.address]);
  await rig.settleAll(await orders(), [rig.match(100n, 60n)]);
  await rig.pass(EXIT_DELAY + 5n);
  await fails(await orders(), rig.match(100n, 60n), 'SignerNotDelegate');
});

/** A wallet that is a contract, with this code. */
async function walletWith(code: Hex): Promise<Address> {
  const address = `0x${'77'.repeat(19)}01` as const;
  await rig.client.setCode({ address, bytecode: code });
  return address;
}
const SAYS_YES = '0x631626ba7e60e01b60005260206000f3';
const SAYS_NO = '0x60006000526020601ff3';
const LOOPS = '0x5b600056';
const ANSWERS_100_KB = '0x631626ba7e60e01b6000526201ffff6000f3';

test(
  'a wallet that is a contract vouches for its signer (EIP-1271), at the price of its own gas',
  options,
  async () => {
    const ordersOf = async (code: Hex) => {
      const wallet = await walletWith(code);
      const buy = await rig.order(alice, BUY, market.yes, TEN, SIX, { signer: wallet, salt: 7n });
      return [buy, await rig.order(bob, SELL, market.yes, TEN, SIX)];
    };
    await rig.exchange(alice.address, 'addDelegate', [await walletWith(SAYS_YES)]);
    await rig.settleAll(await ordersOf(SAYS_YES), [rig.match(100n, 60n)]);
    await rig.settleAll(await ordersOf(ANSWERS_100_KB), [rig.match(100n, 60n)]);
    for (const code of [SAYS_NO, LOOPS, '0xfe'] as const) {
      await fails(await ordersOf(code), rig.match(100n, 60n), 'OrderNotSigned');
    }
  },
);

test('a key that also has code (EIP-7702) signs with the key', options, async () => {
  await rig.client.setCode({ address: alice.address, bytecode: SAYS_NO });
  await rig.settleAll(await pair(), [rig.match(100n, 60n)]);
  await rig.client.setCode({ address: alice.address, bytecode: '0x' });
});

test('too little gas reverts the batch, and never passes for a match that failed', options, async () => {
  const orders = await pair();
  const matches = Array.from({ length: 3 }, () => rig.match(100n, 60n));
  const args = [rig.freshHash(), orders, matches];
  const data = encodeFunctionData({ abi: abiOf('Exchange'), functionName: 'settleBatch', args });
  const call = { account: ROLES.operator, to: rig.contracts.exchange, data };
  let reverted = 0;
  for (let gas = 100_000n; gas < 1_000_000n; gas += 30_000n) {
    const snapshot = await rig.client.snapshot();
    const hash = await rig.client.sendTransaction({ ...call, gas, gasPrice: 0n, chain: null });
    const { status, logs } = await receiptOf(rig.client, hash);
    if (status === 'reverted') reverted++;
    else assert.deepEqual(eventsOf(logs, 'Exchange', 'MatchFailed'), [], `with ${gas} gas`);
    await rig.client.revert({ id: snapshot });
  }
  assert.ok(reverted > 3 && reverted < 30);
});

test('only the operator settles, and nobody while the exchange is paused', options, async () => {
  const orders = await pair();
  const args = () => [rig.freshHash(), orders, [rig.match(100n, 60n)]];
  await refused(rig.exchange(alice.address, 'settleBatch', args()), 'AccessControlUnauthorizedAccount');
  await refused(rig.exchange(alice.address, 'pause', []), 'AccessControlUnauthorizedAccount');
  await rig.exchange(ROLES.admin, 'pause', []);
  await refused(rig.operator('settleBatch', args()), 'EnforcedPause');
  await refused(rig.operator('unpause', []), 'AccessControlUnauthorizedAccount');
  await rig.exchange(ROLES.admin, 'unpause', []);
  await rig.operator('settleBatch', args());
});

test('nobody settles a match but the exchange itself', options, async () => {
  const order = { hash: rig.freshHash(), maker: alice.address, tokenId: market.yes, makerAmount: 1n, takerAmount: 1n };
  const checked = { ...order, feeRateBps: 0n, minTakerNet: 0n, side: BUY, refusal: '0x00000000' };
  const args = [rig.match(100n, 60n), checked, checked];
  await refused(rig.operator('settleMatchOf', args), 'OnlySelf');
});
