/** Deployments of markets (engine/settlement/deploys.ts) on a chain that fails in every way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFunctionData, toHex } from 'viem';
import { DeployRows } from '../../../../engine/settlement/deployRows.ts';
import { Deploys } from '../../../../engine/settlement/deploys.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { FACTORY_ABI } from '../../../../shared/chain/exchangeAbi.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode, type Hex } from '../../../../shared/chain/node.ts';
import { NodeUnreachable } from '../../../../shared/chain/rpc.ts';
import { Crash, Crashes } from '../../../support/crashes.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { COLLATERAL, EXCHANGE, FACTORY, FakeExchange } from '../../../support/fakeExchange.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const KEY = chainKey(toHex(9, { size: 32 }));
const MARKETS = 12;
const uuidOf = (market: number): Hex => toHex(1000 + market, { size: 16 });

class Rig {
  readonly random: Random;
  readonly factory = { isPaused: false };
  readonly chain: FakeChain<FakeExchange>;
  readonly crashes = new Crashes();
  readonly db = openSettlementDb(':memory:');
  nowMs = 1_800_000_000_000;
  restarts = 0;
  rows!: DeployRows;
  deploys!: Deploys;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.chain = new FakeChain(this.random, () => new FakeExchange(this.factory));
    this.#start();
  }

  #start(): void {
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const db = this.crashes.around(this.db);
    const nowMs = (): number => this.nowMs;
    this.rows = new DeployRows(db, nowMs, new News(db, nowMs));
    this.deploys = new Deploys({
      ...{ db, nowMs, rows: this.rows, key: KEY, chainId: 137, mostFeeWei: 10n ** 15n },
      node: new ChainNode(this.crashes.aroundCalls(this.chain)),
      chain: { marketFactory: FACTORY, collateral: COLLATERAL },
    });
  }

  want(market: number, isNeeded = false): void {
    this.rows.want(market, uuidOf(market), EXCHANGE, isNeeded);
  }

  async step(): Promise<void> {
    this.nowMs += 2000;
    try {
      const node = new ChainNode(this.chain);
      const [head, finalized] = [await node.block('latest'), await node.block('finalized')];
      if (head !== null && finalized !== null) await this.deploys.step({ head, finalized });
    } catch (error) {
      if (error instanceof Crash) {
        this.restarts++;
        this.#start();
      } else if (!(error instanceof NodeUnreachable)) throw error;
    }
  }

  async steps(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.step();
      this.chain.mine();
    }
  }

  /** The statuses of a market, as they were reported. */
  seen(market: number): string[] {
    const sql = `SELECT facts ->> 'status' FROM news WHERE facts ->> 'marketId' = ? ORDER BY number`;
    return this.db.prepare<[string], string>(sql).pluck().all(uuidOf(market));
  }

  status(market: number): string {
    return this.rows.get(market + 1).status;
  }
}

/** The exchange says so when it gets to know a market. */
function registered(market: number) {
  const createMarket = { abi: FACTORY_ABI, functionName: 'createMarket', args: [uuidOf(market)] } as const;
  return new FakeExchange().run(encodeFunctionData(createMarket), 0).logs;
}

const first = seedOr(1);
const worlds = timesOf({ suite: 1, soak: 60 });
/** Summed over all worlds: a world that ends early may have few. */
let restarts = 0;
for (let seed = first; seed < first + worlds; seed++) {
  test(`every market is deployed under crashes, reorganisations and a bad node, seed ${seed}`, async () => {
    const rig = new Rig(seed);
    const { random, chain, crashes } = rig;
    const statuses = () => Array.from({ length: MARKETS }, (_, market) => rig.status(market));
    for (let market = 0; market < MARKETS; market++) rig.want(market, random.chance(50));
    const most = 600;
    for (let steps = 0; statuses().some((status) => status !== 'final'); steps++) {
      assert.ok(steps < most, `${statuses()} after ${steps} steps`);
      const isCalm = steps > 200;
      chain.faults = !isCalm && random.chance(50) ? random.below(15) : 0;
      if (!isCalm && random.chance(20)) crashes.stepsLeft = random.between(1, 40);
      if (random.chance(10)) chain.baseFee = BigInt(random.between(1, 400)) * 250_000_000n;
      await rig.step();
      if (random.chance(3)) chain.forget();
      chain.mine(random.between(0, 3));
      if (!isCalm && random.chance(4)) chain.reorganise(random.between(1, 40));
      if (!isCalm && random.chance(2)) chain.useNonceElsewhere(KEY.address);
    }
    restarts += rig.restarts;
    assert.equal(chain.contract.markets.size, MARKETS);
  });
}

test('the worlds had crashes', () => {
  assert.ok(restarts > 2 * worlds, `${restarts} restarts of ${worlds} worlds`);
});

test('a deployment is wanted, sent, mined and final, and needs no second transaction', async () => {
  const rig = new Rig(3);
  await rig.step();
  rig.want(0);
  rig.want(0);
  await rig.steps(80);
  assert.deepEqual(rig.seen(0), ['wanted', 'submitted', 'mined', 'final']);
  const again = new Rig(3);
  again.chain.contract.markets.set(...rig.chain.contract.markets.entries().next().value!);
  again.want(0);
  await again.steps(2);
  assert.deepEqual(again.seen(0), ['wanted', 'final'], 'it is on the chain for good already');
});

test('a deployment follows the transaction that has done it, also one that was reverted before', async () => {
  const rig = new Rig(6);
  rig.want(0, true);
  while (rig.rows.get(1).job === null) await rig.step();
  const first = rig.rows.get(1).job!;
  const carriedOut = async (job: number, isSuccess: boolean) => {
    const logs = isSuccess ? registered(0) : [];
    (await rig.deploys.read(job, { isSuccess, blockNumber: 9, logs } as never))();
  };
  const state = () => [rig.status(0), rig.rows.get(1).job];
  await carriedOut(first, false);
  assert.deepEqual(state(), ['failed', null]);
  // A reorganisation while it waits to be sent again.
  rig.deploys.unmined(first);
  await carriedOut(first, true);
  assert.deepEqual(state(), ['mined', first]);
  // And one after it was sent again, in which the second finds it done, or is reverted.
  rig.deploys.unmined(first);
  await carriedOut(first, false);
  const second = rig.rows.submit(1);
  await carriedOut(first, true);
  await carriedOut(second, false);
  assert.deepEqual(state(), ['mined', first]);
  rig.deploys.final(second);
  assert.deepEqual(state(), ['mined', first]);
  rig.deploys.final(first);
  await carriedOut(second, false);
  assert.deepEqual(state(), ['final', first]);
  assert.equal(rig.rows.get(1).failures, 2);
});

test('markets whose work waits for the contract are counted until it knows them', async () => {
  const rig = new Rig(5);
  rig.want(0, true);
  rig.want(1, false);
  assert.equal(rig.rows.countNeeded(EXCHANGE), 1);
  assert.equal(rig.rows.countNeeded('0x01'), 0);
  rig.rows.set(1, 'mined');
  assert.equal(rig.rows.countNeeded(EXCHANGE), 0);
});

test('a deployment that the factory refuses costs no transaction, is retried, and then given up', async () => {
  const rig = new Rig(4);
  rig.factory.isPaused = true;
  rig.want(0);
  rig.want(1, true);
  rig.want(2);
  const failedMs: number[] = [];
  const startMs = rig.nowMs;
  for (let i = 0; i < 400; i++) {
    const before = rig.rows.get(1).failures;
    await rig.steps(1);
    if (rig.rows.get(1).failures > before) failedMs.push(rig.nowMs - startMs);
  }
  assert.deepEqual(rig.seen(0), ['wanted', ...Array(5).fill(['failed', 'wanted']).flat(), 'given_up']);
  const pauses = failedMs.slice(1).map((ms, i) => Math.round((ms - failedMs[i]!) / 15_000));
  assert.deepEqual(pauses, [1, 2, 4, 8, 16]);
  assert.match(rig.rows.get(1).reason ?? '', /EnforcedPause/);
  assert.equal(rig.rows.get(2).status, 'failed', 'work waits for this one');
  const sent = rig.db.prepare<[], number>('SELECT count(*) FROM envelopes').pluck().get();
  assert.equal(sent, 0);
  rig.factory.isPaused = false;
  rig.want(0, true);
  assert.equal(rig.status(2), 'given_up');
  rig.want(2);
  await rig.steps(400);
  assert.deepEqual([rig.status(0), rig.status(1)], ['final', 'final'], 'a trade brings back what was given up');
  assert.equal(rig.status(2), 'final', 'and so does an administrator (RULES.md 17.33)');
});
