/**
 * Money between chain and ledger (engine/settlement/moneySide.ts): deposits, sets, withdrawals and exits of wallets, on
 * a chain that fails in every way, under crashes at every durable step. RULES.md 17.20.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Hex, toHex } from 'viem';
import { Journal } from '../../../../engine/journal/journal.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { isDifferent } from '../../../../engine/settlement/reconciliation.ts';
import { Settlement } from '../../../../engine/settlement/settlement.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { MOVEMENT, OUTCOME } from '../../../../shared/base/codes.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { marketIds, outcomeTokenIds } from '../../../../shared/chain/outcomeTokens.ts';
import { NodeUnreachable, type Rpc, RpcError } from '../../../../shared/chain/rpc.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { Crash, Crashes } from '../../../support/crashes.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { FakeEscrow, type WalletCall, walletCall } from '../../../support/fakeEscrow.ts';
import {
  COLLATERAL,
  TOKENS as CONDITIONAL_TOKENS,
  EXCHANGE,
  FACTORY,
  RESOLUTIONS,
} from '../../../support/fakeExchange.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { MoneyGateway } from '../../../support/moneyGateway.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const ACCOUNTS = [1, 2, 3];
const STRANGER: Hex = `0x${'ee'.repeat(20)}`;
const START_MS = 1_800_000_000_000;
const OPERATOR = chainKey(toHex(7, { size: 32 }));
/** The id that the engine's rig gives to its market 0. */
const MARKET_ID = Uint8Array.from({ length: 16 }, (_, at) => (at === 0 ? 1 : 0));
const TOKENS = outcomeTokenIds({ marketFactory: FACTORY, collateral: COLLATERAL }, MARKET_ID);
const CONDITION = marketIds(FACTORY, MARKET_ID).conditionId as Hex;

function walletOf(account: number): Hex {
  return `0x${String(account).repeat(40)}`;
}

class Rig {
  readonly random: Random;
  readonly chain: FakeChain<FakeEscrow>;
  readonly crashes = new Crashes();
  readonly engine = new EngineRig();
  readonly db = openSettlementDb(':memory:');
  readonly #progress = new Progress(Progress.create(1));
  readonly #path = join(temporaryDirectory(), 'journal-0.db');
  readonly #journal = Journal.open({
    ...{ journalPath: this.#path, journalSync: 'normal', shard: 0, shards: 1, key: TEST_KEY },
  });
  readonly gateway: MoneyGateway;
  readonly owners = new Map<string, number>(ACCOUNTS.map((account) => [walletOf(account), account]));
  rpc: Rpc;
  settlement: Settlement;
  nowMs = START_MS;
  restarts = 0;
  #news!: News;
  #salt = 0;
  #written = 0;

  /** USDC pays nothing to these wallets. */
  readonly frozen = new Set<Hex>();

  /** @param finality blocks after which the chain calls one final; absent: as many as most chains. */
  constructor(seed: number, finality?: number) {
    this.random = new Random(seed);
    this.chain = new FakeChain(
      this.random,
      () => new FakeEscrow(() => TOKENS, this.frozen),
      finality === undefined ? {} : { finality },
    );
    this.rpc = this.chain;
    this.gateway = new MoneyGateway({
      accountOf: (wallet) => this.owners.get(wallet) ?? null,
      move: (account, movement, amount, reference, market) =>
        this.engine.move(account, movement, amount, reference, market ?? undefined).reply.code,
    });
    this.engine.market(0);
    this.settlement = this.#start();
  }

  #start(): Settlement {
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const db = this.crashes.around(this.db);
    this.#news = new News(db, () => this.nowMs);
    const call = (method: string, params: readonly unknown[]) => this.rpc.call(method, params);
    return new Settlement({
      ...{ db, news: this.#news, key: OPERATOR, chainId: 137, mostFeeWei: 10n ** 15n, nowMs: () => this.nowMs },
      ...{ limits: { headAgeMs: 30_000, waitMs: 60_000 }, lingerMs: 0 },
      ...{ progress: this.#progress, journalPaths: [this.#path], keys: [TEST_KEY] },
      contracts: {
        ...{
          exchange: EXCHANGE,
          marketFactory: FACTORY,
          usdc: COLLATERAL,
          conditionalTokens: CONDITIONAL_TOKENS,
          resolutions: RESOLUTIONS,
        },
      },
      ...{ deployerKey: chainKey(toHex(8, { size: 32 })), resolverKey: chainKey(toHex(9, { size: 32 })) },
      node: new ChainNode(this.crashes.aroundCalls({ call })),
    });
  }

  send(does: WalletCall['does'], wallet: Hex, more: Omit<Partial<WalletCall>, 'does' | 'wallet'> = {}): Hex {
    return this.chain.sendElsewhere(walletCall({ does, wallet, salt: ++this.#salt, ...more }));
  }

  async step(blocks = 1): Promise<void> {
    const { rows } = this.engine.journal;
    while (this.#written < rows.length) this.#journal.append(rows[this.#written++]);
    this.#journal.commit();
    this.#progress.setCommitted(0, this.#journal.lastSequence);
    this.nowMs += 2000;
    try {
      await this.settlement.step();
      this.gateway.follow(this.settlement, this.#news);
    } catch (error) {
      if (error instanceof Crash) {
        this.restarts++;
        this.settlement.close();
        this.settlement = this.#start();
      } else if (!(error instanceof NodeUnreachable)) throw error;
    }
    this.chain.mine(blocks);
  }

  async steps(count: number, blocks = 10): Promise<void> {
    for (let step = 0; step < count; step++) await this.step(blocks);
  }

  /** Runs until nothing is under way. */
  async finish(): Promise<void> {
    this.chain.faults = 0;
    await this.steps(30);
    const left = this.db.prepare<[], number>(`SELECT count(*) FROM work WHERE status <> 'settled'`).pluck().get()!;
    assert.equal(left, 0, 'all work is settled');
  }

  usdc(account: number): number {
    const { available, reserved } = this.engine.usdc(account);
    return available + reserved;
  }

  tokens(account: number): number[] {
    return [OUTCOME.YES, OUTCOME.NO].map((outcome) => this.engine.tokens(account, outcome, 0).available);
  }

  async differences(): Promise<unknown[]> {
    const balances = await this.settlement.money.compareAll(this.settlement.money.facts().scannedBlock!);
    return balances.filter(isDifferent);
  }

  close(): void {
    this.settlement.close();
    this.#journal.close();
    this.db.close();
  }
}

async function withRig(seed: number, run: (rig: Rig) => Promise<void>, finality?: number): Promise<void> {
  const rig = new Rig(seed, finality);
  try {
    await run(rig);
  } finally {
    rig.close();
  }
}

const SEEDS = timesOf({ suite: 1, soak: 40 });
const STEPS = timesOf({ suite: 150, soak: 400 });
const first = seedOr(1);

for (let seed = first; seed < first + SEEDS; seed++) {
  test(`each movement of the chain is in the ledger once, under crashes, forks and a bad node, seed ${seed}`, () =>
    withRig(seed, async (rig) => {
      const { random, chain, crashes, engine } = rig;
      const deposited = new Map<number, number>();
      for (let step = 0; step < STEPS; step++) {
        const account = random.pick(ACCOUNTS);
        const [wallet, amount] = [walletOf(account), random.between(1, 5_000_000)];
        const die = random.below(100);
        if (die < 12) {
          rig.send('deposit', wallet, { amount: String(amount) });
          deposited.set(account, (deposited.get(account) ?? 0) + amount);
        } else if (die < 18) {
          const { reply } = engine.fund(account, amount, MOVEMENT.WITHDRAWAL);
          if (reply.code === 0) deposited.set(account, deposited.get(account)! - amount);
        } else if (die < 24) engine.convert(account, 0, Math.floor(amount / 100) * 100, random.pick([2, 3]) as 2);
        chain.faults = random.chance(50) ? random.below(12) : 0;
        if (random.chance(20)) crashes.stepsLeft = random.between(1, 40);
        await rig.step(random.between(0, 4));
        if (random.chance(4)) chain.reorganise(random.between(1, 40), true);
      }
      await rig.finish();
      assert.ok(rig.restarts > 3, `${rig.restarts} restarts`);
      assert.deepEqual(await rig.differences(), []);
      for (const [account, micro] of deposited) {
        assert.equal(rig.usdc(account) + rig.tokens(account)[0], micro, `account ${account}`);
      }
    }));
}

test('a deposit counts once it is final, and one that a reorganisation takes away never does', () =>
  withRig(2, async (rig) => {
    rig.send('deposit', walletOf(1), { amount: '5000000' });
    await rig.steps(5);
    assert.equal(rig.usdc(1), 0, 'it is not final');
    await rig.steps(5);
    assert.equal(rig.usdc(1), 5_000_000);
    rig.send('deposit', walletOf(1), { amount: '1000000' });
    await rig.steps(3);
    rig.chain.reorganise(40, false);
    await rig.steps(15);
    assert.equal(rig.usdc(1), 5_000_000);
    assert.deepEqual(await rig.differences(), []);
  }));

test('the deposit of an unknown wallet waits where it is seen, and counts once the wallet is linked', () =>
  withRig(3, async (rig) => {
    rig.send('deposit', STRANGER, { amount: '7000000' });
    await rig.steps(12);
    const [waiting] = rig.settlement.money.money.open(10);
    assert.deepEqual([waiting.status, waiting.reason, waiting.wallet], ['waiting', 'unknown_wallet', STRANGER]);
    assert.equal(rig.settlement.money.facts().waiting, 1);
    rig.owners.set(STRANGER, 2);
    await rig.steps(20, 1);
    assert.equal(rig.usdc(2), 7_000_000);
    assert.equal(rig.settlement.money.facts().waiting, 0);
    assert.deepEqual(await rig.differences(), []);
  }));

test('released USDC that the wallet splits by itself comes back as tokens, in any amount', () =>
  withRig(4, async (rig) => {
    const wallet = walletOf(1);
    rig.send('deposit', wallet, { amount: '10000000' });
    await rig.steps(12);
    const reference = Uint8Array.from({ length: 32 }, () => 9);
    rig.settlement.money.prepareRelease(toHex(reference));
    assert.equal(rig.engine.move(1, MOVEMENT.WITHDRAWAL, 4_000_000, reference).reply.code, 0);
    await rig.steps(12);
    rig.send('splitFromEscrow', wallet, { amount: '1234567', condition: CONDITION });
    rig.send('hold', wallet, { amount: '765433' });
    await rig.steps(12);
    assert.deepEqual(rig.tokens(1), [1_234_567, 1_234_567]);
    assert.equal(rig.usdc(1), 10_000_000 - 4_000_000 + 765_433);
    await rig.finish();
    assert.deepEqual(await rig.differences(), []);
  }));

test('a wallet that asks for its exit is leaving at once, and stays when that is final or gone', () =>
  withRig(5, async (rig) => {
    const wallet = walletOf(1);
    rig.chain.mine(100);
    rig.send('requestExit', wallet);
    await rig.steps(2, 1);
    assert.ok(rig.gateway.leaving.has(1), 'before it is final');
    rig.chain.reorganise(20, false);
    await rig.steps(16);
    assert.ok(!rig.gateway.leaving.has(1), 'its block is gone');
    rig.send('requestExit', wallet);
    await rig.steps(2, 1);
    assert.ok(rig.gateway.leaving.has(1));
    rig.send('cancelExit', wallet);
    await rig.steps(3);
    assert.ok(rig.gateway.leaving.has(1), 'a cancellation counts once it is final');
    await rig.steps(8);
    assert.ok(!rig.gateway.leaving.has(1));
  }));

const healthOf = ({ settlement }: Rig) => settlement.health({ problem: null, balances: [], nodes: [] });

test('a floor that a wallet raises is reported at first sight, once, and once more when it is final', () =>
  withRig(15, async (rig) => {
    const raised = [walletOf(1), 7] as const;
    await rig.steps(3);
    rig.send('raiseFloor', walletOf(1), { amount: '7' });
    await rig.steps(3, 1);
    assert.deepEqual(rig.gateway.floors, [raised], 'before it is final');
    await rig.steps(8);
    assert.deepEqual(rig.gateway.floors, [raised, raised]);
    assert.equal(healthOf(rig).floorsToCarry, 0);
    // A reorganisation undoes nothing: the owner has requested it.
    rig.send('raiseFloor', walletOf(1), { amount: '9' });
    await rig.steps(2, 1);
    rig.chain.reorganise(20, false);
    await rig.steps(8);
    assert.deepEqual(rig.gateway.floors.slice(2), [[walletOf(1), 9]]);
  }));

test('no raise of a floor is lost to a crash, wherever in a round it comes', async () => {
  for (let stepsLeft = 1; stepsLeft <= 30; stepsLeft++) {
    await withRig(16, async (rig) => {
      await rig.steps(3);
      rig.send('raiseFloor', walletOf(1), { amount: '7' });
      rig.chain.mine();
      rig.crashes.stepsLeft = stepsLeft;
      await rig.steps(4, 1);
      assert.ok(rig.gateway.floors.length > 0, `a crash after ${stepsLeft} steps`);
    });
  }
});

test('orders wait until what wallets ask for is read up to the newest block, in stretches as a node allows', () =>
  withRig(17, async (rig) => {
    rig.chain.mine(100);
    rig.send('raiseFloor', walletOf(1), { amount: '7' });
    rig.chain.mine(30);
    const { chain } = rig;
    let [refused, asked] = [true, 0];
    rig.rpc = {
      call: (method, params) => {
        if (method !== 'eth_getLogs') return chain.call(method, params);
        const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
        if (refused) throw new NodeUnreachable('eth_getLogs: no answer');
        if (Number(toBlock) - Number(fromBlock) >= 10) throw new RpcError('too many blocks');
        asked++;
        return chain.call(method, params);
      },
    };
    await rig.step();
    assert.match(healthOf(rig).unhealthy!, /requests of wallets to the contract were not read yet$/);
    refused = false;
    for (let round = 0; healthOf(rig).unhealthy !== null; round++) {
      assert.ok(round < 100, `it is read at last: ${healthOf(rig).unhealthy}`);
      await rig.step();
    }
    assert.ok(asked > 5 && rig.gateway.floors.length > 0, 'it was in the stretches');
  }));

test('orders wait again where what wallets ask for was not read for ten minutes, however well the node is else', () =>
  withRig(17, async (rig) => {
    await rig.steps(3);
    assert.equal(healthOf(rig).unhealthy, null);
    const { chain } = rig;
    rig.rpc = {
      call: (method, params) => {
        if (method === 'eth_getLogs') throw new NodeUnreachable('eth_getLogs: no answer');
        return chain.call(method, params);
      },
    };
    const startMs = rig.nowMs;
    while (rig.nowMs - startMs < 600_000) {
      assert.equal(healthOf(rig).unhealthy, null, `after ${rig.nowMs - startMs} ms`);
      await rig.steps(1, 1);
    }
    assert.match(healthOf(rig).unhealthy!, /requests of wallets to the contract were not read yet$/);
    rig.rpc = chain;
    await rig.steps(1, 1);
    assert.equal(healthOf(rig).unhealthy, null);
  }));

test('orders wait as well until a contract that is added was read', () =>
  withRig(19, async (rig) => {
    await rig.steps(3);
    assert.equal(healthOf(rig).unhealthy, null);
    rig.settlement.money.rotate(`0x${'5e'.repeat(20)}`);
    assert.match(healthOf(rig).unhealthy!, /requests of wallets to the contract were not read yet$/);
    await rig.steps(1);
    assert.equal(healthOf(rig).unhealthy, null);
  }));

test('a chain that is younger than its finality is looked at as well', () =>
  withRig(18, async (rig) => {
    await rig.steps(2, 1);
    assert.equal(healthOf(rig).unhealthy, null);
    rig.send('raiseFloor', walletOf(1), { amount: '7' });
    rig.send('requestExit', walletOf(2));
    await rig.steps(2, 1);
    assert.deepEqual(rig.gateway.floors, [[walletOf(1), 7]]);
    assert.ok(rig.gateway.leaving.has(2));
  }));

test('an exit takes the USDC from the ledger once, and its tokens stay outside until they come back', () =>
  withRig(6, async (rig) => {
    const wallet = walletOf(1);
    rig.send('deposit', wallet, { amount: '10000000' });
    await rig.steps(12);
    rig.engine.convert(1, 0, 3_000_000);
    await rig.finish();
    rig.send('requestExit', wallet);
    rig.send('exit', wallet);
    rig.send('exit', wallet, { asset: TOKENS[0] });
    await rig.steps(12);
    assert.equal(rig.usdc(1), 0);
    assert.equal(rig.settlement.rows.countUnsettled().pending, 0, 'nothing is paid a second time');
    assert.deepEqual(await rig.differences(), [], 'the Yes tokens are the wallet’s own');
    rig.send('cancelExit', wallet);
    await rig.steps(12);
    assert.ok(rig.gateway.leaving.has(1), 'the ledger has tokens that the escrow has not');
    rig.send('hold', wallet, { asset: TOKENS[0], amount: '3000000' });
    await rig.steps(12);
    assert.ok(!rig.gateway.leaving.has(1));
    assert.deepEqual(rig.tokens(1), [3_000_000, 3_000_000]);
    assert.deepEqual(await rig.differences(), []);
  }));

test('USDC that the ledger has and the chain has not is a difference, once it stands', () =>
  withRig(7, async (rig) => {
    rig.send('deposit', walletOf(1), { amount: '10000000' });
    await rig.steps(12);
    assert.equal(rig.settlement.money.facts().differences, 0);
    rig.engine.fund(1, 1);
    await rig.steps(1);
    assert.equal(rig.settlement.money.facts().differences, 0, 'one answer of a node is not enough');
    await rig.steps(4);
    const [difference] = rig.settlement.money.differences();
    assert.deepEqual(difference, { account: 1, asset: -1, ledger: 10_000_001n, underWay: 0n, held: 10_000_000n });
    assert.equal(
      rig.settlement.health({ problem: null, balances: [], nodes: [] }).unhealthy,
      'the ledger and the chain differ',
    );
  }));

test('a wallet that USDC refuses waits with its own payments, and holds up nobody', () =>
  withRig(14, async (rig) => {
    const { payments } = rig.settlement;
    const [spiteful, honest] = [walletOf(1), walletOf(2)];
    for (const wallet of [spiteful, honest]) rig.send('deposit', wallet, { amount: '10000000' });
    await rig.steps(12);
    rig.frozen.add(spiteful);
    for (let payment = 0; payment < 30; payment++) rig.engine.fund(1, 1, MOVEMENT.WITHDRAWAL);
    rig.engine.fund(2, 1_000_000, MOVEMENT.WITHDRAWAL);
    const sentBefore = rig.chain.head.number;
    await rig.steps(6, 1);
    const transactions = rig.chain.blocks.slice(sentBefore).flatMap((block) => block.transactions);
    assert.equal(transactions.filter(({ nonce }) => nonce >= 0).length, 1, 'only the honest payment costs gas');
    assert.equal(payments.countRefused(), 1, 'the others of the account wait behind it');
    assert.deepEqual(
      payments.heldUp(10, 0).map(({ account, wallet, reason }) => [account, wallet, reason]),
      [[1, spiteful, 'eth_call: execution reverted: Blacklisted']],
    );
    const health = rig.settlement.health({ problem: null, balances: [], nodes: [] });
    assert.deepEqual([health.unhealthy, health.failedInRow, health.refusedPayments], [null, 0, 1]);
    assert.equal(health.oldestWorkMs, 0, 'what is refused is no work that settlement is behind with');
    assert.deepEqual(await rig.differences(), []);
    let asked = 0;
    const { chain } = rig;
    rig.rpc = {
      call: (method, params) => {
        if (method === 'eth_call' && 'gas' in (params[0] as object)) asked++;
        return chain.call(method, params);
      },
    };
    await rig.steps(100, 1);
    assert.ok(asked >= 3 && asked <= 7, `the pauses double: ${asked} questions in 100 blocks`);
    rig.frozen.clear();
    await rig.steps(40, 40);
    await rig.finish();
    assert.equal(payments.countRefused(), 0);
    assert.deepEqual(await rig.differences(), []);
  }));

test('payments that are refused in a block, against what the node said before, are no failed batches', () =>
  withRig(16, async (rig) => {
    const { chain, frozen } = rig;
    rig.send('deposit', walletOf(1), { amount: '10000000' });
    await rig.steps(12);
    frozen.add(walletOf(1));
    rig.rpc = {
      call: async (method, params) => {
        const isSimulation = method === 'eth_call' && 'gas' in (params[0] as object);
        return isSimulation ? '0x' : chain.call(method, params);
      },
    };
    rig.engine.fund(1, 1, MOVEMENT.WITHDRAWAL);
    await rig.steps(30, 5);
    const reverted = chain.blocks.flatMap(({ transactions }) =>
      transactions.filter(({ receipt }) => receipt['status'] === '0x0'),
    );
    assert.ok(reverted.length > 5, `${reverted.length} transactions were reverted`);
    assert.equal(rig.settlement.health({ problem: null, balances: [], nodes: [] }).failedInRow, 0);
  }));

test('a payment waits for the older work of its account, and for nobody else', () =>
  withRig(15, async (rig) => {
    for (const account of [1, 2]) rig.send('deposit', walletOf(account), { amount: '10000000' });
    await rig.steps(12);
    const { payments } = rig.settlement;
    // The set comes back as USDC, of which a part is paid: the chain has it only once it has merged.
    rig.engine.convert(1, 0, 10_000_000);
    rig.engine.convert(1, 0, 10_000_000, 3);
    rig.engine.fund(1, 9_000_000, MOVEMENT.WITHDRAWAL);
    rig.engine.fund(2, 1_000_000, MOVEMENT.WITHDRAWAL);
    await rig.step(0);
    const sql = `SELECT DISTINCT account FROM work WHERE status = 'pending'`;
    const pending = rig.db.prepare<[], number>(sql).pluck().all();
    assert.deepEqual(pending, [1], 'the other account is paid at once');
    await rig.steps(3, 1);
    await rig.finish();
    assert.equal(payments.countRefused(), 0, 'nothing was tried too early');
    const failures = rig.db.prepare<[], number>('SELECT sum(failures) FROM work WHERE kind = 3').pluck().get();
    assert.equal(failures, 0);
    assert.deepEqual(await rig.differences(), []);
  }));

for (const finality of [0, 2, 64]) {
  test(`a movement in each block makes no difference where a block is final ${finality} blocks later`, () =>
    withRig(
      13,
      async (rig) => {
        rig.send('deposit', walletOf(1), { amount: '10000000' });
        await rig.steps(12);
        for (let step = 0; step < 60; step++) {
          assert.equal(rig.engine.fund(1, 1, MOVEMENT.WITHDRAWAL).reply.code, 0);
          await rig.step();
          const { differences, block } = { ...rig.settlement.money.facts(), block: rig.chain.head };
          assert.equal(differences, 0, `at block ${block}`);
        }
        assert.ok(rig.settlement.money.facts().compared > 30, 'balances were compared all the time');
        await rig.finish();
        assert.deepEqual(await rig.differences(), []);
      },
      finality,
    ));
}

test('a movement of an account without a wallet is seen, and goes on with one', () =>
  withRig(8, async (rig) => {
    rig.engine.fund(9, 5_000_000);
    rig.engine.fund(9, 1_000_000, MOVEMENT.WITHDRAWAL);
    const { money } = rig.settlement;
    await rig.step();
    assert.equal(money.facts().withoutWallet, 1);
    await rig.steps(2);
    assert.equal(money.facts().withoutWallet, 0, 'the gateway was asked, and knew one');
  }));

test('a node that allows only short ranges is read so, and one that contradicts itself is not believed', () =>
  withRig(9, async (rig) => {
    let longest = 0;
    let lies = true;
    const { chain } = rig;
    rig.rpc = {
      call: async (method, params) => {
        if (method === 'eth_getLogs') {
          const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
          const blocks = Number(toBlock) - Number(fromBlock) + 1;
          if (blocks > 10) throw new RpcError('block range is too wide');
          longest = Math.max(longest, blocks);
        }
        const answer = await chain.call(method, params);
        if (method !== 'eth_getLogs' || !lies) return answer;
        return (answer as object[]).map((log) => ({ ...log, data: toHex(99_000_000, { size: 32 }) }));
      },
    };
    rig.send('deposit', walletOf(1), { amount: '5000000' });
    await rig.steps(25);
    assert.equal(rig.usdc(1), 0, 'the receipt says something else');
    lies = false;
    await rig.steps(30);
    assert.equal(rig.usdc(1), 5_000_000);
    assert.ok(longest > 1 && longest <= 10);
  }));

test('a wallet that was leaving before its account was known freezes the account before it has any funds', () =>
  withRig(12, async (rig) => {
    rig.send('deposit', STRANGER, { amount: '7000000' });
    rig.send('requestExit', STRANGER);
    await rig.steps(12);
    rig.owners.set(STRANGER, 2);
    await rig.steps(20, 1);
    assert.equal(rig.usdc(2), 7_000_000);
    assert.ok(rig.gateway.leaving.has(2));
  }));

test('a log that a node which was behind did not give is found at the second look', () =>
  withRig(10, async (rig) => {
    let isBehind = true;
    const { chain } = rig;
    rig.rpc = {
      call: async (method, params) => {
        const answer = await chain.call(method, params);
        return method === 'eth_getLogs' && isBehind ? [] : answer;
      },
    };
    rig.send('deposit', walletOf(1), { amount: '5000000' });
    await rig.steps(10);
    assert.equal(rig.usdc(1), 0);
    isBehind = false;
    await rig.steps(25);
    assert.equal(rig.usdc(1), 5_000_000);
  }));

test('no statement about money reads a table that grows from end to end', () =>
  withRig(11, async (rig) => {
    const found = new Set<string>();
    const prepare = rig.db.prepare.bind(rig.db);
    const isShort = /INDEX|SCAN (outside|scans|news|CONSTANT|markets)|VIRTUAL|SUBQUERY|\bpart\b|oldest/;
    rig.db.prepare = ((sql: string) => {
      const steps = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
      const named = Object.fromEntries((sql.match(/@\w+/g) ?? []).map((name) => [name.slice(1), null]));
      const values = (sql.match(/\?/g) ?? []).map(() => null);
      for (const { detail } of steps.all(...(values.length > 0 ? values : [named]))) {
        if (detail.startsWith('SCAN') && !isShort.test(detail)) found.add(`${detail}: ${sql}`);
      }
      return prepare(sql);
    }) as typeof rig.db.prepare;
    rig.send('deposit', walletOf(1), { amount: '5000000' });
    rig.send('requestExit', walletOf(2));
    await rig.steps(20);
    rig.engine.convert(1, 0, 1_000_000);
    rig.engine.fund(1, 1_000_000, MOVEMENT.WITHDRAWAL);
    await rig.finish();
    // The sum of all accounts, once in a while.
    assert.deepEqual(
      [...found].filter((each) => !each.includes('sum(micro)')),
      [],
    );
  }));
