/**
 * Settlement of a cluster (engine/settlement/settlementFile.ts): whichever member ends, and whenever, the next one goes
 * on with what the log holds, every member has the same settlement.db, and the chain does everything once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTransaction, recoverTransactionAddress, toHex } from 'viem';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { declaredTables, isLocalTable } from '../../../../engine/settlement/recordedTables.ts';
import { Settlement } from '../../../../engine/settlement/settlement.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { SettlementFile } from '../../../../engine/settlement/settlementFile.ts';
import { FORMATS } from '../../../../shared/base/formats.ts';
import { chainTradeId } from '../../../../shared/chain/batch.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode, type Hex } from '../../../../shared/chain/node.ts';
import { NodeUnreachable, type Rpc } from '../../../../shared/chain/rpc.ts';
import type { FileRecord } from '../../../../shared/records/recordedFile.ts';
import { decodeStatements } from '../../../../shared/records/statements.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { Crash } from '../../../support/crashes.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { COLLATERAL, EXCHANGE, FACTORY, FakeExchange, RESOLUTIONS, TOKENS } from '../../../support/fakeExchange.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const SHARDS = 2;
const MEMBERS = 3;
const START_MS = 1_800_000_000_000;
const [OPERATOR, DEPLOYER, RESOLVER] = [7, 8, 9].map((secret) => chainKey(toHex(secret, { size: 32 })));

/** The members share the log, the chain, and journals, which are the same on every machine. */
class World {
  readonly random: Random;
  readonly engines: ProjectionRig;
  readonly chain: FakeChain<FakeExchange>;
  readonly log: FileRecord[] = [];
  /** Transactions whose bytes the log holds. */
  readonly held = new Set<string>();
  /** By key and nonce: the effect of its transactions. */
  readonly sent = new Map<string, string>();
  leader: Member | null = null;
  /** Steps of the leader until it ends: the log, and calls to the node, each before and after. */
  stepsLeft = Number.POSITIVE_INFINITY;
  nowMs = START_MS;
  takeovers = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.chain = new FakeChain(this.random, () => new FakeExchange());
    this.engines = new ProjectionRig({ shards: SHARDS, seed });
  }

  step(): void {
    if (--this.stepsLeft <= 0) throw new Crash();
  }

  take(record: FileRecord): void {
    assert.equal(record.sequence, this.log.length + 1, 'the stream has no gap');
    this.log.push({ sequence: record.sequence, bytes: Uint8Array.from(record.bytes) });
    for (const { sql, values } of decodeStatements(record.bytes).statements) {
      if (sql.startsWith('INSERT INTO envelope_attempts'))
        this.held.add(Buffer.from(values[4] as Buffer).toString('hex'));
    }
  }

  /** The node as a member sees it. */
  rpcOf(member: Member): Rpc {
    return {
      call: async (method, params) => {
        if (member === this.leader) this.step();
        if (method === 'eth_sendRawTransaction') await this.#send(member, params[0] as Hex);
        const answer = await this.chain.call(method, params);
        if (member === this.leader) this.step();
        return answer;
      },
    };
  }

  async #send(member: Member, bytes: Hex): Promise<void> {
    assert.equal(member, this.leader, 'whoever follows sends nothing');
    assert.ok(this.held.has(bytes.slice(2)), 'what is sent is held by the log');
    const { nonce, to, data } = parseTransaction(bytes);
    const from = await recoverTransactionAddress({ serializedTransaction: bytes as `0x02${string}` });
    const does = `${to} ${data}`;
    assert.equal(this.sent.get(`${from} ${nonce}`) ?? does, does, 'a nonce is used for one thing');
    this.sent.set(`${from} ${nonce}`, does);
  }

  close(): void {
    this.engines.close();
  }
}

class Member {
  readonly raw = openSettlementDb(':memory:');
  readonly #world: World;
  /** Given to the log, which has not taken it. */
  #waiting: FileRecord | null = null;
  #last: FileRecord | null = null;
  file!: SettlementFile;
  settlement!: Settlement;

  constructor(world: World) {
    this.#world = world;
    this.begin();
  }

  /** Its thread or its process has ended: it knows only what is in the file. */
  begin(): void {
    const world = this.#world;
    const memory = {
      held: () => world.log.length,
      state: () => (world.leader === this ? 'leader' : 'lost') as 'leader' | 'lost',
      bell: () => 0,
      waitForBell: () => this.#ship(),
    };
    this.file = new SettlementFile({ db: this.raw, memory, nowMs: () => world.nowMs });
    const { database: db, nowMs } = this.file;
    const { engines } = world;
    this.settlement = new Settlement({
      ...{ db, news: new News(db, nowMs), limits: { headAgeMs: 30_000, waitMs: 60_000 } },
      ...{ node: new ChainNode(world.rpcOf(this)), key: OPERATOR!, deployerKey: DEPLOYER!, resolverKey: RESOLVER! },
      chainId: 137,
      contracts: {
        exchange: EXCHANGE,
        marketFactory: FACTORY,
        usdc: COLLATERAL,
        conditionalTokens: TOKENS,
        resolutions: RESOLUTIONS,
      },
      ...{ mostFeeWei: 10n ** 15n, progress: engines.progress, journalPaths: engines.journalPaths, nowMs },
      keys: engines.journalPaths.map(() => TEST_KEY),
      follow: (shard, sequence) => this.file.follow(shard, sequence),
    });
    this.file.attach((shard, sequence) => this.settlement.derive(shard, sequence));
  }

  follow(): void {
    const { log, engines } = this.#world;
    for (const record of log.slice(this.file.sequence)) assert.ok(this.file.apply(record, engines.progress));
  }

  /** @param isRestarted its process led already, and only the thread has ended */
  lead(isRestarted: boolean): void {
    if (!isRestarted) {
      this.follow();
      this.#waiting = this.#last = null;
    }
    const put = (record: FileRecord): void => {
      this.#world.step();
      assert.ok(record.sequence > (this.#last?.sequence ?? 0), 'a record is given to the log once');
      this.#last = this.#waiting = record;
    };
    this.file.lead(put, this.#last, FORMATS.settlement.newest);
    this.settlement.lead();
  }

  /** The log takes what waits, as late as it can. */
  #ship(): void {
    const record = this.#waiting;
    this.#world.step();
    if (record !== null) this.#world.take(record);
    this.#waiting = null;
    this.#world.step();
  }

  rows(): unknown {
    const tables = declaredTables().filter((table) => !isLocalTable(table));
    const rowsOf = (table: string): unknown => this.raw.prepare(`SELECT * FROM ${table}`).all();
    return Object.fromEntries([...tables, 'sqlite_sequence'].map((table) => [table, rowsOf(table)]));
  }

  get left(): number {
    return this.raw.prepare<[], number>(`SELECT count(*) FROM work WHERE status <> 'settled'`).pluck().get()!;
  }

  close(): void {
    this.settlement.close();
    this.raw.close();
  }
}

class Cluster {
  readonly world: World;
  readonly members: Member[];

  constructor(seed: number) {
    this.world = new World(seed);
    this.members = Array.from({ length: MEMBERS }, () => new Member(this.world));
    this.world.leader = this.members[0]!;
    this.members[0]!.lead(false);
  }

  /** The leader has ended: its thread restarts, or another member leads, as often as that one ends as well. */
  #goOn(): void {
    const { world, members } = this;
    for (;;) {
      world.stepsLeft = world.random.chance(20) ? world.random.between(1, 8) : Number.POSITIVE_INFINITY;
      const before = world.leader!;
      before.settlement.close();
      before.begin();
      const isRestarted = world.random.chance(40);
      if (!isRestarted) {
        world.leader = members[world.random.below(MEMBERS)]!;
        world.takeovers++;
      }
      try {
        // A member that led and leads again has ended as a process in between.
        world.leader!.lead(isRestarted);
        return;
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
      }
    }
  }

  async step(): Promise<void> {
    const { world } = this;
    world.nowMs += 2000;
    try {
      await world.leader!.settlement.step();
    } catch (error) {
      if (error instanceof Crash) this.#goOn();
      else if (!(error instanceof NodeUnreachable)) throw error;
    }
    for (const member of this.members) if (member !== world.leader && world.random.chance(30)) member.follow();
  }

  close(): void {
    for (const member of this.members) member.close();
    this.world.close();
  }
}

function tradesOf({ engines }: World): Map<bigint, string> {
  const trades = new Map<bigint, string>();
  for (const [shard, path] of engines.journalPaths.entries()) {
    const reader = new JournalReader(path, TEST_KEY);
    reader.readFrom(new JournalHead(0, 0, 0), 1_000_000, ({ events }) => {
      for (const event of decodeEvents(events.words, events.word, events.end)) {
        if (event.name === 'FILL') trades.set(chainTradeId(shard, event.tradeSequence), String(event.lots * 100));
      }
    });
    reader.close();
  }
  return trades;
}

function byId([a]: [bigint, string], [b]: [bigint, string]): number {
  return a < b ? -1 : 1;
}

const SEEDS = timesOf({ suite: 2, soak: 12 });
const ROUNDS = timesOf({ suite: 5, soak: 25 });
const first = seedOr(1);

for (let seed = first; seed < first + SEEDS; seed++) {
  test(`whichever member ends, every trade settles once and all have the same rows, seed ${seed}`, async (t) => {
    const cluster = new Cluster(seed);
    t.after(() => cluster.close());
    const { world, members } = cluster;
    const { random, chain } = world;
    const most = ROUNDS * 20 + 1500;
    let rounds = 0;
    for (let steps = 0; rounds < ROUNDS || world.leader!.left > 0 || steps < 10; steps++) {
      assert.ok(steps < most, `${world.leader!.left} trades and movements are left after ${steps} steps`);
      if (rounds < ROUNDS && random.chance(25)) {
        world.engines.trade(40);
        if (++rounds === ROUNDS) world.engines.decide(1_000_000);
      }
      const isCalm = steps > most / 2;
      chain.faults = !isCalm && random.chance(50) ? random.below(12) : 0;
      if (!isCalm && random.chance(25)) world.stepsLeft = random.between(1, 60);
      await cluster.step();
      if (random.chance(3)) chain.forget();
      if (random.chance(80)) chain.mine(random.between(1, 4));
      if (!isCalm && random.chance(3)) chain.reorganise(random.between(1, 20));
    }
    const expected = tradesOf(world);
    assert.ok(world.takeovers > 1 && expected.size > 10, `${world.takeovers} takeovers, ${expected.size} trades`);
    const settled = [...chain.contract.trades].map(([id, text]): [bigint, string] => [id, text.split(' ')[0]!]);
    assert.deepEqual(new Map(settled.toSorted(byId)), new Map([...expected].toSorted(byId)));
    for (const member of members) if (member !== world.leader) member.follow();
    const [rows, ...others] = members.map((member) => member.rows());
    for (const other of others) assert.deepEqual(other, rows);
  });
}

test('every table of settlement.db is declared', (t) => {
  const world = new World(1);
  const member = new Member(world);
  t.after(() => {
    member.close();
    world.close();
  });
  const sql = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`;
  assert.deepEqual(member.raw.prepare(sql).pluck().all(), [...declaredTables()].sort());
});
