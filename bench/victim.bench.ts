/**
 * What does an attack by way of the chain cost another customer? Two customers place, cancel and trade with each other
 * on an exchange that settles on a local chain with a block a second, alternately:
 *
 *   quiet     no other customer does anything
 *   attacked  others make the operator work: payments to wallets that USDC has blacklisted, payments and splits of the
 *             minimum amount as fast as a flood of accounts could send them, a movement in each block, and proposals of
 *             a thief of the resolver's key
 *
 * The customer times a placement, from the request to its answer; the exchange times settlement, from the match to the
 * block. The attackers share the processors of the machine, which they would not do from far away.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { toHex } from 'viem';
import { assert } from '../shared/base/assert.ts';
import { NO_ANVIL } from '../test/chain/anvil.ts';
import { send } from '../test/chain/deploy.ts';
import { chainSettings } from '../test/chain/exchange.ts';
import { ChainRig, key, ROLES } from '../test/chain/rig.ts';
import { eventually } from '../test/support/eventually.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../test/support/traders.ts';
import { quantile } from './oneAfterAnother.ts';
import { atMost, type Goal, median, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ROUNDS = 5;
const PART_MS = 6000;
const TRADE_EVERY_MS = 400;
const MOST_TIMES = 1.5;
const ATTACKERS = 8;
/** Each account acts this often, and stands for the many accounts that the daily limits would require. */
const FLOOD_PAUSE_MS = 100;
const BLOCK_MS = 1000;
const VICTIM_MICRO = 5_000_000_000;
const ATTACKER_MICRO = 2_000_000_000;
const LEAST = { amount_usdc_micro: '1000000' } as const;

type Market = Awaited<ReturnType<typeof makeMarket>>;
type Stage = {
  readonly rig: ChainRig;
  readonly server: TestServer;
  readonly market: Market;
  readonly victims: readonly [Trader, Trader];
  readonly attackers: readonly Trader[];
};
/** One act of an attack, its pause, and the number of attackers that act at the same time. */
type Attack = {
  readonly pauseMs: number;
  readonly together: number;
  readonly act: (stage: Stage, number: number) => Promise<unknown>;
  /** Called before and after each part. */
  readonly set?: (stage: Stage, isOn: boolean) => Promise<unknown>;
};

const attackerOf = ({ attackers }: Stage, number: number): Trader => attackers[number];
const withdraw = (stage: Stage, number: number) => attackerOf(stage, number).client.ledger.withdraw(LEAST);

const ATTACKS: Readonly<Record<string, Attack>> = {
  none: { pauseMs: PART_MS, together: 1, act: async () => undefined },
  'blacklisted payments': {
    pauseMs: FLOOD_PAUSE_MS,
    together: ATTACKERS,
    act: withdraw,
    set: async ({ rig, attackers }, isOn) => {
      for (const { address } of attackers)
        await send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', [address, isOn]);
    },
  },
  'least payments': { pauseMs: FLOOD_PAUSE_MS, together: ATTACKERS, act: withdraw },
  'least splits': {
    pauseMs: FLOOD_PAUSE_MS,
    together: ATTACKERS,
    act: (stage, number) => attackerOf(stage, number).client.split(stage.market.id, 1_000_000),
  },
  'a movement in each block': { pauseMs: BLOCK_MS, together: 1, act: (stage) => withdraw(stage, 0) },
  'foreign proposals': {
    pauseMs: BLOCK_MS / 2,
    together: 1,
    act: async ({ rig }) => {
      const { marketId } = await rig.createMarket();
      await rig.decide(ROLES.resolver, 'propose', [marketId, 1_000_000n, 0n]);
    },
  },
};

/** The customers' orders and trades of all rounds of a part. */
class Part {
  readonly placedMs: number[] = [];
  readonly settledMs: number[] = [];
  /** The p99 of each round. */
  readonly placedOfRounds: number[] = [];
  readonly spans: (readonly [fromMs: number, toMs: number])[] = [];
}

export async function run({ attacks }: { readonly attacks?: readonly string[] | undefined }): Promise<Report> {
  if (NO_ANVIL !== false) throw new Error(NO_ANVIL);
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const [name, attack] of Object.entries(ATTACKS)) {
    if (attacks !== undefined && !attacks.includes(name)) continue;
    const { row, placing, settling } = await measure(name, attack);
    rows.push(row);
    goals.push(atMost(`p99 of placing attacked / quiet, ${name}`, placing, MOST_TIMES));
    goals.push(atMost(`p99 of settlement attacked / quiet, ${name}`, settling, MOST_TIMES));
  }
  const turns = `${ROUNDS} x ${PART_MS / 1000} s each of quiet, attacked`;
  return { bench: 'victim', settings: `one shard, a block each ${BLOCK_MS / 1000} s, ${turns}`, rows, goals };
}

async function measure(name: string, attack: Attack) {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.unshift(cleanUp) };
  try {
    const stage = await makeStage(scope);
    const parts = { quiet: new Part(), attacked: new Part() };
    const steal = new StealMeter();
    await pass(stage, new Part());
    let acts = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await pass(stage, parts.quiet);
      await attack.set?.(stage, true);
      const attacking = attackFor(stage, attack);
      await pass(stage, parts.attacked);
      acts += await attacking;
      await attack.set?.(stage, false);
      await drained(stage);
    }
    readSettled(stage, Object.values(parts));
    const ratios = parts.attacked.placedOfRounds.map((ms, round) => ms / parts.quiet.placedOfRounds[round]);
    const placing = median(ratios);
    const settling = quantile(parts.attacked.settledMs, 0.99) / quantile(parts.quiet.settledMs, 0.99);
    const row = {
      attack: name,
      ...columns(parts.quiet, 'quiet'),
      ...columns(parts.attacked, 'attacked'),
      'placing p99, median of rounds': placing,
      'settlement p99': settling,
      orders: parts.quiet.placedMs.length + parts.attacked.placedMs.length,
      trades: parts.quiet.settledMs.length + parts.attacked.settledMs.length,
      'acts a second': (1000 * acts) / (ROUNDS * PART_MS),
      [STOLEN]: steal.percent(),
    };
    return { row, placing, settling };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

function columns({ placedMs, settledMs }: Part, name: string): Row {
  return {
    [`${name} p50 ms`]: quantile(placedMs, 0.5),
    [`${name} p99 ms`]: quantile(placedMs, 0.99),
    [`${name} settled p50 s`]: quantile(settledMs, 0.5) / 1000,
    [`${name} settled p99 s`]: quantile(settledMs, 0.99) / 1000,
  };
}

async function makeStage(scope: Scope): Promise<Stage> {
  const rig = await ChainRig.start();
  scope.after(() => rig.stop());
  const settings = {
    ...(await chainSettings(rig)),
    SHARDS: '1',
    MOST_CHAIN_MOVEMENTS_A_DAY: '1000000',
    // On a busy machine the chain may stand still for this long.
    MOST_HEAD_AGE_MS: '300000',
  };
  const server = await startServer(scope, settings);
  const funded = async (number: number, micro: number): Promise<Trader> => {
    await rig.fund(key(number), BigInt(micro));
    return makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  };
  const victims = [await funded(0xb1, VICTIM_MICRO), await funded(0xb2, VICTIM_MICRO)] as const;
  const attackers: Trader[] = [];
  for (let index = 0; index < ATTACKERS; index++) attackers.push(await funded(0xc1 + index, ATTACKER_MICRO));
  const market = await makeMarket(server);
  for (const { client } of [...victims, ...attackers]) {
    await eventually('the deposit', async () => {
      await rig.client.mine({ blocks: 8 });
      return (await client.balances()).usdc.available !== '0';
    });
  }
  await rig.client.setIntervalMining({ interval: BLOCK_MS / 1000 });
  const stage = { rig, server, market, victims, attackers };
  // The first trade makes the exchange deploy the market on the chain.
  await trade(stage);
  await drained(stage);
  return stage;
}

/** The customers trade and at the same time place and cancel one order after the other. */
async function pass(stage: Stage, part: Part): Promise<void> {
  const { market, victims } = stage;
  const fromMs = Date.now();
  const toMs = fromMs + PART_MS;
  const trading = (async () => {
    for (; Date.now() < toMs; await sleep(TRADE_EVERY_MS)) await trade(stage);
  })();
  const timesMs: number[] = [];
  const placing = (async () => {
    while (Date.now() < toMs) {
      const body = victims[0].body(market, { price: '0.05', size: '1' });
      const startMs = performance.now();
      const { order_hash } = await victims[0].client.placeOrder(body);
      timesMs.push(performance.now() - startMs);
      await victims[0].client.cancelOrder(order_hash);
    }
  })();
  await Promise.all([trading, placing]);
  part.spans.push([fromMs, Date.now()]);
  part.placedMs.push(...timesMs);
  part.placedOfRounds.push(quantile(timesMs, 0.99));
}

/** A refused order ends the bench. */
async function trade({ market, victims }: Stage): Promise<void> {
  await victims[0].place(market, { price: '0.60', size: '1' });
  await victims[1].place(market, { price: '0.40', size: '1', outcomeIndex: 1 });
}

/** @returns the number of acts, including refused ones. */
async function attackFor(stage: Stage, { act, pauseMs, together }: Attack): Promise<number> {
  const untilMs = Date.now() + PART_MS;
  let acts = 0;
  const one = async (number: number): Promise<void> => {
    for (; Date.now() < untilMs; await sleep(pauseMs)) {
      acts++;
      await act(stage, number).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: together }, (_, number) => one(number)));
  return acts;
}

/**
 * Waits until the exchange has done the work that the attack left behind, so that no quiet part has to do it. Blocks
 * come quickly.
 */
async function drained({ rig, server }: Stage): Promise<void> {
  await eventually('nothing waits for a block', async () => {
    await rig.client.mine({ blocks: 4 });
    const { settlement } = await server.admin.operations();
    const { total } = await server.admin.waitingMoney();
    return settlement!.work.pending + settlement!.work.submitted + total === 0;
  });
}

/** The time from the match of each trade to the moment at which a block was seen to have it. */
function readSettled({ server }: Stage, parts: readonly Part[]): void {
  const db = new Database(join(server.dataDir, 'settlement.db'), { readonly: true });
  const sql = `SELECT matched_ms AS fromMs, (SELECT min(at_ms) FROM history
                 WHERE history.work = work.id AND history.status = 'mined') AS toMs FROM work WHERE kind = 0`;
  const trades = db.prepare<[], { fromMs: number; toMs: number | null }>(sql).all();
  db.close();
  for (const { fromMs, toMs } of trades) {
    const part = parts.find(({ spans }) => spans.some(([from, to]) => fromMs >= from && fromMs <= to));
    if (part === undefined) continue;
    assert(toMs !== null, 'victim: every trade is in a block');
    part.settledMs.push(toMs - fromMs);
  }
}
