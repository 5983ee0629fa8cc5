/**
 * A cluster that settles on a real chain (RULES.md 18.12): its leader is killed just before and just after a
 * transaction leaves, while receipts are read and while deposits are; it hangs, hands over, and has a log that takes
 * nothing.
 * The next one sends the same bytes, everything settles once, and every balance is that of the chain.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/chain.test.ts
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { type Address, maxInt128, parseTransaction, recoverTransactionAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { promote, raiseFormats } from '../../engine/admin/cluster.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { Anvil, NO_ANVIL } from '../chain/anvil.ts';
import type { Delays } from '../chain/deploy.ts';
import { LocalChain, secretOf } from '../chain/local.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { nextVersion } from '../support/nextVersion.ts';
import { NO_POSTGRES, sharedPostgres, startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { RpcGate } from '../support/rpcGate.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { type Answer, ROOT } from '../support/server.ts';
import { type Intent, makeMarket, makeTrader, Trader } from '../support/traders.ts';

const SEED = seedOr(20_261_125);
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes a minute';
const options = { skip: NO_POSTGRES || NO_ANVIL || IS_LONG };
/** The exit code of a member that has lost its lead. */
const AGAIN = 75;
const CHAIN_ID = 137;
const HUNDRED = 100_000_000;
const SENT = 'eth_sendRawTransaction';
/** Rows that have to be the same on both members once nothing is under way. */
const SHARED = [
  'SELECT id, kind, shard, sequence, part, exchange, status, job, created_ms FROM work ORDER BY id',
  'SELECT work, step, status, at_ms FROM history ORDER BY work, step',
  'SELECT id, exchange, work, batch, hash, block_number, is_final FROM jobs ORDER BY id',
  'SELECT key_address, nonce, job, state, hash FROM envelopes ORDER BY key_address, nonce',
  'SELECT key_address, nonce, attempt, hash, signed_ms FROM envelope_attempts ORDER BY key_address, nonce, attempt',
  'SELECT id, kind, tx_hash, wallet, amount, account, reference, status FROM chain_money ORDER BY id',
  'SELECT number FROM marks',
];

type Cluster = Awaited<ReturnType<typeof startCluster>>;

class World {
  readonly cluster: Cluster;
  readonly chain: LocalChain;
  readonly gate: RpcGate;
  readonly traders: Trader[] = [];
  readonly #random = new Random(SEED);
  market!: OrderMarket;
  #trades = 0;

  constructor(cluster: Cluster, chain: LocalChain, gate: RpcGate) {
    this.cluster = cluster;
    this.chain = chain;
    this.gate = gate;
  }

  async addTrader(): Promise<void> {
    const privateKey = secretOf(`trader ${this.traders.length}`);
    this.traders.push(await makeTrader(this.cluster, { depositMicro: 0, privateKey }));
    await this.deposit(this.traders.at(-1)!);
    await eventually('the deposit', async () => (await this.available(this.traders.at(-1)!)) === HUNDRED);
  }

  async deposit({ address }: Trader): Promise<void> {
    await this.chain.deposit(privateKeyToAccount(secretOf('payer')), BigInt(HUNDRED), address as Address);
  }

  /** That a wallet, or a contract, has. */
  usdcOf(wallet: string): Promise<bigint> {
    return this.chain.client.readContract({ ...usdcOf(this.chain), args: [wallet as Address] });
  }

  async available(trader: Trader): Promise<number> {
    return Number((await this.cluster.admin.user(trader.userId)).usdc.available);
  }

  /** From now on they sign for the contract of now. */
  async renew(): Promise<void> {
    for (const [index, { userId, credentials }] of this.traders.entries()) {
      const domain = await this.traders[index]!.reconnected().client.signingDomain();
      const signer = new OrderSigner(secretOf(`trader ${index}`), domain);
      this.traders[index] = new Trader(this.cluster, userId, signer, credentials);
    }
  }

  /** A key uses a nonce for one thing, whichever member sends it. */
  async assertNonces(): Promise<void> {
    const does = new Map<string, string>();
    for (const bytes of this.gate.sent) {
      const serializedTransaction = bytes as `0x02${string}`;
      const { nonce, to, data } = parseTransaction(serializedTransaction);
      const name = `${await recoverTransactionAddress({ serializedTransaction })} ${nonce}`;
      const what = `${to} ${data}`;
      assert.equal(does.get(name) ?? what, what, 'a nonce is used for one thing');
      does.set(name, what);
    }
  }

  /** Two orders that meet; each is sent until it was taken, which it is once (RULES.md 5.4). */
  async trade(): Promise<void> {
    const cents = this.#random.between(30, 70);
    const [yes, no] = [`0.${cents}`, `0.${100 - cents}`];
    const size = String(this.#random.between(1, 5));
    await this.#place(this.traders[0]!, { price: yes, size });
    await this.#place(this.traders[1]!, { price: no, size, outcomeIndex: 1 });
    this.#trades++;
  }

  async #place(trader: Trader, intent: Intent): Promise<void> {
    const body = trader.body(this.market, intent);
    await eventually('an order that is taken', async () => {
      const answer = await trader
        .reconnected()
        .post(body)
        .catch(() => null);
      if (answer?.status === 200) return true;
      return answer?.body.code === 'ORDER_PLACEMENT_FAILED' && /duplicate/.test(JSON.stringify(answer.body));
    });
  }

  /** Kills the leader at its next call of this kind, while `work` goes on. @returns the parameters of the call */
  async killedAt(method: string, isPassedOn: boolean, work: () => Promise<void>): Promise<readonly unknown[]> {
    const { cluster, gate } = this;
    const killed = cluster.leader;
    let params: readonly unknown[] = [];
    const killing = gate
      .at(method, isPassedOn, () => killed.kill())
      .then(async (found) => {
        params = found;
        await cluster.awaitLeader(cluster.standbys);
      });
    await Promise.all([killing, work()]);
    await cluster.rejoin(killed);
    return params;
  }

  /** Nothing waits, nothing has failed, and ledger and chain are equal in every balance. */
  async check(): Promise<void> {
    const { cluster, chain } = this;
    // The metrics may be of before the last trade.
    await eventually('every trade has settled', async () => {
      const path = join(cluster.leader.dataDir, 'settlement.db');
      return countOf(path, "SELECT count(*) FROM work WHERE kind = 0 AND status = 'settled'") === this.#trades;
    });
    await eventually('all work has settled', async () => {
      const metrics = await (await fetch(`${cluster.baseUrl}/metrics`)).text();
      const open = [...metrics.matchAll(/^exchange_settlement_work\{status="(pending|submitted|mined)"\} (\d+)$/gm)];
      const behind = /^exchange_settlement_behind_records (\d+)$/m.exec(metrics);
      return open.length > 0 && behind?.[1] === '0' && open.every(([, , count]) => count === '0');
    });
    assert.deepEqual((await cluster.admin.failedTrades()).trades, []);
    const members = [cluster.leader, ...cluster.standbys];
    await eventually('the same rows on both members', async () => {
      const [rows, ...others] = members.map(({ dataDir }) => rowsOf(join(dataDir, 'settlement.db')));
      return others.every((other) => isDeepStrictEqual(other, rows));
    });
    // The tool is of this version.
    for (const { dataDir } of members.filter(({ project }) => project === ROOT)) {
      const { lines, isEqual } = await reconcileChain(dataDir, chain.settings['RPC_URL']!, false);
      assert.ok(isEqual, lines.join('\n'));
    }
  }
}

function countOf(path: string, sql: string): number {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare<[], number>(sql).pluck().get()!;
  } finally {
    db.close();
  }
}

function rowsOf(path: string): unknown {
  const db = new Database(path, { readonly: true });
  try {
    return SHARED.map((sql) => db.prepare(sql).all());
  } finally {
    db.close();
  }
}

async function startWorld(t: TestContext, env: Record<string, string> = {}, delays?: Delays): Promise<World> {
  const anvil = await Anvil.start({ chainId: CHAIN_ID, isQuick: true });
  t.after(() => anvil.stop());
  const chain = await LocalChain.on(anvil, CHAIN_ID, 'of a cluster: ', delays);
  await chain.fund(privateKeyToAccount(secretOf('payer')).address, maxInt128);
  const gate = await RpcGate.open(t, anvil.url);
  const { ADMIN_KEY: _, ...settings } = chain.settings;
  const cluster = await startCluster(t, ['a', 'b'], { ...settings, RPC_URL: gate.url, ...env });
  const world = new World(cluster, chain, gate);
  await world.addTrader();
  await world.addTrader();
  world.market = await makeMarket(cluster);
  await world.trade();
  await world.check();
  return world;
}

test(`killed before and after what leaves for the chain (SEED=${SEED})`, options, async (t) => {
  const world = await startWorld(t);
  const { cluster, gate } = world;
  const [unsent] = await world.killedAt(SENT, false, () => world.trade());
  await world.check();
  assert.ok(gate.sent.includes(unsent as string), 'the next leader has sent the bytes of the one before');
  await world.killedAt(SENT, true, () => world.trade());
  await world.check();
  await world.killedAt('eth_getTransactionReceipt', false, () => world.trade());
  await world.check();
  const [trader] = world.traders as [Trader];
  const before = await world.available(trader);
  await world.killedAt('eth_getLogs', true, () => world.deposit(trader));
  await eventually('the deposit, once', async () => (await world.available(trader)) >= before + HUNDRED);
  await trader.reconnected().client.ledger.withdraw({ amount_usdc_micro: '30000000', reference: 'mine' });
  await world.check();
  assert.equal(await world.available(trader), before + HUNDRED - 30_000_000);
  await eventually('what was withdrawn', async () => (await world.usdcOf(trader.address)) === 30_000_000n);

  const [standby] = cluster.standbys;
  for (const path of ['/admin/settlement/money', '/admin/settlement/failed', '/admin/ledger']) {
    const answer = await standby!.adminRequest('GET', path);
    assert.deepEqual([answer.status, answer.headers.get('x-svc-role')], [200, 'standby'], path);
  }

  // It has lost its disk, and joins while the leader trades.
  await standby!.kill();
  rmSync(standby!.dataDir, { recursive: true });
  mkdirSync(standby!.dataDir);
  const trading = world.trade();
  await cluster.rejoin(standby!);
  await trading;
  await world.check();
  await world.assertNonces();
});

test(`another contract, and takeovers while trades and funds get there (SEED=${SEED})`, options, async (t) => {
  const world = await startWorld(t, {}, { exitDelay: 1n, settlementGrace: 604_800n });
  const { chain, cluster } = world;
  const before = chain.contracts.exchange;
  await world.trade();
  const next = await chain.succeed();
  const change = (): Promise<Answer> =>
    cluster.adminRequest('POST', '/admin/platform/contracts', { exchange_address: next });
  await eventually('the change', async () => (await change()).status === 200);
  const killed = cluster.leader;
  await killed.kill();
  await cluster.awaitLeader(cluster.standbys);
  assert.equal((await change()).status, 200, 'it was changed');
  await cluster.rejoin(killed);
  await world.renew();
  // The trades of before settle at the old contract, and then its funds move, over another takeover.
  await world.killedAt(SENT, true, () => world.trade());
  const move = async () => (await cluster.admin.operations()).settlement?.move;
  await eventually('the end of the move', async () => (await move()) === null);
  await world.trade();
  await world.check();
  assert.equal(await world.usdcOf(before), 0n, 'nothing is left behind');
  await world.assertNonces();
});

test(`a leader that hangs, that hands over, and whose log takes nothing (SEED=${SEED})`, options, async (t) => {
  const postgres = await startPostgres(t);
  const world = await startWorld(t, { JOURNAL_URL: await postgres.database() });
  const { cluster, gate, chain } = world;
  const trading = world.trade();
  for (const standby of postgres.standbys) standby.hang();
  await eventually('a log that takes nothing', async () => {
    return (await cluster.request('GET', '/ready')).body.reason === 'the replicated log takes no rows';
  });
  const sent = new Set(gate.sent);
  const block = await chain.client.getBlockNumber();
  await eventually('more blocks', async () => (await chain.client.getBlockNumber()) > block + 60n);
  assert.deepEqual(
    gate.sent.filter((bytes) => !sent.has(bytes)),
    [],
    'nothing new leaves',
  );
  const metrics = await (await fetch(`${cluster.baseUrl}/metrics`)).text();
  assert.match(metrics, /^exchange_settlement_waits_for_log 1$/m, 'it says why');
  assert.match(metrics, /^exchange_settlement_node_connected 1$/m, 'it is not silent');
  for (const standby of postgres.standbys) standby.goOn();
  await cluster.awaitLeader();
  await trading;
  await world.check();

  const hung = cluster.leader;
  // Its batch waits for more trades meanwhile.
  await world.trade();
  process.kill(hung.pid!, 'SIGSTOP');
  await cluster.awaitLeader(cluster.standbys);
  await world.trade();
  const ended = hung.expectEnd();
  process.kill(hung.pid!, 'SIGCONT');
  assert.equal(await ended, AGAIN);
  await cluster.rejoin(hung);
  await world.check();

  const stopped = cluster.leader;
  const last = world.trade();
  assert.equal(await stopped.stop(), 0);
  await cluster.awaitLeader(cluster.standbys);
  await last;
  await cluster.rejoin(stopped);
  await world.check();
});

test(`versions with other tables in settlement.db follow each other (SEED=${SEED})`, options, async (t) => {
  const env = { JOURNAL_URL: await (await sharedPostgres()).database() };
  const world = await startWorld(t, env);
  const { cluster } = world;
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
  const next = nextVersion();
  const upgrade = async (member: typeof a): Promise<void> => {
    await member.stop();
    member.project = next;
    await cluster.rejoin(member);
  };
  /** Each leads and is followed, while trades settle and funds come. */
  const handOver = async (from: typeof a, to: typeof a): Promise<void> => {
    const ended = from.expectEnd();
    await Promise.all([world.trade(), promote(env, to.name, false)]);
    assert.equal(await ended, AGAIN);
    await cluster.awaitLeader([to]);
    await world.trade();
    await cluster.rejoin(from);
    await world.deposit(world.traders[0]!);
    await world.trade();
    await world.check();
  };
  await upgrade(b);
  await handOver(a, b);
  await handOver(b, a);
  await handOver(a, b);
  await upgrade(a);
  await raiseFormats(env);
  await handOver(b, a);
});

function usdcOf({ contracts }: LocalChain) {
  const abi = [
    {
      type: 'function',
      name: 'balanceOf',
      stateMutability: 'view',
      inputs: [{ name: 'owner', type: 'address' }],
      outputs: [{ name: '', type: 'uint256' }],
    },
  ] as const;
  return { address: contracts.usdc, abi, functionName: 'balanceOf' } as const;
}
