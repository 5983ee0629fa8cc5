/**
 * The contracts accept everything that the engine accepts: the production code settles random trading of a real engine,
 * with orders at every bound, on a real EVM. No trade may fail there, and every account, including the fee account, has
 * its ledger balances on the chain, to the unit: after the trading, and after the markets are paid out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hexToBytes } from 'viem';
import { Accounting } from '../../engine/admin/accounting.ts';
import { Kernel } from '../../engine/verify/kernel/kernel.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { FINAL_BLOCKS, FollowedExchange } from './followedExchange.ts';
import { CHAIN_ID, chainRig, key, USDC } from './rig.ts';
import { DELEGATE, drawSteps, type Step, TradingExchange } from './trading.ts';

const chain = await chainRig();
/** One account has much, one has little, and the last one has only what it gets from trades or gifts. */
const FUNDS_MICRO = new Map([
  [1, 4_000_000_000_000_000n],
  [2, 4_000_000_000_000_000n],
  [3, 900_000_000n],
  [4, 3_000_000n],
  [5, 1n],
]);
const ACCOUNTS = [...FUNDS_MICRO.keys()];
const MARKETS = [
  { ticksPerUnit: 100, feeBps: 50, minOrderAtomic: 100 },
  { ticksPerUnit: 16, feeBps: 0, minOrderAtomic: 16 },
  { ticksPerUnit: 625, feeBps: 10_000, minOrderAtomic: 625 },
  { ticksPerUnit: 10_000, feeBps: 333, minOrderAtomic: 1_000_000 },
  { ticksPerUnit: 2500, feeBps: 50, minOrderAtomic: 2500 },
];
const SETS = 1_000_000_000_000_000;
const { scripts: SCRIPTS, steps: STEPS } = timesOf({
  suite: { scripts: 2, steps: 120 },
  soak: { scripts: 12, steps: 400 },
});
const MOST_SHORTENED = timesOf({ suite: 4, soak: 60 });
const seed = seedOr(20);

/** Everything that all scripts begin with. */
async function prepare(): Promise<void> {
  await chain.client.setNextBlockTimestamp({ timestamp: 1_800_000_000n });
  await FollowedExchange.grantRights(chain);
  for (const [account, micro] of FUNDS_MICRO) {
    await chain.fund(key(account), micro);
    await chain.exchange(key(account).address, 'addDelegate', [key(account + DELEGATE).address]);
  }
  await chain.client.mine({ blocks: FINAL_BLOCKS });
}

/** Trades in all, and how many kinds of match there were. */
type Done = { readonly trades: number; readonly kinds: number };

/** Throws where ledger and chain disagree. */
async function settleAll(steps: readonly Step[], shards: number): Promise<Done> {
  const verifier = new Kernel();
  const exchange = new TradingExchange({ chain, accounts: ACCOUNTS, markets: MARKETS, shards, verifier });
  try {
    for (const engine of exchange.engines) engine.contracts(CHAIN_ID, hexToBytes(chain.contracts.exchange));
    exchange.openMarkets();
    for (let rounds = 0; ACCOUNTS.some((account) => exchange.usdcOf(account) === 0); rounds++) {
      assert.ok(rounds < 50, 'the deposits are in the ledger');
      await exchange.step();
    }
    for (const market of MARKETS.keys()) {
      for (const account of [1, 2, 3]) exchange.split(account, market, account === 3 || market > 1 ? 60_000_000 : SETS);
    }
    for (const step of steps) await exchange.run(step);
    // In a decided market the chain may have paid an account first. In an undecided one nothing is paid.
    for (const market of MARKETS.keys()) exchange.pay(market);
    await exchange.finish();
    await assertSettled(exchange, 'after the trading');
    for (const market of MARKETS.keys()) {
      exchange.decide(market, 333_333);
      exchange.pay(market);
    }
    await exchange.finish();
    await assertSettled(exchange, 'after the payout');
    assert.equal(await chain.walletUsdc(chain.contracts.exchange), await total(), 'nothing else is left');
    return doneBy(exchange);
  } finally {
    exchange.close();
  }
}

async function assertSettled(exchange: TradingExchange, when: string): Promise<void> {
  const failed = `SELECT reason, sequence FROM work WHERE id IN (SELECT work FROM history WHERE status = 'failed')`;
  assert.deepEqual(exchange.db.prepare(failed).all(), [], `no trade fails ${when}`);
  // In one shard the order is that of its trades and movements: earlier ones pay for later ones.
  const early = 'SELECT kind, reason, sequence FROM work WHERE failures > 0';
  if (exchange.engines.length === 1) assert.deepEqual(exchange.db.prepare(early).all(), [], `nothing is early ${when}`);
  for (const { journal } of exchange.engines) {
    const audit = new Accounting((difference) => assert.fail(`the audit differs ${when}: ${difference}`));
    for (const row of journal.rows) audit.record(row);
  }
  await exchange.compare(when);
  await exchange.reconcile();
}

/** All USDC that accounts hold: after the payout nothing else is left. */
async function total(): Promise<bigint> {
  const holders = [chain.contracts.exchange, ...ACCOUNTS.map((account) => key(account).address)];
  const balances = await Promise.all(holders.map((holder) => chain.balance(holder, USDC)));
  return balances.flat().reduce((sum, micro) => sum + micro, 0n);
}

function doneBy({ db, trades }: TradingExchange): Done {
  const kinds = db.prepare<[], number>('SELECT count(DISTINCT match_type) FROM work WHERE kind = 0').pluck().get()!;
  return { trades, kinds };
}

async function onFreshChain<T>(use: () => Promise<T>): Promise<T> {
  const id = await chain.client.snapshot();
  try {
    return await use();
  } finally {
    await chain.client.revert({ id });
  }
}

/** Leaves steps out, fewer and fewer at once, as long as the rest fails too. */
async function shorten(steps: Step[], fails: (steps: Step[]) => Promise<boolean>): Promise<Step[]> {
  let left = steps;
  let tries = 0;
  for (let size = Math.ceil(left.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length && tries < MOST_SHORTENED; tries++) {
      const shorter = left.toSpliced(from, size);
      if (await fails(shorter)) left = shorter;
      else from += size;
    }
  }
  return left;
}

async function failureOf(steps: Step[], shards: number): Promise<Error | null> {
  try {
    await onFreshChain(() => settleAll(steps, shards));
    return null;
  } catch (error) {
    return error as Error;
  }
}

test(`whatever the engine accepts settles, ${SCRIPTS} times ${STEPS} random steps, seed ${seed}`, {
  skip: NO_ANVIL,
}, async () => {
  await prepare();
  const done: Done[] = [];
  for (let script = 0; script < SCRIPTS; script++) {
    const shards = 1 + (script % 2);
    const steps = drawSteps(new Random(seed + 1000 * script), STEPS, ACCOUNTS, MARKETS.length);
    try {
      done.push(await onFreshChain(() => settleAll(steps, shards)));
    } catch (error) {
      const left = await shorten(steps, async (fewer) => (await failureOf(fewer, shards)) !== null);
      const lines = left.map((step) => JSON.stringify(step)).join('\n');
      assert.fail(`${(error as Error).message}\nscript ${script}, ${shards} shards, shortened:\n${lines}`);
    }
  }
  const said = JSON.stringify(done);
  assert.ok(
    done.every(({ trades, kinds }) => trades > STEPS / 10 && kinds === 3),
    said,
  );
});
