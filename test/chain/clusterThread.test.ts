/**
 * The settlement threads of two members of a cluster (engine/settlement/main.ts), over a log that a test holds: one
 * leads, the other follows; a thread that ends while the log takes nothing, and a takeover, cost and double nothing.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { toHex } from 'viem';
import { createLogger } from '../../gateway/base/log.ts';
import { ChainDown, ChainLink } from '../../gateway/shardlink/settlementLink.ts';
import { FORMATS, newestOf } from '../../shared/base/formats.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { Replication, STREAM } from '../../shared/wire/replication.ts';
import type { FollowedRow, SettlementMessage, SettlementOptions } from '../../shared/wire/threads.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TEST_SECRET } from '../support/journalKey.ts';
import { NO_ANVIL } from './anvil.ts';
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
import { CHAIN_ID, chainRig, key, USDC } from './rig.ts';

const chain = await chainRig();
const ACCOUNT = 1;
const START_MICRO = 50_000_000;

/** The settlement thread of a member, as its gateway has it. */
class Thread {
  readonly memory = Replication.create(1);
  readonly replication = new Replication(this.memory);
  /** Records that the thread has given to the log, which takes them only when the test says so. */
  readonly given: FollowedRow[] = [];
  applied = 0;
  readonly link = new ChainLink((ask) => this.#worker.postMessage(ask) === undefined, createLogger('silent'));
  readonly path = join(temporaryDirectory(), 'settlement.db');
  readonly #progress = Progress.create(1);
  readonly #exchange: FollowedExchange;
  #worker!: Worker;

  constructor(t: TestContext, exchange: FollowedExchange) {
    this.#exchange = exchange;
    this.replication.setFormats(newestOf(FORMATS));
    this.commit();
    this.begin(null);
    t.after(() => this.#worker.terminate());
  }

  /** The journal of this machine has everything that the exchange has written. */
  commit(): void {
    new Progress(this.#progress).setCommitted(0, this.#exchange.progress.committed(0));
  }

  begin(leads: { readonly last: FollowedRow | null } | null): void {
    const { contracts, client } = chain;
    const workerData: SettlementOptions = {
      journalPaths: this.#exchange.journalPaths,
      journalKey: TEST_SECRET,
      floors: [],
      movementFeeMicro: FEE_MICRO,
      progress: this.#progress,
      settlementDbPath: this.path,
      rpcUrl: client.chain.rpcUrls.default.http[0],
      chainId: CHAIN_ID,
      exchangeAddress: contracts.exchange,
      marketFactoryAddress: contracts.marketFactory,
      usdcAddress: contracts.usdc,
      ctfAddress: contracts.conditionalTokens,
      ...{
        operatorKey: OPERATOR,
        resolverKey: RESOLVER,
        deployerKey: DEPLOYER,
        relayerKey: null,
        permitKey: toHex(0xabcdef, { size: 32 }),
      },
      ...{
        payerKey: PAYER,
        ...{ paymentsAddress: contracts.payments, resolutionsAddress: contracts.resolutions },
        payBounds: { accountMicro: 10 ** 12, allMicro: 10 ** 13 },
      },
      mostFeeWei: 10n ** 15n,
      limits: { headAgeMs: 3_600_000, waitMs: 3_600_000 },
      cluster: { memory: this.memory, leads },
    };
    const worker = new Worker(new URL('../../engine/settlement/main.ts', import.meta.url), { workerData });
    worker.on('message', (message: SettlementMessage) => {
      if ('reply' in message) this.link.reply(message.reply);
      else if ('record' in message) this.given.push(message.record);
      else if ('applied' in message) this.applied = message.applied;
    });
    this.#worker = worker;
  }

  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
    this.link.threadEnded();
  }

  rows(): unknown {
    const db = new Database(this.path, { readonly: true });
    try {
      return ['work', 'history', 'jobs', 'envelopes', 'envelope_attempts', 'followed', 'news', 'escrows'].map((table) =>
        db.prepare(`SELECT * FROM ${table}`).all(),
      );
    } finally {
      db.close();
    }
  }
}

/** Takes the leader's rows in order and hands them to the standby, as long as the test runs. */
function shipping(t: TestContext, leader: Thread, standby: Thread, held: FollowedRow[]) {
  const ship = (): void => {
    for (const row of leader.given.splice(0)) {
      assert.equal(row.sequence, held.length + 1, 'the stream has no gap, and nothing twice');
      held.push(row);
      leader.replication.setHeld(STREAM.SETTLEMENT, row.sequence);
      standby.post({ rows: [row] });
    }
  };
  const timer = setInterval(ship, 1);
  const stop = (): void => clearInterval(timer);
  t.after(stop);
  return { stop };
}

test('a thread that ends, and a takeover, lose nothing and do nothing twice', { skip: NO_ANVIL }, async (t) => {
  const terms = { ticksPerUnit: 100, feeBps: FEE_BPS, minOrderAtomic: 100 };
  const exchange = new FollowedExchange({ chain, accounts: [ACCOUNT], markets: [terms] });
  t.after(() => exchange.close());
  await FollowedExchange.grantRights(chain);
  exchange.openMarkets();
  await chain.fund(key(ACCOUNT), BigInt(START_MICRO));
  await chain.client.mine({ blocks: FINAL_BLOCKS });
  while (exchange.engine.usdc(ACCOUNT).available === 0) await exchange.step();
  const [a, b] = [new Thread(t, exchange), new Thread(t, exchange)];
  const wallet = key(ACCOUNT).address;
  const [{ yes }] = exchange.markets;
  const splitMore = (): void => {
    exchange.split(ACCOUNT, 0, 1_000_000);
    exchange.write();
    for (const each of [a, b]) each.commit();
  };
  const onChain = (micro: number) =>
    eventually(`${micro} tokens on the chain`, async () => (await chain.held(wallet, yes)) === BigInt(micro));
  const held: FollowedRow[] = [];

  a.post('lead');
  let log = shipping(t, a, b, held);
  await a.link.ask('setEscrow', { account: ACCOUNT, wallet });
  await assert.rejects(b.link.ask('setEscrow', { account: ACCOUNT, wallet }), (error) => {
    assert.ok(error instanceof ChainDown && /another member of the cluster settles/.test(error.message));
    return true;
  });
  splitMore();
  await onChain(1_000_000);
  assert.equal((await b.link.ask('failedTrades', { after: 0, limit: 10 })).trades.length, 0, 'reads are answered');

  log.stop();
  splitMore();
  await eventually('a record that waits for the log', async () => a.given.length === 1);
  await a.end();
  assert.equal(a.given.length, 1, 'it has stood still');
  const [last] = a.given as [FollowedRow];
  a.begin({ last });
  log = shipping(t, a, b, held);
  await onChain(2_000_000);

  log.stop();
  await a.end();
  // Perhaps the log had taken it, and the leader did not live to know.
  for (const row of a.given.splice(0)) {
    held.push(row);
    b.post({ rows: [row] });
  }
  await eventually('every row at the standby', async () => b.applied === held.length);
  b.replication.setHeld(STREAM.SETTLEMENT, held.length);
  b.post('lead');
  a.begin(null);
  for (const row of held) a.post({ rows: [row] });
  log = shipping(t, b, a, held);
  splitMore();
  await onChain(3_000_000);
  await chain.client.mine({ blocks: FINAL_BLOCKS });
  await eventually('the same rows', async () => {
    const isSettled = JSON.stringify(b.rows()).includes('"settled"');
    return isSettled && a.applied === held.length && JSON.stringify(a.rows()) === JSON.stringify(b.rows());
  });
  log.stop();
  assert.equal(await chain.held(wallet, USDC), BigInt(START_MICRO - 3 * (1_000_000 + FEE_MICRO)));
});
