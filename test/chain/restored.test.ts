/**
 * A directory that was restored to an earlier time, beside a chain that went on (RULES.md 10.27, 10.30, 17.2, 17.44).
 * It does not start before `chain adopt`, later deposits come back by themselves, and later trades, splits, merges and
 * withdrawals are taken over from the chain: afterwards every balance equals the lost exchange's. Anything of a wallet
 * that the ledger does not know is named, and orders are refused.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import { type Address, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { TestServer } from '../support/server.ts';
import { makeTrader, marketPerShard, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key } from './rig.ts';

const seed = seedOr(4606);
const STEPS = timesOf({ suite: 40, soak: 400 });
const HUNDRED = 100_000_000;
const SHARDS = 2;
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000', SHARDS: String(SHARDS) };
type World = { readonly server: TestServer; readonly traders: Trader[]; readonly markets: readonly OrderMarket[] };

/** An exchange, its chain and its backups, with the steps that tests repeat. */
class Restored {
  readonly rig: ChainRig;
  readonly settings: Record<string, string>;
  readonly server = new TestServer(temporaryDirectory());
  readonly folder = temporaryDirectory();
  readonly back = new TestServer(join(this.folder, 'restored'));

  private constructor(rig: ChainRig, settings: Record<string, string>) {
    this.rig = rig;
    this.settings = settings;
  }

  static async begin(): Promise<Restored> {
    const rig = await ChainRig.start();
    after(() => rig.stop());
    const world = new Restored(rig, { ...(await chainSettings(rig)), ...LIMITS, CHAIN_MOVEMENT_FEE_MICRO: '25000' });
    after(() => world.server.kill());
    after(() => world.back.kill());
    await rig.client.setIntervalMining({ interval: 1 });
    await world.server.start(world.settings);
    return world;
  }

  /** The chain goes on meanwhile, so that its blocks become final. */
  finalized<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    return eventually(what, async () => {
      await this.rig.client.mine({ blocks: 8 });
      return look();
    });
  }

  has(trader: Trader, micro: number): Promise<unknown> {
    return this.finalized(`${micro} available`, async () => {
      return (await trader.client.balances()).usdc.available === String(micro);
    });
  }

  async funded(number: number): Promise<Trader> {
    await this.rig.fund(key(number), BigInt(HUNDRED));
    const privateKey = toHex(number, { size: 32 });
    const trader = await makeTrader(this.server, { privateKey, depositMicro: 0, requestsPerSecond: 1000 });
    await this.has(trader, HUNDRED);
    return trader;
  }

  async admin(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await runAdminHere(args, { RPC_URL: this.settings['RPC_URL']! });
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  }

  backUp(): Promise<string> {
    return this.admin('backup', join(this.folder, 'backups'), '--data', this.server.dataDir, '--rate', '0');
  }

  /** The server is lost, and another one starts with its chain and the backup. @returns the output of `adopt`. */
  async restore(): Promise<string> {
    await this.server.kill();
    const { dataDir } = this.back;
    const text = await this.admin('restore', join(this.folder, 'backups'), '--data', dataDir);
    assert.match(text, /does not start until `npm run admin -- chain adopt`/);
    await assert.rejects(this.back.start(this.settings), /restored to an earlier time, and the chain went on/);
    const adopted = await this.finalized('all is final', async () => {
      const ran = await runAdminHere(['chain', 'adopt', '--data', dataDir], { RPC_URL: this.settings['RPC_URL']! });
      if (ran.status !== 0) assert.match(ran.stderr, /in blocks that it may still take back/);
      return ran.status === 0 && ran.stdout;
    });
    assert.match(adopted, /it starts paused: resume it only when nothing differs/);
    // A repeat finds the same, and takes nothing over twice.
    await this.admin('chain', 'adopt', '--data', dataDir);
    await this.back.start(this.settings);
    assert.equal((await this.back.admin.platform()).paused, true);
    return adopted;
  }

  /** Lines of balances that differ, once everything is followed. */
  async differences(of: TestServer): Promise<string[]> {
    const report = await this.finalized('all is followed', async () => {
      const found = await reconcileChain(of.dataDir, this.settings['RPC_URL']!, false).catch(() => null);
      return found !== null && /: (?:\d+ differ|ledger and chain are equal)$/.test(found.lines.at(-1)!) && found;
    });
    return report.lines.filter((line) => line.startsWith('DIFFERS'));
  }

  /** Everything that the journals have is on the chain. */
  settled({ dataDir }: TestServer): Promise<unknown> {
    const numberIn = (file: string, sql: string): number => {
      const db = new Database(join(dataDir, file), { readonly: true });
      try {
        return db.prepare<[], number>(sql).pluck().get() ?? 0;
      } finally {
        db.close();
      }
    };
    const records = Array.from({ length: SHARDS }, (_, shard) =>
      numberIn(`journal-${shard}.db`, 'SELECT max(sequence) FROM journal'),
    );
    return this.finalized('all is on the chain', async () => {
      const isFollowed = records.every((last, shard) => {
        return numberIn('settlement.db', `SELECT sequence FROM followed WHERE shard = ${shard}`) >= last;
      });
      return isFollowed && numberIn('settlement.db', `SELECT count(*) FROM work WHERE status <> 'settled'`) === 0;
    });
  }
}

/** A step of people who trade and move sets and money; refused requests change nothing. */
async function act({ traders, markets }: World, random: Random, rig: ChainRig): Promise<string> {
  const [one, other] = [random.pick(traders), random.pick(traders)];
  const market = random.pick(markets);
  const ticks = random.between(5, 95);
  const price = (of: number): string => `0.${String(of).padStart(2, '0')}`;
  const size = String(random.between(5, 40));
  const order = (trader: Trader, side: 'BUY' | 'SELL', outcomeIndex: 0 | 1, at: number) =>
    trader.post(trader.body(market, { side, outcomeIndex, price: price(at), size }));
  const kind = random.pick([
    'cross',
    'cross',
    'mint',
    'mint',
    'merge',
    'rest',
    'split',
    'join',
    'pay',
    'fund',
  ] as const);
  switch (kind) {
    case 'cross':
      await order(one, 'SELL', 0, ticks);
      await order(other, 'BUY', 0, ticks);
      break;
    case 'mint':
      await order(one, 'BUY', 0, ticks);
      await order(other, 'BUY', 1, 100 - ticks);
      break;
    case 'merge':
      await order(one, 'SELL', 0, ticks);
      await order(other, 'SELL', 1, 100 - ticks);
      break;
    case 'rest':
      await order(one, 'BUY', 1, 3);
      break;
    case 'split':
      await one.client.split(market.id, BigInt(size) * 1_000_000n).catch(() => {});
      break;
    case 'join':
      await one.client.merge(market.id, BigInt(size) * 500_000n).catch(() => {});
      break;
    case 'pay': {
      const to = random.chance(50) ? 'wallet' : 'unheld';
      const amount_usdc_micro = String(random.between(1_000_000, 5_000_000));
      await one.client.ledger.withdraw({ amount_usdc_micro, to }).catch(() => {});
      break;
    }
    case 'fund':
      await rig.fund(key(traders.indexOf(one) + 0x81), BigInt(random.between(1, 9_000_000)));
      break;
  }
  return kind;
}

function holdings({ traders, markets }: World, of: TestServer): Promise<unknown> {
  return Promise.all(traders.map((trader) => Promise.all(markets.map((market) => trader.on(of).holdings(market)))));
}

test('after a restore every balance is what the exchange that was lost had, as the chain has it', {
  skip: NO_ANVIL,
}, async (t) => {
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const world = await Restored.begin();
  const { server, back, rig } = world;
  const traders = [await world.funded(0x81), await world.funded(0x82), await world.funded(0x83)];
  const all: World = { server, traders, markets: await marketPerShard(server, SHARDS) };
  for (const trader of traders) await trader.client.split(all.markets[0]!.id, 20_000_000n);
  for (let step = 0; step < STEPS / 4; step++) await act(all, random, rig);
  await world.backUp();
  const counts: Record<string, number> = {};
  for (let step = 0; step < STEPS; step++) {
    const kind = await act(all, random, rig);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  for (const trader of traders) await trader.client.cancelAll();
  await world.settled(server);
  assert.deepEqual(await world.differences(server), []);
  const [lost, { fees_usdc_micro: fees }] = [await holdings(all, server), await server.admin.ledger()];

  const adopted = await world.restore();
  const [, trades, sets, paid] = /^(\d+) trades, (\d+) splits and merges and (\d+) withdrawals that only/m.exec(
    adopted,
  )!;
  assert.ok(Number(trades) > 5 && Number(sets) > 0 && Number(paid) > 0, JSON.stringify([adopted, counts, seed]));
  assert.doesNotMatch(adopted, /NOT TAKEN OVER/);
  await world.finalized('nothing waits', async () => (await back.admin.waitingMoney()).total === 0);
  for (const trader of traders) await trader.on(back).client.cancelAll();
  await world.finalized(`the same balances, seed ${seed}`, async () => {
    return JSON.stringify(await holdings(all, back)) === JSON.stringify(lost);
  });
  assert.equal((await back.admin.ledger()).fees_usdc_micro, fees);
  await world.settled(back);
  assert.deepEqual(await world.differences(back), [], `seed ${seed}`);

  await back.admin.resume();
  const [maker, taker] = [traders[0]!.on(back), traders[1]!.on(back)];
  await world.finalized('orders are placed', async () => {
    const answer = await maker.post(maker.body(all.markets[0]!, { price: '0.40', size: '10' }));
    return answer.status === 200;
  });
  await taker.post(taker.body(all.markets[0]!, { outcomeIndex: 1, price: '0.60', size: '10' }));
  await world.settled(back);
  assert.deepEqual(await world.differences(back), []);
  await back.stop();
  assert.match(await world.admin('audit', '--data', back.dataDir), /balanced/);
});

test('what is of a wallet that the ledger does not have is named, and refuses orders', { skip: NO_ANVIL }, async () => {
  const world = await Restored.begin();
  const { server, back, rig } = world;
  const alice = await world.funded(0x91);
  const [market] = await marketPerShard(server, SHARDS);
  await world.backUp();
  const bob = await world.funded(0x92);
  await alice.place(market!, { price: '0.40', size: '20' });
  await bob.place(market!, { outcomeIndex: 1, price: '0.60', size: '20' });
  await bob.client.ledger.withdraw({ amount_usdc_micro: '1000000' });
  // It has the number of an earlier withdrawal, and another id on the chain.
  await alice.client.ledger.withdraw({ amount_usdc_micro: '2000000' });
  await world.settled(server);

  const adopted = await world.restore();
  assert.match(adopted, /^0 trades, 0 splits and merges and 1 withdrawals that only the chain has/m);
  const named = (of: string): RegExp => {
    return new RegExp(`^NOT TAKEN OVER: ${of} in 0x[0-9a-f]{64}: no account here has the wallet ${bob.address}`, 'im');
  };
  assert.match(adopted, named('MatchSettled'));
  assert.match(adopted, named('PaidOut'));
  const hers = alice.on(back);
  const left = HUNDRED - 2_025_000;
  await world.has(hers, left);
  await world.settled(back);
  const difference = new RegExp(`${alice.address} +USDC +${left} +0 +${left - 8_000_000} `, 'i');
  await world.finalized('the trade that the ledger does not have', async () => {
    return difference.test((await world.differences(back)).join('\n'));
  });
  // Until its contract was compared, an exchange that was just started does not know that it takes the fee (17.50).
  await eventually('a withdrawal is taken', () => {
    return hers.client.ledger.withdraw({ amount_usdc_micro: '1000000' }).catch(({ code }) => {
      assert.equal(code, 'SETTLEMENT_UNHEALTHY');
      return false;
    });
  });
  await eventually('both are paid', async () => (await rig.walletUsdc(alice.address as Address)) === 3_000_000n);
  await back.admin.resume();
  await world.finalized('no order is placed', async () => {
    const answer = await hers.post(hers.body(market!, { price: '0.10', size: '10' }));
    return answer.status === 503 && answer.body.code === 'SETTLEMENT_UNHEALTHY';
  });
});
