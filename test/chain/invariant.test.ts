/**
 * Random calls of the exchange contract, valid ones and ones that must fail: after each, the contract's holdings equal
 * those of its accounts (the invariants at the top of data/contracts/src/Escrow.sol).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Address } from 'viem';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { BUY, type ChainMarket, chainRig, EXIT_DELAY, key, ROLES, USDC } from './rig.ts';

const rig = await chainRig();
const TRADERS = [1, 2, 3].map(key);
const STEPS = timesOf({ suite: 60, soak: 3000 });
const seed = seedOr(31);

async function assertBacked(markets: readonly ChainMarket[], after: string): Promise<void> {
  const { exchange } = rig.contracts;
  const accounts = [exchange, ...TRADERS.map(({ address }) => address)];
  const sum = async (asset: bigint): Promise<bigint> => {
    const balances = await Promise.all(accounts.map((account) => rig.balance(account, asset)));
    return balances.flat().reduce((total, amount) => total + amount, 0n);
  };
  let pooled = 0n;
  for (const { conditionId, yes, no } of markets) {
    const [isRedeemed, usdcMicro, yesLeft, noLeft] = (await rig.call('exchange', 'pools', [conditionId])) as [
      ...[boolean, bigint, bigint, bigint],
    ];
    pooled += usdcMicro;
    const backing = isRedeemed
      ? [yesLeft, noLeft]
      : [await rig.walletTokens(exchange, yes), await rig.walletTokens(exchange, no)];
    assert.deepEqual([await sum(yes), await sum(no)], backing, `tokens after ${after}`);
  }
  assert.equal((await sum(USDC)) + pooled, await rig.walletUsdc(exchange), `USDC after ${after}`);
}

/** A random call by a random sender, mostly one who is allowed to make it. */
async function randomCall(random: Random, markets: readonly ChainMarket[]): Promise<string> {
  const trader = random.pick(TRADERS);
  const market = random.pick(markets);
  const { conditionId } = market;
  const asset = random.pick([USDC, market.yes, market.no]);
  const amount = BigInt(random.pick([0, 1, random.between(1, 5_000_000), 50_000_000]));
  const self: Address = trader.address;
  /** With the fee for the movement: mostly none, now and then more than the contract takes. */
  const charged = amount | (BigInt(random.pick([0, 0, 25_000, 2_000_000])) << 128n);
  const operator = random.chance(95) ? ROLES.operator : self;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    deposit: () => rig.fund(trader, amount),
    split: () => rig.exchange(operator, 'splitFor', [rig.freshHash(), self, conditionId, charged]),
    merge: () => rig.exchange(operator, 'mergeFor', [rig.freshHash(), self, conditionId, charged]),
    release: () => rig.exchange(operator, 'release', [rig.freshHash(), self, asset, charged]),
    payOut: () => rig.exchange(operator, 'withdrawFor', [rig.freshHash(), self, asset, charged]),
    withdraw: () => rig.exchange(self, 'withdraw', [asset, amount, random.pick(TRADERS).address]),
    hold: () => rig.exchange(self, 'hold', [asset, amount]),
    splitFromEscrow: () => rig.exchange(self, 'splitFromEscrow', [conditionId, amount]),
    mergeToEscrow: () => rig.exchange(self, 'mergeToEscrow', [conditionId, amount]),
    requestExit: () => rig.exchange(self, 'requestExit', []),
    cancelExit: () => rig.exchange(self, 'cancelExit', []),
    raise: () => rig.exchange(self, 'raiseNonceFloorTo', [BigInt(random.below(6))]),
    pass: () => rig.pass(EXIT_DELAY / 2n),
    exit: () => rig.exchange(self, 'exit', [[asset, USDC, asset]]),
    sweep: () => rig.exchange(operator, 'sweepFees', [asset, amount / 1000n]),
    resolve: () => rig.resolve(market, amount % 1_000_001n, 1_000_000n - (amount % 1_000_001n)),
    claim: () => rig.exchange(operator, 'claim', [self, conditionId]),
    claimFees: () => rig.exchange(operator, 'claim', [rig.contracts.exchange, conditionId]),
    trade: () => randomBatch(random, markets),
  };
  const names = Object.keys(calls).flatMap((name) => {
    if (name === 'trade') return Array.from({ length: 12 }, () => name);
    return name === 'resolve' ? [name] : [name, name, name];
  });
  const name = random.pick(names);
  await calls[name]().catch((error: Error) => {
    // A refusal by a contract is a step like any other; an error without one belongs to the test.
    assert.match(error.message, /revert/, error.message);
  });
  return `${name} of ${amount}`;
}

async function randomBatch(random: Random, markets: readonly ChainMarket[]): Promise<void> {
  const orders = await Promise.all(
    Array.from({ length: 6 }, () => {
      const { yes, no } = random.pick(markets);
      const tokens = BigInt(random.between(2, 3_000_000));
      const micro = (tokens * BigInt(random.between(30, 70))) / 100n + 1n;
      const by = random.chance(90) ? undefined : random.pick(TRADERS);
      const changes = { nonce: BigInt(random.below(8)), ...(by === undefined ? {} : { by }) };
      return rig.order(random.pick(TRADERS), random.pick([BUY, 1]), random.pick([yes, no]), tokens, micro, changes);
    }),
  );
  const matches = Array.from({ length: 15 }, () => {
    const tokens = BigInt(random.between(1, 100_000));
    const makerMicro = (tokens * BigInt(random.between(35, 65))) / 100n;
    return rig.match(tokens, makerMicro, { taker: BigInt(random.below(7)), maker: BigInt(random.below(6)) });
  });
  await rig.settle(orders, matches);
}

test(`the escrow is the sum of its accounts over ${STEPS} random calls, seed ${seed}`, { skip: NO_ANVIL }, async () => {
  const random = new Random(seed);
  const markets = [await rig.createMarket(), await rig.createMarket(), await rig.createMarket()];
  for (const trader of TRADERS) {
    await rig.fund(trader, 20_000_000n);
    for (const market of markets) await rig.split(trader, market, 5_000_000n);
  }
  for (let step = 0; step < STEPS; step++) {
    const call = await randomCall(random, markets);
    await assertBacked(markets, `step ${step}, ${call}`);
  }
});
