/** Settlement (engine/settlement) of journals of real engines, on a chain that fails in every way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from 'viem';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { CannotFollow } from '../../../../engine/settlement/follower.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { Settlement } from '../../../../engine/settlement/settlement.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND } from '../../../../engine/settlement/work.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { chainTradeId } from '../../../../shared/chain/batch.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { NodeUnreachable } from '../../../../shared/chain/rpc.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { Crash, Crashes } from '../../../support/crashes.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { COLLATERAL, EXCHANGE, FACTORY, FakeExchange, RESOLUTIONS, TOKENS } from '../../../support/fakeExchange.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { Random } from '../../../support/random.ts';
import { isLongSoak, seedOr, timesOf } from '../../../support/seeds.ts';

const SHARDS = 2;
const START_MS = 1_800_000_000_000;

class Rig {
  readonly random: Random;
  readonly chain: FakeChain<FakeExchange>;
  readonly crashes = new Crashes();
  readonly engines: ProjectionRig;
  readonly db = openSettlementDb(':memory:');
  settlement: Settlement;
  nowMs = START_MS;
  #keys = [7, 8, 9];
  restarts = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.chain = new FakeChain(this.random, () => new FakeExchange());
    this.engines = new ProjectionRig({ shards: SHARDS, seed });
    this.settlement = this.#start();
  }

  /** From now on with other keys. */
  changeKeys(): void {
    this.settlement.close();
    this.#keys = [10, 11, 12];
    this.settlement = this.#start();
  }

  #start(): Settlement {
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const db = this.crashes.around(this.db);
    const [operator, deployer, resolver] = this.#keys.map((secret) => chainKey(toHex(secret, { size: 32 })));
    return new Settlement({
      db,
      news: new News(db, () => this.nowMs),
      limits: { headAgeMs: 30_000, waitMs: 60_000 },
      node: new ChainNode(this.crashes.aroundCalls(this.chain)),
      key: operator,
      chainId: 137,
      deployerKey: deployer,
      resolverKey: resolver,
      contracts: {
        exchange: EXCHANGE,
        marketFactory: FACTORY,
        usdc: COLLATERAL,
        conditionalTokens: TOKENS,
        resolutions: RESOLUTIONS,
      },
      mostFeeWei: 10n ** 15n,
      progress: this.engines.progress,
      journalPaths: this.engines.journalPaths,
      keys: this.engines.journalPaths.map(() => TEST_KEY),
      nowMs: () => this.nowMs,
    });
  }

  async step(): Promise<void> {
    this.nowMs += 2000;
    try {
      await this.settlement.step();
    } catch (error) {
      if (error instanceof Crash) {
        this.restarts++;
        this.settlement.close();
        this.settlement = this.#start();
      } else if (!(error instanceof NodeUnreachable)) throw error;
    }
  }

  /** Work that is not settled for good. */
  get left(): number {
    return this.db.prepare<[], number>(`SELECT count(*) FROM work WHERE status <> 'settled'`).pluck().get()!;
  }

  /** The trades and movements of the journals, read without settlement. */
  expected(): { trades: Map<bigint, string>; movements: string[] } {
    const trades = new Map<bigint, string>();
    const movements: string[] = [];
    for (const [shard, path] of this.engines.journalPaths.entries()) {
      const reader = new JournalReader(path, TEST_KEY);
      reader.readFrom(new JournalHead(0, 0, 0), 1_000_000, ({ events }) => {
        for (const event of decodeEvents(events.words, events.word, events.end)) {
          if (event.name === 'FUNDS' && event.movement === 2) movements.push(`splitFor ${event.amount}`);
          if (event.name !== 'FILL') continue;
          trades.set(chainTradeId(shard, event.tradeSequence), String(event.lots * 100));
        }
      });
      reader.close();
    }
    return { trades, movements };
  }

  close(): void {
    this.settlement.close();
    this.engines.close();
    this.db.close();
  }
}

const CALM = { problem: null, balances: [], nodes: [], differences: 0 };
/** 150 rounds take half a minute. */
const SEEDS = timesOf({ suite: 1, soak: isLongSoak ? 40 : 10 });
const ROUNDS = timesOf({ suite: 5, soak: isLongSoak ? 150 : 30 });
const first = seedOr(1);

for (let seed = first; seed < first + SEEDS; seed++) {
  test(`every trade settles exactly once under crashes, reorganisations and a bad node, seed ${seed}`, async () => {
    const rig = new Rig(seed);
    const { random, chain, crashes } = rig;
    const most = ROUNDS * 20 + 1500;
    let rounds = 0;
    for (let steps = 0; rounds < ROUNDS || rig.left > 0 || steps < 10; steps++) {
      assert.ok(steps < most, `${rig.left} trades and movements are left after ${steps} steps`);
      if (rounds < ROUNDS && random.chance(25)) {
        rig.engines.trade(40);
        rounds++;
      }
      const isCalm = steps > most / 2;
      chain.faults = !isCalm && random.chance(50) ? random.below(12) : 0;
      if (!isCalm && random.chance(20)) crashes.stepsLeft = random.between(1, 60);
      if (random.chance(10)) chain.baseFee = BigInt(random.between(1, 400)) * 250_000_000n;
      await rig.step();
      if (random.chance(3)) chain.forget();
      chain.mine(random.between(0, 3));
      if (!isCalm && random.chance(3)) chain.reorganise(random.between(1, 40));
    }
    const { trades, movements } = rig.expected();
    const settled = [...chain.contract.trades].map(([id, text]): [bigint, string] => [id, text.split(' ')[0]]);
    assert.ok(trades.size > 20 && rig.restarts > 2, `${trades.size} trades, ${rig.restarts} restarts`);
    assert.deepEqual(new Map(settled.toSorted(byId)), new Map([...trades].toSorted(byId)));
    assert.deepEqual(chain.contract.movements.toSorted(), movements.toSorted(), 'movements happen once as well');
    rig.close();
  });
}

function byId([a]: [bigint, string], [b]: [bigint, string]): number {
  return a < b ? -1 : 1;
}

test('a trade has a history of statuses, and its orders are kept no longer than they are needed', async () => {
  const rig = new Rig(7);
  rig.engines.trade(60);
  const count = (): number => rig.db.prepare<[], number>('SELECT count(*) FROM orders').pluck().get()!;
  await rig.step();
  const orders = count();
  for (let steps = 0; steps < 400 && (rig.left > 0 || steps === 0); steps++) {
    await rig.step();
    rig.chain.mine();
  }
  assert.equal(rig.left, 0);
  assert.ok(count() < orders, 'orders of settled trades are gone');
  const trade = rig.db.prepare<[], number>('SELECT id FROM work WHERE kind = 0 AND failures = 0').pluck().get()!;
  const history = rig.settlement.rows.history(trade).map(({ status }) => status);
  assert.deepEqual(history, ['pending', 'submitted', 'mined', 'settled']);
  rig.close();
});

test('other keys take over what those before have sent, and every trade is settled once', async () => {
  const rig = new Rig(5);
  rig.engines.trade(40);
  for (let steps = 0; steps < 6; steps++) {
    await rig.step();
    if (steps < 4) rig.chain.mine();
  }
  const under = rig.db.prepare<[], number>(`SELECT count(*) FROM work WHERE status IN ('submitted', 'mined')`).pluck();
  assert.ok(under.get()! > 0);
  rig.changeKeys();
  assert.equal(under.get(), 0);
  for (let steps = 0; steps < 400 && rig.left > 0; steps++) {
    await rig.step();
    rig.chain.mine();
  }
  assert.equal(rig.left, 0);
  const { trades, movements } = rig.expected();
  assert.equal(rig.chain.contract.trades.size, trades.size);
  assert.deepEqual(rig.chain.contract.movements.toSorted(), movements.toSorted());
  rig.close();
});

test('journals that do not go on where settlement has ended are refused in one line', () => {
  const rig = new Rig(13);
  rig.engines.trade(20);
  assert.equal(rig.settlement.connect(), true);
  rig.settlement.follow();
  rig.changeKeys();
  assert.equal(rig.settlement.connect(), true);
  const followed = rig.settlement.followed(0);
  rig.db.prepare('UPDATE followed SET chain_low = chain_low + 1 WHERE shard = 0').run();
  rig.changeKeys();
  const message = `does not go on after record ${followed}, up to which settlement.db has followed it: put`;
  assert.throws(
    () => rig.settlement.connect(),
    (error: Error) => {
      assert.ok(error instanceof CannotFollow);
      assert.ok(error.message.includes(message), error.message);
      return true;
    },
  );
  rig.close();
});

test('a chain that has later trades than the journals is noticed', async () => {
  const rig = new Rig(11);
  rig.engines.trade(40);
  rig.settlement.follow();
  assert.equal(await rig.settlement.isChainAhead(), false);
  const last = rig.settlement.rows.lastTrade(1);
  rig.chain.contract.trades.set(chainTradeId(1, last), '');
  assert.equal(await rig.settlement.isChainAhead(), false, 'the last one that the journal has');
  rig.chain.contract.trades.set(chainTradeId(1, last + 2), '');
  assert.equal(await rig.settlement.isChainAhead(), true, 'one may be missing before it');
  rig.close();
});

test('settlement is unhealthy while the head is old or work has waited too long', async () => {
  const rig = new Rig(3);
  assert.equal(rig.settlement.health(CALM).unhealthy, 'the chain was not read yet');
  await rig.step();
  rig.nowMs = rig.chain.head.timestampSec * 1000;
  assert.equal(rig.settlement.health(CALM).unhealthy, null);
  rig.engines.trade(20);
  rig.settlement.follow();
  rig.nowMs += 29_000;
  assert.equal(rig.settlement.health(CALM).unhealthy, null);
  rig.nowMs += 2000;
  assert.equal(rig.settlement.health(CALM).unhealthy, "the chain's newest block is old");
  rig.close();
});

test('a decision that closes many orders pays what was decided, and holders of nothing are claimed for', () => {
  const rig = new Rig(5);
  const [engine] = rig.engines.rigs;
  for (let order = 0; order < 300; order++) {
    engine.place({ account: 1, market: 0, side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 1, lots: 10_000 });
  }
  engine.place({ account: 2, market: 0, side: SIDE.BUY, outcome: OUTCOME.NO, ticks: 99, lots: 10_000 });
  engine.resolve(0, 1_000_000);
  assert.ok(engine.engine.hasSteps, 'it has not taken effect');
  engine.resolve(1, 1_000_000);
  while (engine.engine.hasSteps) engine.step();
  const held = [0, 1, 2, 3, 4].filter((account) => {
    return [OUTCOME.YES, OUTCOME.NO].some((outcome) => engine.tokens(account, outcome, 0).available > 0);
  });
  engine.settle(0);
  while (engine.engine.hasSteps) engine.step();
  // USDC that moves later is no reason for a claim.
  engine.fund(4, 1_000_000);
  rig.engines.write();
  while (rig.settlement.follow());
  const work = (kind: number) =>
    rig.db
      .prepare<[number], { market: number; account: number; amount: number }>(
        'SELECT market, account, amount FROM work WHERE kind = ? ORDER BY account',
      )
      .all(kind);
  assert.deepEqual(
    work(KIND.RESOLUTION),
    [{ market: 0, account: 0, amount: 1_000_000 }],
    'the other one has no holders',
  );
  assert.deepEqual(
    work(KIND.CLAIM).map(({ account }) => account),
    held,
    'each once',
  );
  assert.ok(held.length >= 4);
  rig.close();
});
