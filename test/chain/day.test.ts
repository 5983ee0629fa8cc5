/**
 * A day of an exchange on a chain where everything goes wrong: settlement ends at any step, the chain reorganises, its
 * fees multiply, and its node hangs, lags, forgets transactions and withholds receipts. Meanwhile people trade,
 * deposit, withdraw, split and claim, markets are opened and decided, and the contract refuses trades, which are
 * unwound. At the end of the day every account has the ledger's balances on the chain, to the unit.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGwei } from 'viem';
import { Random } from '../support/random.ts';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { FaultyNode } from './faultyNode.ts';
import { FEE_BPS, FINAL_BLOCKS, FollowedExchange } from './followedExchange.ts';
import { ChainRig, key } from './rig.ts';
import { DELEGATE, drawSteps, type Step, TradingExchange } from './trading.ts';

/** A chain of its own for each day. */
let chain: ChainRig;
/** So much that nothing of a trade that is unwound is spent before. */
const START_MICRO = 900_000_000_000;
const ACCOUNTS = [1, 2, 3, 4, 5];
const MARKETS = [100, 10, 1000, 100, 10_000, 10].map((ticksPerUnit) => {
  return { ticksPerUnit, feeBps: FEE_BPS, minOrderAtomic: ticksPerUnit };
});
/** Markets that are open from the morning on; the others open in the course of the day. */
const FIRST_MARKETS = 2;
/** The market whose trades the contract refuses. A market is decided once none of its trades waits to be unwound. */
const REFUSED_MARKET = 0;
const {
  days: DAYS,
  rounds: ROUNDS,
  reorgs: REORGS,
  commands: COMMANDS,
} = timesOf({
  suite: { days: 1, rounds: 24, reorgs: 5, commands: 9 },
  soak: { days: isLongSoak ? 8 : 2, rounds: 160, reorgs: 25, commands: 25 },
});
const seed = seedOr(22);
const MOST_ROUNDS = 10 * ROUNDS;

type Counts = { trades: number; unwound: number; restarts: number; takenBack: number; compared: number };

class Day {
  readonly random: Random;
  readonly node: FaultyNode;
  readonly exchange: TradingExchange;

  constructor(ofSeed: number, shards: number, hidesLogs: boolean) {
    this.random = new Random(ofSeed);
    this.node = new FaultyNode(new Random(ofSeed + 1), hidesLogs);
    // Signatures are taken for granted: the contract is the first to refuse wrong ones.
    const around = this.node.around.bind(this.node);
    this.exchange = new TradingExchange({ chain, accounts: ACCOUNTS, markets: MARKETS, shards, around });
  }

  async begin(): Promise<void> {
    const { exchange } = this;
    for (let market = 0; market < FIRST_MARKETS; market++) exchange.openMarket();
    for (let rounds = 0; ACCOUNTS.some((account) => exchange.usdcOf(account) === 0); rounds++) {
      assert.ok(rounds < 50, 'the deposits are in the ledger');
      await exchange.step();
    }
    // The last account has only USDC, and tokens from its trades.
    for (const account of ACCOUNTS.slice(0, -1)) exchange.split(account, REFUSED_MARKET, 300_000_000_000);
  }

  async pass(): Promise<void> {
    const { exchange, node, random } = this;
    const every = Math.floor(ROUNDS / REORGS);
    for (let round = 1; round <= ROUNDS || !this.#isEventful; round++) {
      assert.ok(round <= MOST_ROUNDS, JSON.stringify(this.#counts));
      node.faults = random.chance(60) ? random.below(25) : 0;
      for (const step of this.#draw(round / ROUNDS)) {
        if (step.do === 'hold' || step.do === 'ownSplit') await this.#calmly(() => exchange.run(step));
        else await exchange.run(step);
      }
      if (random.chance(10))
        await this.#calmly(() => chain.fund(key(random.pick(ACCOUNTS)), BigInt(random.between(1, 9_000_000))));
      if (exchange.markets.length < MARKETS.length && random.chance(10)) this.#open();
      if (random.chance(10)) this.#decide();
      if (random.chance(10)) await this.#raise(random.pick([0, 1, 30, 500, 5000]));
      if (random.chance(30)) exchange.crashes.stepsLeft = random.between(1, 80);
      await exchange.step();
      if (random.chance(25)) await this.#compare();
      exchange.unwindFailed();
      await chain.client.mine({ blocks: random.between(1, 3) });
      if (round % every === 0) await this.#reorganise(random.between(1, 40));
    }
  }

  /** Everything works again. */
  async end(): Promise<void> {
    const { exchange, node } = this;
    [node.faults, exchange.crashes.stepsLeft] = [0, Number.POSITIVE_INFINITY];
    await this.#raise(0);
    for (const account of ACCOUNTS) for (const engine of exchange.engines) engine.cancelMany(account);
    await exchange.finish(400);
    await this.#readTwice();
    await exchange.finish(400);
    await exchange.reconcile();
    for (const market of exchange.markets.keys()) {
      exchange.decide(market, 333_333);
      exchange.pay(market);
    }
    await exchange.finish(400);
    await exchange.compare('at the end of the day');
    await exchange.reconcile();
  }

  get #counts(): Counts {
    const { trades, unwound, restarts, takenBack, compared } = this.exchange;
    return { trades, unwound, restarts, takenBack, compared };
  }

  /** A day with less than this shows little: where chance wants it so, the day is longer. */
  get #isEventful(): boolean {
    const { trades, restarts, takenBack } = this.#counts;
    return trades > ROUNDS && restarts >= 3 && takenBack > 10;
  }

  /**
   * All orders that the contract refuses belong to one market, and no order asks for everything that an account has.
   */
  #draw(passed: number): Step[] {
    const { exchange, random } = this;
    const drawn = drawSteps(random, COMMANDS, ACCOUNTS, exchange.markets.length);
    return drawn.flatMap((step): Step[] => {
      // Rounds are the day's own, and markets are decided once nothing of them can be undone.
      if (step.do === 'round' || step.do === 'decide' || step.do === 'group') return [];
      if (step.do === 'pass') return passed > 0 ? [step] : [];
      if (step.do !== 'place' && step.do !== 'replace') return [step];
      const isRefused = step.market === REFUSED_MARKET && step.do === 'place' && random.chance(8);
      return [{ ...step, size: 'some', signed: isRefused ? 'stranger' : random.pick(['usual', 'lowV', 'delegate']) }];
    });
  }

  #open(): void {
    const { exchange } = this;
    exchange.openMarket();
    for (const account of ACCOUNTS.slice(0, -1)) exchange.split(account, exchange.markets.length - 1, 100_000_000);
  }

  #decide(): void {
    const { exchange, random } = this;
    const market = random.below(exchange.markets.length);
    if (market === REFUSED_MARKET || market < exchange.markets.length - 2) return;
    exchange.decide(market, random.pick([0, 1_000_000, 500_000, 123_457]));
    if (random.chance(50)) exchange.pay(market);
  }

  /** Even a transaction that offers nothing gets into a block. */
  async #calmly(use: () => Promise<unknown>): Promise<void> {
    const { baseFeePerGas } = await chain.client.getBlock();
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
    await use();
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFeePerGas ?? 0n });
  }

  async #raise(gwei: number): Promise<void> {
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(String(gwei)) });
    await chain.client.mine({ blocks: 1 });
  }

  async #reorganise(depth: number): Promise<void> {
    await chain.client.request({ method: 'anvil_reorg', params: [depth, []] } as never);
  }

  /**
   * The node recovers for a round, and settlement has read the chain. Not if a node has hidden logs, which the second
   * check finds, or the receipt of a final transaction, whose work is then done again to no effect.
   */
  async #compare(): Promise<void> {
    const { exchange, node } = this;
    const isMisled = exchange.db.prepare(`SELECT 1 FROM envelopes WHERE state = 'foreign'`).get() !== undefined;
    if (node.hidesLogs || isMisled) return;
    [node.faults, exchange.crashes.stepsLeft] = [0, Number.POSITIVE_INFINITY];
    await exchange.step();
    await exchange.reconcile();
  }

  async #readTwice(): Promise<void> {
    const { exchange } = this;
    const head = Number(await chain.client.getBlockNumber());
    const checked = exchange.db.prepare<[], number>('SELECT min(checked_block) FROM scans').pluck();
    for (let rounds = 0; checked.get()! <= head; rounds++) {
      assert.ok(rounds < 100, 'every block is read a second time');
      await chain.client.mine({ blocks: 16 });
      await exchange.step();
    }
  }
}

async function prepare(): Promise<void> {
  await chain.client.setNextBlockTimestamp({ timestamp: 1_800_000_000n });
  await FollowedExchange.grantRights(chain);
  for (const account of ACCOUNTS) {
    await chain.fund(key(account), BigInt(START_MICRO));
    await chain.exchange(key(account).address, 'addDelegate', [key(account + DELEGATE).address]);
  }
  await chain.client.mine({ blocks: FINAL_BLOCKS });
}

for (let index = 0; index < DAYS; index++) {
  const [ofDay, shards, hidesLogs] = [seed + 1000 * index, 2 - (index % 2), index % 3 === 2];
  const name = `${shards} shards and ${REORGS} reorganisations, seed ${ofDay}`;
  test(`after a day with ${name}, ledger and chain are equal to the unit`, { skip: NO_ANVIL }, async () => {
    chain = await ChainRig.start();
    const day = new Day(ofDay, shards, hidesLogs);
    try {
      await prepare();
      await day.begin();
      await day.pass();
      await day.end();
    } finally {
      day.exchange.close();
      await chain.stop();
    }
  });
}
