/** One batch of matches on the chain: standard, mint and merge, and their fees (data/contracts/src/Settlement.sol). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, type Hex, toFunctionSelector } from 'viem';
import { toHex } from '../../shared/base/hex.ts';
import { hasherFor, type SignableOrder } from '../../shared/crypto/eip712.ts';
import vectors from '../vectors/eip712.json' with { type: 'json' };
import { NO_ANVIL } from './anvil.ts';
import { abiOf } from './deploy.ts';
import { BUY, CHAIN_ID, chainRig, eventsOf, key, SELL, USDC, withHighS, withLowV } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob] = [key(1), key(2)];
const ORDER_NOT_SIGNED = toFunctionSelector('OrderNotSigned()');
const TEN = 10_000_000n;

test('a standard match moves tokens and USDC, and each side pays its fee in what it receives', options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, TEN);
  await rig.fundSets(bob, market, TEN);
  const buy = await rig.order(alice, BUY, market.yes, TEN, 6_500_000n);
  const sell = await rig.order(bob, SELL, market.yes, TEN, 6_000_000n);
  await rig.settleAll([buy, sell], [rig.match(TEN, 6_000_000n)]);
  assert.equal(await rig.held(alice, USDC), 4_000_000n, 'she paid the price of the resting order');
  assert.equal(await rig.held(alice, market.yes), 9_950_000n);
  assert.equal(await rig.held(bob, USDC), 5_970_000n);
  assert.equal(await rig.held(bob, market.yes), 0n);
  assert.equal(await rig.held(bob, market.no), TEN);
  assert.equal(await rig.held(rig.contracts.exchange, USDC), 30_000n, 'the fee account');
  assert.equal(await rig.held(rig.contracts.exchange, market.yes), 50_000n);
});

test('two buyers of both outcomes mint full sets from their payments', options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, TEN);
  await rig.fund(bob, TEN);
  const yes = await rig.order(alice, BUY, market.yes, TEN, 6_500_000n);
  const no = await rig.order(bob, BUY, market.no, TEN, 4_000_000n);
  await rig.settleAll([no, yes], [rig.match(TEN, 6_500_000n)]);
  assert.equal(await rig.held(alice, USDC), 3_500_000n);
  assert.equal(await rig.held(bob, USDC), 6_500_000n, 'a buyer keeps what the better price saves');
  assert.equal(await rig.held(alice, market.yes), 9_950_000n);
  assert.equal(await rig.held(bob, market.no), 9_950_000n);
  assert.equal(await rig.walletTokens(rig.contracts.exchange, market.yes), TEN);
  assert.equal(await rig.walletTokens(rig.contracts.exchange, market.no), TEN);
  assert.equal(await rig.walletUsdc(rig.contracts.exchange), TEN, 'the other ten are the collateral of the sets');
});

test('two sellers of both outcomes merge full sets and divide the USDC', options, async () => {
  const market = await rig.createMarket();
  await rig.fundSets(alice, market, TEN);
  await rig.fundSets(bob, market, TEN);
  const yes = await rig.order(alice, SELL, market.yes, TEN, 6_000_000n);
  const no = await rig.order(bob, SELL, market.no, TEN, 3_800_000n);
  await rig.settleAll([no, yes], [rig.match(TEN, 6_000_000n)]);
  assert.equal(await rig.held(alice, USDC), 5_970_000n);
  assert.equal(await rig.held(bob, USDC), 3_980_000n);
  assert.equal(await rig.walletTokens(rig.contracts.exchange, market.yes), TEN);
  assert.equal(await rig.walletUsdc(rig.contracts.exchange), TEN);
});

test(
  'the fee accumulates over the fills of an order, so small fills pay what one large fill pays',
  options,
  async () => {
    const market = await rig.createMarket();
    await rig.fund(alice, TEN);
    await rig.fundSets(bob, market, TEN);
    const buy = await rig.order(alice, BUY, market.yes, TEN, 9_900_000n);
    const sell = await rig.order(bob, SELL, market.yes, TEN, 9_900_000n);
    const fills = [0, 1, 2].map(() => rig.match(100n, 99n, { taker: 1n, maker: 0n }));
    const receipt = await rig.settleAll([buy, sell], fills);
    const fees = eventsOf(receipt.logs, 'Exchange', 'MatchSettled').map(({ args }) => [
      args['makerFee'],
      args['takerFee'],
    ]);
    assert.deepEqual(fees, [
      [0n, 0n],
      [1n, 0n],
      [0n, 1n],
    ]);
  },
);

test('order hash and signature are those of the engine on every vector', options, async () => {
  const code = await rig.client.getCode({ address: rig.contracts.exchange });
  for (const { order, domain, signature, digest } of vectors.vectors) {
    const exchange = domain.verifyingContract as Address;
    await rig.client.request({ method: 'anvil_setChainId', params: [domain.chainId] } as never);
    await rig.client.setCode({ address: exchange, bytecode: code! });
    const signable: SignableOrder = {
      ...order,
      makerAmount: Number(order.makerAmount),
      takerAmount: Number(order.takerAmount),
      expirationSec: Number(order.expiration),
      nonce: Number(order.nonce),
      feeRateBps: Number(order.feeRateBps),
      minTakerNet: Number(order.minTakerNet),
      side: order.side as 0 | 1,
    };
    assert.equal(toHex(hasherFor(domain).digestOf(signable)), digest);
    const call = { address: exchange, abi: abiOf('Exchange') };
    assert.equal(await rig.client.readContract({ ...call, functionName: 'hashOrder', args: [order] }), digest);
    const refusal = (signed: object) =>
      rig.client.readContract({ ...call, functionName: 'refusalOf', args: [{ order, ...signed }] });
    assert.equal(await refusal({ signature }), '0x00000000');
    assert.equal(await refusal({ signature: withLowV(signature as Hex) }), '0x00000000', 'v as 0 or 1');
    assert.equal(await refusal({ signature: withHighS(signature as Hex) }), ORDER_NOT_SIGNED, 'a high s');
    assert.equal(await refusal({ signature: signature.slice(0, -2) }), ORDER_NOT_SIGNED, 'too short');
    assert.equal(
      await refusal({ order: { ...order, nonce: String(Number(order.nonce) + 1) }, signature }),
      ORDER_NOT_SIGNED,
    );
  }
  await rig.client.request({ method: 'anvil_setChainId', params: [CHAIN_ID] } as never);
});
