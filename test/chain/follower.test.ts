/**
 * Settlement (engine/settlement) of a real engine's journal on a real chain: trades that the contract refuses, funds
 * that move to another contract, and the thread. day.test.ts is about what goes wrong on the way.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { hexToBytes, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { ChainChecks } from '../../engine/settlement/checks.ts';
import { News } from '../../engine/settlement/news.ts';
import { RefusedTrades } from '../../engine/settlement/refusedTrades.ts';
import { openSettlementDb } from '../../engine/settlement/settlementDb.ts';
import { createLogger } from '../../gateway/base/log.ts';
import { ChainLink } from '../../gateway/shardlink/settlementLink.ts';
import { MOVEMENT, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { HttpRpc } from '../../shared/chain/rpc.ts';
import type { SettlementMessage, SettlementOptions } from '../../shared/wire/threads.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TEST_SECRET } from '../support/journalKey.ts';
import { Random } from '../support/random.ts';
import { seedOr } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { deployExchange, send } from './deploy.ts';
import {
  DEPLOYER,
  FEE_BPS,
  FEE_MICRO,
  FINAL_BLOCKS,
  FollowedExchange,
  OPERATOR,
  PAYER,
  RESOLVER,
} from './followedExchange.ts';
import { BUY, CHAIN_ID, chainRig, EXIT_DELAY, key, ROLES, SETTLEMENT_GRACE, USDC } from './rig.ts';

const chain = await chainRig();
const ACCOUNTS = [1, 2, 3, 4];
const MARKETS = [100, 10].map((ticksPerUnit) => ({ ticksPerUnit, feeBps: FEE_BPS, minOrderAtomic: ticksPerUnit }));
const START_MICRO = 200_000_000;

/** Accounts that trade, split, merge and withdraw at random. */
class RandomExchange extends FollowedExchange {
  readonly random: Random;
  /** Of 100 orders, the number signed by another key. */
  badlySigned = 0;

  constructor(seed: number) {
    super({ chain, accounts: ACCOUNTS, markets: MARKETS });
    this.random = new Random(seed);
  }

  /** Funds that no reorganisation of the test takes away. */
  async begin(): Promise<void> {
    const { client } = chain;
    await FollowedExchange.grantRights(chain);
    this.openMarkets();
    for (const account of ACCOUNTS) await chain.fund(key(account), BigInt(START_MICRO));
    await client.mine({ blocks: FINAL_BLOCKS });
    while (ACCOUNTS.some((account) => this.engine.usdc(account).available === 0)) await this.step();
    for (const account of ACCOUNTS) {
      // The last account has only what it trades: perhaps only tokens that pay nothing.
      if (account === ACCOUNTS.at(-1)) continue;
      for (const market of this.markets.keys()) this.split(account, market, 30_000_000);
    }
  }

  /** Its orders name the wallets. */
  async makeTrade(): Promise<void> {
    while (this.engine.engine.state.matcher.tradeSequence === 0) await this.act();
  }

  async act(): Promise<void> {
    const { random } = this;
    const account = random.pick(this.badlySigned > 0 ? ACCOUNTS.slice(0, -1) : ACCOUNTS);
    const market = random.below(this.markets.length);
    const amount = random.between(1, 2_000_000);
    const die = random.below(100);
    if (die < 90) await this.#trade(account, market);
    else if (die < 94) this.split(account, market, amount);
    else if (die < 98) this.merge(account, market, amount);
    else this.withdraw(account, amount);
  }

  async #trade(account: number, market: number): Promise<void> {
    const { random } = this;
    const { ticksPerUnit } = MARKETS[market];
    const [side, outcome] = [random.below(2), random.below(2)];
    const lots = random.between(1, Math.floor(3_000_000 / ticksPerUnit));
    const ticks = random.between(1, ticksPerUnit - 1);
    const [micro, tokens] = [lots * ticks, lots * ticksPerUnit];
    const timeInForce = random.pick([TIME_IN_FORCE.GTC, TIME_IN_FORCE.GTC, TIME_IN_FORCE.FOK, TIME_IN_FORCE.FAK]);
    const minTakerNet = timeInForce === TIME_IN_FORCE.GTC ? 0 : random.below(side === BUY ? tokens : micro);
    const signer = this.badlySigned > 0 && random.chance(this.badlySigned) ? key(99) : key(account);
    const [makerAmount, takerAmount] = side === BUY ? [micro, tokens] : [tokens, micro];
    await this.place({
      ...{ account, market, side, outcome, timeInForce, minTakerNet, makerAmount, takerAmount, signer },
      ...{ feeBps: FEE_BPS, namedSigner: key(account).address },
    });
  }

  get #checks(): ChainChecks {
    const { client, contracts } = chain;
    const { operator, deployer, resolver, payer } = this;
    const others = { RELAYER: null, PAYER: payer.address, RESOLVER: resolver.address };
    const keys = { OPERATOR: operator.address, DEPLOYER: deployer.address, PERMIT: ROLES.permitSigner, ...others };
    const node = new ChainNode(new HttpRpc(client.chain.rpcUrls.default.http[0]));
    return new ChainChecks(
      node,
      { ...contracts, chainId: CHAIN_ID, keys, movementFeeMicro: FEE_MICRO },
      () => this.nowMs,
    );
  }

  /** Everything that RULES.md 17.36 asks for, then the change: from here on orders are signed for the next one. */
  async rotate(): Promise<void> {
    const { client, contracts } = chain;
    const { exchange: before, ...others } = contracts;
    const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
    const next = await deployExchange(client, ROLES, delays, others, before);
    const operatorRole = await chain.call('exchange', 'OPERATOR_ROLE', []);
    const as = (name: string, args: unknown[]) => send(client, ROLES.admin, next, 'Exchange', name, args);
    const problem = (missing: string | null = null) => this.#checks.successorProblem(before, next, () => missing);
    assert.match((await problem())!, /does not have OPERATOR_ROLE/);
    await as('grantRole', [operatorRole, this.operator.address]);
    assert.match((await problem())!, /has not announced/);
    await chain.exchange(ROLES.admin, 'announceSuccessor', [next]);
    assert.match((await problem())!, /setExchange/);
    assert.equal(await problem('a market'), 'a market', 'before the factory is turned');
    await send(client, ROLES.admin, contracts.marketFactory, 'MarketFactory', 'setExchange', [next]);
    assert.match((await problem())!, /the funds may move from second/);
    await chain.pass(2n * EXIT_DELAY);
    assert.equal(await problem(), null);
    assert.match((await this.#checks.successorProblem(next, before, () => null))!, /predecessor/);
    this.engine.contracts(CHAIN_ID, hexToBytes(next));
    Object.assign(contracts, { exchange: next });
  }

  /** The report of `npm run admin -- chain reconcile`, of settlement.db as it is now. */
  async report(change = '', isWhole = false) {
    const directory = temporaryDirectory();
    const path = join(directory, 'settlement.db');
    writeFileSync(path, this.db.serialize());
    const copy = openSettlementDb(path);
    copy.exec(change);
    copy.close();
    return reconcileChain(directory, chain.client.chain.rpcUrls.default.http[0], isWhole);
  }

  decideAtRandom(market: number): void {
    this.decide(market, this.random.pick([0, 1_000_000, 500_000, 123_457]));
  }

  /** Decides the markets and pays every holder. */
  payOut(): void {
    for (const market of this.markets.keys()) {
      this.decideAtRandom(market);
      this.pay(market);
    }
  }
}

const seed = seedOr(21);
/** Rounds of trading, and how many there are at most where a seed has few trades in those. */
const ROUNDS = 12;
const MOST_ROUNDS = 100;

/** The administrator's tool agrees, and finds a change of one side. */
async function assertReported(exchange: RandomExchange): Promise<void> {
  const { lines, isEqual } = await exchange.report();
  assert.ok(isEqual && lines.length === 1 && lines[0].endsWith('ledger and chain are equal'), lines.join('\n'));
  const balances = Number(lines[0].split(' ')[0]);
  const whole = await exchange.report('', true);
  assert.equal(whole.lines.length, balances + 2, 'every balance with a head and the counts');
  const changed = await exchange.report(
    'UPDATE ledger_usdc SET micro = micro + 7 WHERE account = 2; UPDATE ledger_tokens SET no = no - 5 WHERE market = 0',
    true,
  );
  assert.equal(changed.isEqual, false);
  const different = changed.lines.filter((line) => line.startsWith('DIFFERS'));
  assert.deepEqual(changed.lines.slice(1, different.length + 1), different, 'differences come first');
  const wallet = key(2).address.toLowerCase();
  assert.ok(different.some((line) => line.includes(`  2        ${wallet}  USDC`) && line.endsWith(' -7')));
  assert.ok(different.some((line) => / No of [0-9a-f-]{36} .* 5$/.test(line)));
  const nowhere = temporaryDirectory();
  await assert.rejects(reconcileChain(nowhere, '', false), {
    name: 'AdminError',
    message: /does not settle on a chain$/,
  });
  openSettlementDb(join(nowhere, 'settlement.db')).close();
  await assert.rejects(reconcileChain(nowhere, '', false), { name: 'AdminError', message: /^RPC_URL: set it/ });
  const behind = 'UPDATE scans SET next_block = 3';
  await assert.rejects(exchange.report(behind), { name: 'AdminError', message: /up to block 2 only/ });
}

test(`trades that the contract refuses are unwound, and hold up nothing afterwards, seed ${seed}`, {
  skip: NO_ANVIL,
}, async () => {
  const exchange = new RandomExchange(seed);
  after(() => exchange.close());
  await exchange.begin();
  exchange.badlySigned = 15;
  const { failedTrades } = new RefusedTrades(exchange.db, exchange.settlement.rows).handlers;
  const refused = () => failedTrades({ after: 0, limit: MOST_ROUNDS }).trades;
  const isEnough = (): boolean => refused().length > 2 && exchange.trades > refused().length + 5;
  for (let round = 1; round <= ROUNDS || !isEnough(); round++) {
    assert.ok(round <= MOST_ROUNDS, `${refused().length} of ${exchange.trades}`);
    for (let commands = 0; commands < 4; commands++) await exchange.act();
    await exchange.step();
    await chain.client.mine({ blocks: 2 });
  }
  assert.equal(refused()[0]!.reason, 'OrderNotSigned');
  for (const account of ACCOUNTS) exchange.engine.cancelMany(account);
  await exchange.finish();
  assert.ok(exchange.unwound > 2, `${exchange.unwound} of ${exchange.trades}`);
  await exchange.compare('after the unwinding');
  await exchange.reconcile();
  await assertReported(exchange);
  exchange.payOut();
  await exchange.finish();
  await exchange.compare('after the payout');
});

test(`funds move to the next contract, and every trade is settled at its own, seed ${seed}`, {
  skip: NO_ANVIL,
}, async () => {
  const before = chain.contracts.exchange;
  after(() => Object.assign(chain.contracts, { exchange: before }));
  const exchange = new RandomExchange(seed);
  after(() => exchange.close());
  const { random, crashes } = exchange;
  await exchange.begin();
  const trade = async (): Promise<void> => {
    const leastTrades = exchange.trades + 6;
    for (let round = 1; round <= ROUNDS || exchange.trades < leastTrades; round++) {
      assert.ok(round <= MOST_ROUNDS, `${exchange.trades} trades of ${leastTrades}`);
      for (let commands = 0; commands < 4; commands++) await exchange.act();
      if (round % 4 === 0) crashes.stepsLeft = random.between(1, 30);
      await exchange.step();
      await chain.client.mine({ blocks: 2 });
    }
  };
  await trade();
  exchange.decideAtRandom(0);
  await exchange.rotate();
  await trade();
  for (let rounds = 0; rounds < 30; rounds++) {
    if (rounds % 5 === 0) crashes.stepsLeft = random.between(1, 30);
    const { restarts } = exchange;
    await exchange.step();
    // A crash may have come between reading blocks and reading the receipts of their transactions.
    const isCalm = crashes.stepsLeft === Number.POSITIVE_INFINITY && exchange.restarts === restarts;
    if (isCalm) await exchange.reconcile();
    await chain.client.mine({ blocks: 8 });
  }
  crashes.stepsLeft = Number.POSITIVE_INFINITY;
  exchange.pay(0);
  await exchange.finish();
  await exchange.compare('after the move');
  assert.equal(await chain.walletUsdc(before), 0n, 'nothing is left behind');
  const next = chain.contracts.exchange;
  Object.assign(chain.contracts, { exchange: before });
  await chain.fund(key(1), 5_000_000n);
  Object.assign(chain.contracts, { exchange: next });
  const { available } = exchange.engine.usdc(1);
  await chain.client.mine({ blocks: FINAL_BLOCKS });
  while (exchange.engine.usdc(1).available === available) await exchange.step();
  for (let rounds = 0; rounds < 24; rounds++) {
    await exchange.step();
    await chain.client.mine({ blocks: 8 });
  }
  await exchange.finish();
  await exchange.compare('after a late deposit');
  await exchange.reconcile();
  exchange.decideAtRandom(1);
  exchange.pay(1);
  await exchange.finish();
  await exchange.compare('after the payout');
});

test('sets that a wallet makes of a market which is decided meanwhile are no difference at any block', {
  skip: NO_ANVIL,
}, async () => {
  const exchange = new RandomExchange(seed);
  after(() => exchange.close());
  await exchange.begin();
  const [wallet, reference] = [key(1).address, toHex(0x5e75, { size: 32 })];
  exchange.settlement.money.prepareRelease(reference);
  exchange.engine.move(1, MOVEMENT.WITHDRAWAL, 1_000_000, hexToBytes(reference));
  await exchange.finish();
  const [{ conditionId }] = exchange.markets;
  const splits = () => chain.exchange(wallet, 'splitFromEscrow', [conditionId, 324n]);
  await splits();
  exchange.decide(0, 500_000);
  for (let round = 1; round <= 60; round++) {
    // The ledger pays the account before the sets of the second split are in it, and after those of the first.
    if (round === 14) await splits();
    if (round === 20) exchange.pay(0);
    await exchange.step();
    await exchange.reconcile();
    await chain.client.mine({ blocks: 5 });
  }
  await exchange.finish();
  await exchange.compare('after the payout');
  assert.equal(await chain.held(wallet, USDC), BigInt(exchange.usdcOf(1)));
});

test('the thread settles what its journals have, and none is trimmed before', { skip: NO_ANVIL }, async () => {
  const exchange = new RandomExchange(seed);
  after(() => exchange.close());
  await exchange.begin();
  await exchange.makeTrade();
  exchange.write();
  const { contracts, client } = chain;
  const options: SettlementOptions = {
    journalPaths: exchange.journalPaths,
    journalKey: TEST_SECRET,
    floors: [],
    movementFeeMicro: FEE_MICRO,
    progress: exchange.progressMemory,
    settlementDbPath: join(temporaryDirectory(), 'settlement.db'),
    rpcUrl: client.chain.rpcUrls.default.http[0],
    chainId: CHAIN_ID,
    exchangeAddress: contracts.exchange,
    marketFactoryAddress: contracts.marketFactory,
    usdcAddress: contracts.usdc,
    ctfAddress: contracts.conditionalTokens,
    ...{ operatorKey: OPERATOR, resolverKey: RESOLVER },
    deployerKey: DEPLOYER,
    relayerKey: null,
    permitKey: toHex(0xabcdef, { size: 32 }),
    resolutionsAddress: contracts.resolutions,
    ...{ payerKey: PAYER, paymentsAddress: contracts.payments, payBounds: { accountMicro: 1e12, allMicro: 1e13 } },
    mostFeeWei: 10n ** 15n,
    cluster: null,
    // This chain makes blocks on request.
    limits: { headAgeMs: 3_600_000, waitMs: 3_600_000 },
  };
  exchange.progress.setSettled(0, 0);
  exchange.progress.setTrimmable(0, 5);
  exchange.progress.setKept(0, 5);
  assert.equal(exchange.progress.trimmable(0), 0, 'settlement has followed nothing yet');
  // Left by a thread that ended before the gateway had it.
  const before = openSettlementDb(options.settlementDbPath);
  const failed = { shard: 0, tradeSequence: 9, market: 0, reason: 'OrderExpired' };
  new News(before, () => 0).add('tradeFailed', failed);
  before.close();
  const worker = new Worker(new URL('../../engine/settlement/main.ts', import.meta.url), { workerData: options });
  after(() => worker.terminate());
  const messages: SettlementMessage[] = [];
  const link = new ChainLink((ask) => worker.postMessage(ask) === undefined, createLogger('silent'));
  const delivered: unknown[] = [];
  link.onNews('tradeFailed', (facts) => void delivered.push(facts));
  const deployments: string[] = [];
  link.onNews('deployment', ({ status }) => void deployments.push(status));
  link.acceptNews();
  worker.on('message', (message: SettlementMessage) => {
    messages.push(message);
    if ('reply' in message) link.reply(message.reply);
    if ('news' in message) void link.take(message.news);
  });
  const [{ marketId, conditionId, yes, no }] = exchange.markets;
  assert.deepEqual(await link.ask('deploy', { market: 0, marketId }), { isWanted: true });
  await eventually('a fee on the chain', async () => (await chain.held(contracts.exchange, USDC)) > 0n);
  assert.deepEqual(await chain.call('exchange', 'markets', [conditionId]), [yes, no], 'its market was deployed for it');
  assert.deepEqual(await link.ask('isClaimed', { wallet: key(1).address, marketId }), { isClaimed: false });
  assert.deepEqual(await link.ask('claimTransaction', { marketId: '', shard: 0, sequence: 1 }), { hash: null });
  assert.equal(exchange.progress.trimmable(0), 5);
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage('stop');
  assert.equal(await ended, 0);
  assert.deepEqual(delivered[0], failed);
  const left = openSettlementDb(options.settlementDbPath);
  after(() => left.close());
  assert.ok(!new News(left, () => 0).due().some(({ kind }) => kind === 'tradeFailed'), 'it was acknowledged');
  assert.ok(deployments.includes('wanted'));
  const health = messages.findLast((message) => 'health' in message)!.health;
  assert.deepEqual([health.problem, health.unhealthy], [null, null]);
});
