/** Decisions on a chain that forks and forgets, with vetoes, and a process that dies at any step. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFunctionData, type Hex, toHex } from 'viem';
import { Decisions } from '../../../../engine/settlement/decisions.ts';
import { DeployRows } from '../../../../engine/settlement/deployRows.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { Rotation } from '../../../../engine/settlement/rotation.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, WorkRows } from '../../../../engine/settlement/work.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { RESOLUTIONS_ABI } from '../../../../shared/chain/exchangeAbi.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { NodeUnreachable, RpcError } from '../../../../shared/chain/rpc.ts';
import type { NewsOf } from '../../../../shared/wire/chainQuestions.ts';
import { Crash, Crashes } from '../../../support/crashes.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { EXCHANGE, FakeExchange, RESOLUTIONS } from '../../../support/fakeExchange.ts';
import { ofProposal } from '../../../support/fakeResolutions.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const DELAY_SEC = 30;
const FINAL = 70;
const MARKETS = 4;
const KEY = chainKey(toHex(9, { size: 32 }));
const NO_TRADE = { maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null };
const uuidOf = (market: number): Hex => toHex(0xab00 + market, { size: 16 });
const proposeOf = (market: number, yes: number): Hex => {
  const args = [uuidOf(market), BigInt(yes), BigInt(1_000_000 - yes)] as const;
  return encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName: 'propose', args });
};

/** Contracts that can be asked for their state at a block, as decisions need it. */
class Contracts extends FakeExchange {
  readonly hasPast = true;
}

class Rig {
  readonly db = openSettlementDb(':memory:');
  readonly chain: FakeChain<Contracts>;
  readonly crashes = new Crashes();
  readonly work: WorkRows;
  readonly reported: NewsOf[] = [];
  decisions!: Decisions;
  nowMs = 1_800_000_000_000;
  restarts = 0;
  readonly #news: News;

  constructor(random: Random) {
    this.chain = new FakeChain(random, () => new Contracts({ isPaused: false }, DELAY_SEC));
    this.#news = new News(this.db, () => this.nowMs);
    this.work = new WorkRows(this.db, () => this.nowMs);
    this.start();
    const deploys = new DeployRows(this.db, () => this.nowMs, this.#news);
    for (let market = 0; market < MARKETS; market++) {
      this.work.setMarket(market, uuidOf(market), 100);
      deploys.want(market, uuidOf(market), EXCHANGE, true);
    }
    this.db.exec(`UPDATE deploys SET status = 'final'; DELETE FROM news`);
  }

  start(): void {
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const db = this.crashes.around(this.db);
    const nowMs = () => this.nowMs;
    const work = new WorkRows(db, nowMs);
    const news = new News(db, nowMs);
    this.decisions = new Decisions({
      ...{ db, work, news, nowMs, key: KEY, chainId: 137, mostFeeWei: 10n ** 15n, resolutions: RESOLUTIONS },
      node: new ChainNode(this.crashes.aroundCalls(this.chain)),
      rotation: new Rotation(db, work, new DeployRows(db, nowMs, news), EXCHANGE),
    });
  }

  /** The ledger asks again after a crash, because it has no answer. */
  want(market: number, payoutYesPpm: number): string {
    const ask = { market, marketId: uuidOf(market), status: MARKET_STATUS.RESOLVED, payoutYesPpm };
    try {
      return this.decisions.want(ask);
    } catch (error) {
      this.#startAfter(error);
      return this.decisions.want(ask);
    }
  }

  #startAfter(error: unknown): void {
    if (!(error instanceof Crash)) throw error;
    this.restarts++;
    this.start();
  }

  async step(): Promise<void> {
    this.nowMs += 2000;
    const { head } = this.chain;
    const block = (number: number) => ({ ...this.chain.blocks[number], baseFeeWei: 1n, gasLimit: 30_000_000 });
    const heads = { head: block(head.number), finalized: block(Math.max(0, head.number - 64)) };
    try {
      await this.decisions.step(heads as never);
    } catch (error) {
      if (!(error instanceof NodeUnreachable || error instanceof RpcError)) this.#startAfter(error);
    }
    for (const news of this.#news.due()) {
      this.reported.push(news);
      this.#news.acknowledge(news.number);
    }
  }

  /** The ledger follows. */
  decideLedger(market: number, amount: number): void {
    this.work.decideMarket(market, amount);
    const row = { kind: KIND.RESOLUTION, shard: 0, sequence: 1000 + market, part: 0, account: 0, market, amount };
    this.work.add({ ...row, ...NO_TRADE });
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    for (let steps = 0; !holds(); steps++) {
      assert.ok(steps < 400, `${what}: ${JSON.stringify(this.db.prepare('SELECT * FROM decisions').all())}`);
      await this.step();
      this.chain.mine(2);
    }
  }

  standing(market: number) {
    return this.chain.contract.resolutions.newest.get(uuidOf(market));
  }

  get left(): number {
    return this.decisions.rows.after(-1, 100).length;
  }
}

const first = seedOr(1);
const SEEDS = timesOf({ suite: 3, soak: 300 });

for (let seed = first; seed < first + SEEDS; seed++) {
  test(`every decision ends as the chain has it, over vetoes, forks, faults and crashes, seed ${seed}`, async () => {
    const random = new Random(seed);
    const rig = new Rig(random);
    const { chain, crashes, reported } = rig;
    const wanted = new Map<number, number>();
    let read = 0;
    let vetoes = 0;
    for (let steps = 0; wanted.size < MARKETS || rig.left > 0; steps++) {
      const isCalm = steps > 250;
      assert.ok(steps < 1500, JSON.stringify(rig.db.prepare('SELECT * FROM decisions').all()));
      const market = random.below(MARKETS);
      if (!wanted.has(market) && random.chance(20)) {
        wanted.set(market, random.pick([0, 1_000_000, 500_000]));
        assert.equal(rig.want(market, wanted.get(market)!), 'wanted');
      }
      const standing = rig.standing(market);
      if (!isCalm && standing?.isOpen && random.chance(10)) {
        chain.sendElsewhere(ofProposal(random.pick(['veto', 'carryOut']), Number(standing.number)));
      }
      chain.faults = !isCalm && random.chance(50) ? random.below(12) : 0;
      if (!isCalm && random.chance(20)) crashes.stepsLeft = random.between(1, 30);
      await rig.step();
      for (const { kind, facts } of reported.slice(read) as readonly NewsOf<'marketDecided' | 'decisionVetoed'>[]) {
        const yes = wanted.get(facts.market);
        assert.equal(facts.payoutYesPpm, yes);
        const { isOpen, isDecided } = rig.standing(facts.market)!;
        assert.deepEqual([isOpen, isDecided], [false, kind === 'marketDecided'], `${kind} is what the chain has`);
        if (kind === 'marketDecided') rig.decideLedger(facts.market, yes!);
        else {
          vetoes++;
          rig.want(facts.market, yes!);
        }
      }
      read = reported.length;
      if (random.chance(3)) chain.forget();
      chain.mine(random.between(0, 3));
      if (!isCalm && random.chance(4)) chain.reorganise(random.between(1, 31));
    }
    assert.ok(rig.restarts > 1, `${rig.restarts} restarts, ${vetoes} vetoes`);
    const ends = reported
      .filter(({ kind }) => kind === 'marketDecided')
      .map(({ facts }) => (facts as { market: number }).market);
    assert.deepEqual(ends.toSorted(), [...wanted.keys()].toSorted(), 'each is reported once');
    assert.equal(rig.db.prepare(`SELECT count(*) FROM work WHERE status <> 'settled'`).pluck().get(), 0);
  });
}

test('a decision waits for the trades of its market and the delay, and others may carry it out', async () => {
  const rig = new Rig(new Random(3));
  const { chain } = rig;
  const trade = { kind: KIND.SPLIT, shard: 0, sequence: 1, part: 0, account: 1, market: 0, amount: 1, ...NO_TRADE };
  rig.work.add(trade);
  rig.want(0, 1_000_000);
  assert.equal(rig.want(0, 1_000_000), 'wanted');
  assert.equal(rig.want(0, 0), 'another is wanted');
  assert.equal(rig.want(99, 0), 'not on the chain');
  for (let rounds = 0; rounds < 5; rounds++) {
    await rig.step();
    chain.mine(1);
  }
  assert.equal(rig.standing(0), undefined);
  rig.db.exec(`UPDATE work SET status = 'mined'`);
  await rig.until('the proposal', () => rig.standing(0)?.isOpen === true);
  assert.equal(rig.standing(0)!.isDecided, false);
  const due = Number(rig.standing(0)!.from);
  while (chain.head.timestampSec < due) {
    await rig.step();
    assert.equal(rig.standing(0)!.isDecided, false);
    chain.mine(1);
  }
  chain.sendElsewhere(ofProposal('carryOut', 1));
  chain.mine(1);
  await rig.step();
  assert.equal(rig.reported.length, 0, 'a fork may take it back');
  chain.reorganise(2, false);
  assert.equal(rig.standing(0)!.isDecided, false);
  await rig.until('the news', () => rig.reported.length > 0);
  assert.equal(rig.reported[0].kind, 'marketDecided');
});

test('a foreign proposal is an alarm until it has ended for good, even over a restart and a fork', async () => {
  const rig = new Rig(new Random(4));
  const { chain } = rig;
  chain.sendElsewhere(proposeOf(1, 700_000));
  chain.sendElsewhere(proposeOf(60, 700_000));
  chain.mine(1);
  const foreign = () =>
    rig.decisions.proposals.foreign.map(({ market, number, isDecided }) => [market, number, isDecided]);
  const look = async () => {
    await rig.step();
    return foreign();
  };
  assert.deepEqual(await look(), [
    [1, 1, false],
    [null, 2, false],
  ]);
  rig.start();
  chain.mine(FINAL);
  assert.deepEqual(
    await look(),
    [
      [1, 1, false],
      [null, 2, false],
    ],
    'also after a restart, and once it is final',
  );
  chain.sendElsewhere(ofProposal('veto', 2));
  chain.mine(1);
  assert.deepEqual(await look(), [[1, 1, false]]);
  chain.reorganise(1, false);
  assert.equal((await look()).length, 2, 'the veto is gone');
  chain.sendElsewhere(ofProposal('veto', 2));
  chain.sendElsewhere(ofProposal('carryOut', 1));
  chain.mine(FINAL);
  assert.deepEqual(await look(), [[1, 1, true]]);
  rig.want(1, 0);
  await rig.until('otherwise', () => rig.decisions.health().counts.otherwise === 1);
  assert.equal(rig.reported.length, 0, 'the ledger does not decide what the chain has decided otherwise');
  // It ends when an operator adopts the chain's decision.
  assert.equal(rig.want(1, 700_000), 'wanted');
  await rig.until('the decision', () => rig.reported.length === 1);
  rig.decideLedger(1, 700_000);
  await rig.until('the end', () => rig.left === 0);
  assert.deepEqual(await look(), []);
});

test('a decision of the ledger is proposed again after a veto, because the ledger cannot take it back', async () => {
  const rig = new Rig(new Random(5));
  rig.decideLedger(2, 1_000_000);
  await rig.until('the proposal', () => rig.standing(2)?.isOpen === true);
  rig.chain.sendElsewhere(ofProposal('veto', 1));
  await rig.until('the second', () => rig.standing(2)?.number === 2n);
  await rig.until('the end', () => rig.left === 0);
  assert.deepEqual(rig.reported, []);
  assert.equal(rig.work.get(1)!.status, 'settled');
});

test('after a veto that stays the market is undecided, and nothing is proposed until it is asked for', async () => {
  const rig = new Rig(new Random(6));
  rig.want(3, 1_000_000);
  await rig.until('the proposal', () => rig.standing(3)?.isOpen === true);
  rig.chain.sendElsewhere(ofProposal('veto', 1));
  rig.chain.mine(2);
  for (let rounds = 0; rounds < 3; rounds++) await rig.step();
  assert.equal(rig.reported.length, 0, 'a fork may take it back');
  await rig.until('the veto', () => rig.reported.length > 0);
  assert.deepEqual(rig.reported[0].facts, { market: 3, payoutYesPpm: 1_000_000, number: 1 });
  for (let rounds = 0; rounds < 5; rounds++) {
    await rig.step();
    rig.chain.mine(2);
  }
  assert.deepEqual([rig.left, rig.standing(3)!.number], [0, 1n]);
  rig.want(3, 0);
  await rig.until('the decision', () => rig.reported.length > 1);
  assert.equal(rig.reported[1].kind, 'marketDecided');
});
