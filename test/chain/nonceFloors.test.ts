/** The floor under the nonces of a maker's orders (data/contracts/src/NonceFloors.sol). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, type Hex, maxUint256, toFunctionSelector, toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import {
  BUY,
  type ChainMarket,
  chainRig,
  EXIT_DELAY,
  eventsOf,
  key,
  ROLES,
  refused,
  SELL,
  SIGNS_WITH_THE_DIGEST,
} from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const [alice, bob, carol] = [key(1), key(2), key(3)];
const UNIT = 1_000_000n;
const TRADES = timesOf({ suite: 15, soak: 1000 });
const STEPS = timesOf({ suite: 40, soak: 1500 });
const seed = seedOr(53);
const BELOW = toFunctionSelector('function NonceBelowFloor()');

const raise = (maker: PrivateKeyAccount, floor: bigint) => rig.exchange(maker.address, 'raiseNonceFloorTo', [floor]);
const floorsOf = (maker: Address) => rig.call('exchange', 'nonceFloorOf', [maker]) as Promise<[bigint, bigint]>;

/** The next block has this time; then one more call sees it. */
async function at(timestamp: bigint): Promise<void> {
  await rig.client.setNextBlockTimestamp({ timestamp });
  await rig.client.mine({ blocks: 1 });
}

async function now(): Promise<bigint> {
  return (await rig.client.getBlock()).timestamp;
}

/** Alice buys from Bob; her order has this nonce. */
async function pair(market: ChainMarket, nonce: bigint, tokens = UNIT) {
  return [
    await rig.order(alice, BUY, market.yes, tokens, (tokens * 6n) / 10n, { nonce }),
    await rig.order(bob, SELL, market.yes, tokens, (tokens * 6n) / 10n),
  ];
}

async function funded(): Promise<ChainMarket> {
  const market = await rig.createMarket();
  await rig.fund(alice, 10n * UNIT);
  await rig.fundSets(bob, market, 10n * UNIT);
  return market;
}

test('OPERATOR_KEY alone cannot settle an order below a floor in force, nor raise a floor', options, async () => {
  const market = await funded();
  const [below, upTo] = [await pair(market, 6n), await pair(market, 7n)];
  await raise(alice, 7n);
  const raisedAt = await now();
  // One second before the floor is in force: orders matched before the raise still settle, at their own time.
  await rig.client.setNextBlockTimestamp({ timestamp: raisedAt + EXIT_DELAY - 1n });
  await rig.settleAll(below, [rig.match(100n, 60n)]);
  await rig.client.setNextBlockTimestamp({ timestamp: raisedAt + EXIT_DELAY });
  const { failed } = await rig.settle(below, [rig.match(100n, 60n)]);
  assert.deepEqual(failed, [{ index: 0, error: 'NonceBelowFloor' }]);
  await rig.settleAll(upTo, [rig.match(100n, 60n)]);
  // The maker's own signature is needed: neither the operator's nor a delegate's counts.
  await rig.exchange(alice.address, 'addDelegate', [carol.address]);
  for (const signer of [carol, bob]) {
    const args = [alice.address, 8n, maxUint256, await signedRaise(signer, alice.address, 8n)];
    await refused(rig.operator('raiseNonceFloorFor', args), 'NonceFloorNotSigned');
  }
  await rig.operator('raiseNonceFloorTo', [9n]);
  assert.deepEqual(await floorsOf(alice.address), [7n, 7n]);
  assert.deepEqual(await floorsOf(ROLES.operator), [0n, 9n], 'it raises its own floor only');
});

function signedRaise(by: PrivateKeyAccount, maker: Address, floor: bigint, deadline = maxUint256): Promise<Hex> {
  const types = {
    NonceFloor: [
      { name: 'maker', type: 'address' },
      { name: 'floor', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  };
  const message = { maker, floor, deadline };
  return by.signTypedData({ domain: rig.domain, types, primaryType: 'NonceFloor', message });
}

test('anybody may send a raise that the maker has signed, once and until its deadline', options, async () => {
  const send = (args: unknown[]) => rig.exchange(carol.address, 'raiseNonceFloorFor', args);
  const deadline = (await now()) + 60n;
  const signature = await signedRaise(alice, alice.address, 5n, deadline);
  await refused(send([alice.address, 6n, deadline, signature]), 'NonceFloorNotSigned');
  await refused(send([alice.address, 5n, deadline + 1n, signature]), 'NonceFloorNotSigned');
  await refused(send([bob.address, 5n, deadline, signature]), 'NonceFloorNotSigned');
  const receipt = await send([alice.address, 5n, deadline, signature]);
  const [{ args }] = eventsOf(receipt.logs, 'Exchange', 'NonceFloorRaised');
  assert.deepEqual(args, { maker: alice.address, floor: 5n, from: (await now()) + EXIT_DELAY });
  await refused(send([alice.address, 5n, deadline, signature]), 'NonceFloorNotAbove');
  const late = await signedRaise(alice, alice.address, 6n, deadline);
  await rig.pass(120n);
  await refused(send([alice.address, 6n, deadline, late]), 'NonceFloorExpired');
  // A wallet that is a contract vouches for itself (EIP-1271).
  const wallet = toHex(0x77, { size: 20 });
  await rig.client.setCode({ address: wallet, bytecode: SIGNS_WITH_THE_DIGEST });
  await refused(send([wallet, 1n, maxUint256, `0x${'11'.repeat(65)}`]), 'NonceFloorNotSigned');
  await rig.client.setCode({ address: wallet, bytecode: VOUCHES });
  await send([wallet, 1n, maxUint256, '0x']);
  assert.deepEqual(await floorsOf(wallet), [0n, 1n]);
});
/** The code of a wallet that says yes to every signature. */
const VOUCHES: Hex = '0x631626ba7e60e01b60005260206000f3';

test('each raise is in force one delay after it was made, and a second one postpones none', options, async () => {
  const market = await funded();
  const orders = await Promise.all([0n, 1n, 2n, 3n].map((nonce) => pair(market, nonce)));
  const begin = (await now()) + 10n;
  for (const [index, floor] of [1n, 2n, 3n].entries()) {
    await rig.client.setNextBlockTimestamp({ timestamp: begin + 100n * BigInt(index) });
    await raise(alice, floor);
  }
  await refused(raise(alice, 4n), 'NonceFloorsPending');
  for (const inForce of [1n, 2n, 3n]) {
    const from = begin + EXIT_DELAY + 100n * (inForce - 1n);
    await at(from - 1n);
    assert.deepEqual(await floorsOf(alice.address), [inForce - 1n, 3n]);
    await rig.client.setNextBlockTimestamp({ timestamp: from });
    for (const [nonce, each] of orders.entries()) {
      const { failed } = await rig.settle(each, [rig.match(100n, 60n)]);
      assert.equal(failed.length, BigInt(nonce) < inForce ? 1 : 0, `nonce ${nonce} below ${inForce}`);
    }
    assert.deepEqual(await floorsOf(alice.address), [inForce, 3n]);
    // The second is in force, so the first says nothing more: there is room for another.
    if (inForce === 1n) await refused(raise(alice, 4n), 'NonceFloorsPending');
  }
  await raise(alice, 4n);
  assert.deepEqual(await floorsOf(alice.address), [3n, 4n]);
});

test('a floor never sinks, and rises by 2^32 at once and to 2^53 - 1 at all', options, async () => {
  await refused(raise(alice, 0n), 'NonceFloorNotAbove');
  await refused(raise(alice, 2n ** 32n + 1n), 'NonceFloorTooHigh');
  await raise(alice, 2n ** 32n);
  await refused(raise(alice, 2n ** 32n), 'NonceFloorNotAbove');
  await refused(raise(alice, 5n), 'NonceFloorNotAbove');
  await refused(raise(alice, 2n ** 33n + 1n), 'NonceFloorTooHigh');
  // Two million raises later: the one word that the contract keeps of the maker.
  const { accessList } = await rig.client.createAccessList({
    to: rig.contracts.exchange,
    data: `${toFunctionSelector('function nonceFloorOf(address)')}${alice.address.slice(2).padStart(64, '0')}`,
  });
  const index = accessList.flatMap(({ storageKeys }) => storageKeys)[0];
  const most = 2n ** 53n - 1n;
  const value = toHex((((most - 1n) << 32n) | 1n) << 170n, { size: 32 });
  await rig.client.setStorageAt({ address: rig.contracts.exchange, index, value });
  assert.deepEqual(await floorsOf(alice.address), [most - 1n, most - 1n]);
  await refused(raise(alice, most + 1n), 'NonceFloorTooHigh');
  await raise(alice, most);
  await rig.pass(EXIT_DELAY);
  assert.deepEqual(await floorsOf(alice.address), [most, most]);
});

test(`a maker who raises its floor right after each of ${TRADES} trades voids none`, options, async () => {
  const market = await rig.createMarket();
  await rig.fund(alice, BigInt(TRADES) * UNIT);
  await rig.fundSets(bob, market, BigInt(TRADES) * UNIT);
  const begin = (await now()) + 10n;
  /** Matched, and not sent yet: each is settled as late as the exchange may, one second before the raise acts. */
  const matched: { orders: Awaited<ReturnType<typeof pair>>; last: bigint }[] = [];
  const settle = async (before: bigint): Promise<void> => {
    while (matched.length > 0 && matched[0].last <= before) {
      const { orders, last } = matched.shift()!;
      await rig.client.setNextBlockTimestamp({ timestamp: last });
      await rig.settleAll(orders, [rig.match(UNIT, (UNIT * 6n) / 10n)]);
    }
  };
  for (let trade = 0; trade < TRADES; trade++) {
    const time = begin + (BigInt(trade) * EXIT_DELAY) / 2n;
    await settle(time - 1n);
    const orders = await pair(market, BigInt(trade));
    await rig.client.setNextBlockTimestamp({ timestamp: time });
    await raise(alice, BigInt(trade) + 1n);
    matched.push({ orders, last: time + EXIT_DELAY - 1n });
  }
  await settle(maxUint256);
  await at((await now()) + 1n);
  assert.deepEqual(await floorsOf(alice.address), [BigInt(TRADES), BigInt(TRADES)]);
});

test(`floors are those of a list of all raises over ${STEPS} random steps, seed ${seed}`, options, async () => {
  const random = new Random(seed);
  const market = await rig.createMarket();
  const makers = [alice, bob];
  const raised = new Map(makers.map(({ address }) => [address, [] as { floor: bigint; from: bigint }[]]));
  let time = (await now()) + 10n;
  for (let step = 0; step < STEPS; step++) {
    time += BigInt(random.pick([1, random.below(60), random.below(2000), Number(EXIT_DELAY)]));
    const maker = random.pick(makers);
    const all = raised.get(maker.address)!;
    const announced = all.at(-1)?.floor ?? 0n;
    const floor = announced + BigInt(random.pick([0, 1, random.below(100), 2 ** 32, 2 ** 32 + 1]));
    const error = whyNot(floor - announced, all, time);
    await rig.client.setNextBlockTimestamp({ timestamp: time });
    if (error !== null) await refused(raise(maker, floor), error);
    else {
      await raise(maker, floor);
      all.push({ floor, from: time + EXIT_DELAY });
    }
    for (const { address } of makers) {
      const inForce = raised.get(address)!.findLast(({ from }) => from <= time)?.floor ?? 0n;
      assert.deepEqual(await floorsOf(address), [inForce, raised.get(address)!.at(-1)?.floor ?? 0n], `step ${step}`);
    }
    const inForce = all.findLast(({ from }) => from <= time)?.floor ?? 0n;
    for (const nonce of [...all.slice(-4).flatMap((each) => [each.floor - 1n, each.floor]), 0n]) {
      const order = await rig.order(maker, BUY, market.yes, UNIT, UNIT / 2n, { nonce });
      const refusal = await rig.call('exchange', 'refusalOf', [order]);
      assert.equal(refusal, nonce < inForce ? BELOW : '0x00000000', `step ${step}, nonce ${nonce} below ${inForce}`);
    }
  }
});

/** Computes from the whole list what the contract's rules say. */
function whyNot(rise: bigint, all: readonly { from: bigint }[], time: bigint): string | null {
  if (rise <= 0n) return 'NonceFloorNotAbove';
  if (rise > 2n ** 32n) return 'NonceFloorTooHigh';
  return all.length >= 3 && all.at(-2)!.from > time ? 'NonceFloorsPending' : null;
}
