/** The one state that shards share: available USDC (RULES.md 3.2). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { MAX_ACCOUNTS, MOVEMENT, SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { accountOf, type Race } from '../../../support/debitRace.ts';
import { errorKey } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { Random } from '../../../support/random.ts';

for (const shards of [1, 2]) {
  describe(`what an account can spend, of ${shards} shard(s)`, () => {
    it('gives exactly the balance, and refuses one micro-dollar more', () => {
      const balances = new Balances(createBalances(shards));
      balances.credit(1, 100);
      assert.equal(balances.tryDebit(1, 101), false);
      assert.equal(balances.availableMicro(1), 100);
      assert.equal(balances.tryDebit(1, 100), true);
      assert.equal(balances.tryDebit(1, 1), false);
      assert.equal(balances.tryDebit(1, 0), true);
      assert.equal(balances.availableMicro(1), 0);
    });

    it('holds any safe integer, below zero only where nothing is checked', () => {
      const balances = new Balances(createBalances(shards));
      const last = MAX_ACCOUNTS - 1;
      balances.credit(last, Number.MAX_SAFE_INTEGER);
      assert.equal(balances.availableMicro(last), Number.MAX_SAFE_INTEGER);
      balances.debit(0, Number.MAX_SAFE_INTEGER);
      assert.equal(balances.availableMicro(0), -Number.MAX_SAFE_INTEGER);
      assert.equal(balances.tryDebit(0, 1), false);
      assert.equal(balances.availableMicro(1), 0);
    });
  });
}

describe('the memory of the cells', () => {
  const SEED = 20;
  const PART = 8192;
  const accounts = [0, 1, PART - 1, PART, 2 * PART - 1, 2 * PART, 2 ** 20 - 1, 2 ** 20, 2 ** 24, 2 ** 24 + 1];
  for (const shards of [1, 2, 3, 64]) {
    it(`of ${shards} shard(s) is that of a Map, for any account there may be (seed ${SEED})`, () => {
      const random = new Random(SEED + shards);
      const memory = createBalances(shards);
      const writers = Array.from({ length: Math.min(shards, 3) }, (_, each) => new Balances(memory, shards - 1 - each));
      const twin = new Map<number, number>();
      const ofWriter = writers.map(() => new Map<number, number>());
      const all = [...accounts, MAX_ACCOUNTS - 2, MAX_ACCOUNTS - 1];
      for (let step = 0; step < 20_000; step++) {
        const account = all[random.below(all.length)];
        const at = random.below(writers.length);
        const micro = random.below(1000);
        const available = twin.get(account) ?? 0;
        assert.equal(writers[at].availableMicro(account), available, `account ${account} at ${step}`);
        const isCredit = random.below(2) === 0;
        if (isCredit) writers[at].credit(account, micro);
        else assert.equal(writers[at].tryDebit(account, micro), micro <= available, `account ${account} at ${step}`);
        const delta = isCredit ? micro : micro <= available ? -micro : 0;
        twin.set(account, available + delta);
        ofWriter[at].set(account, (ofWriter[at].get(account) ?? 0) + delta);
      }
      // A shard that comes back without knowing any account takes its part out, and only its own.
      new Balances(memory, shards - 1).restore(new Float64Array(64));
      for (const account of all) {
        const left = (twin.get(account) ?? 0) - (ofWriter[0].get(account) ?? 0);
        assert.equal(writers[0].availableMicro(account), left, `account ${account} without a shard`);
      }
      assert.throws(() => writers[0].credit(MAX_ACCOUNTS, 1), { message: /an account has a cell/ });
    });
  }

  it('is made for what a shard recovers, over as many parts as that has', () => {
    for (const shards of [1, 2]) {
      const memory = createBalances(shards);
      const netMicro = new Float64Array(4 * PART);
      const last = 3 * PART + 1;
      for (const account of [1, PART, last]) netMicro[account] = account;
      new Balances(memory, shards - 1).restore(netMicro);
      const read = new Balances(memory);
      for (const account of [1, PART, last]) assert.equal(read.availableMicro(account), account, `account ${account}`);
      assert.equal(read.availableMicro(last + 1), 0);
    }
  });

  it('takes memory only for the cells that are used', () => {
    const before = process.memoryUsage.rss();
    const memory = createBalances(64);
    new Balances(memory, 63).credit(MAX_ACCOUNTS - 1, 1);
    const taken = process.memoryUsage.rss() - before;
    assert.ok(taken < 2 ** 26, `${taken} bytes for one account, of ${memory.byteLength} reserved`);
  });
});

describe('threads after the same last dollar', () => {
  for (const [workers, money, winners] of [
    [2, 1, 1],
    [3, 2, 2],
  ] as const) {
    it(`${workers} want it where it is there for ${winners}: exactly ${winners} get it, in every round`, async () => {
      const rounds = 5000;
      const micro = 1_000_000;
      const race: Omit<Race, 'shard'> = {
        balances: createBalances(workers),
        gates: new SharedArrayBuffer(rounds * 4),
        wins: new SharedArrayBuffer(rounds * 4),
        workers,
        rounds,
        micro,
      };
      const balances = new Balances(race.balances);
      for (let round = 0; round < rounds; round++) {
        balances.credit(accountOf(round), micro * money + (micro - 1));
      }
      const url = new URL('../../../support/debitRace.ts', import.meta.url);
      const ends = Array.from({ length: workers }, (_, shard) => {
        const worker = new Worker(url, { workerData: { ...race, shard } });
        return new Promise<void>((resolve, reject) => worker.once('error', reject).once('exit', () => resolve()));
      });
      await Promise.all(ends);
      assert.deepEqual(new Set(new Int32Array(race.wins)), new Set([winners]));
      for (let round = 0; round < rounds; round++) {
        assert.equal(balances.availableMicro(accountOf(round)), micro - 1);
      }
    });
  }
});

describe('two shards over one account', () => {
  /** Account 1 has what one default order takes, deposited in the first shard and durable. */
  function twoShards(): [EngineRig, EngineRig] {
    const cells = createBalances(2);
    const shard = (index: number): EngineRig => new EngineRig({ balances: new Balances(cells, index) });
    const shards: [EngineRig, EngineRig] = [shard(0), shard(1)];
    for (const rig of shards) rig.market(0, { feeBps: 0 });
    shards[0].fund(1, 500_000);
    return shards;
  }
  const place = (shard: EngineRig, more = {}): string => errorKey(shard.place({ feeBps: 0, ...more }).reply.code);

  it('the second reservation of the same money is refused, until the first is given back', () => {
    const [first, second] = twoShards();
    const { hash } = second.place({ feeBps: 0 });
    assert.equal(place(first), 'INSUFFICIENT_BALANCE');
    second.cancel(1, hash);
    assert.equal(place(first), 'OK');
    assert.equal(place(second), 'INSUFFICIENT_BALANCE');
  });

  it('a credit is spent only in its own shard before its record is durable', () => {
    const [first, second] = twoShards();
    const { hash } = first.place({ feeBps: 0 });
    first.commitsAtOnce = false;
    first.cancel(1, hash);
    assert.equal(place(second), 'INSUFFICIENT_BALANCE', 'a crash could still take the cancel back');
    assert.equal(place(first, { lots: 10_000, ticks: 20 }), 'OK', 'both would go or stay together');
    first.commit();
    assert.equal(place(second, { ticks: 30 }), 'OK');
    assert.equal(place(second, { lots: 10_000, ticks: 1 }), 'INSUFFICIENT_BALANCE');
  });

  it('a debit takes its own pending credits first and the rest from the cell, or nothing at all', () => {
    const [first, second] = twoShards();
    first.commitsAtOnce = false;
    first.fund(1, 100_000);
    assert.equal(place(first, { ticks: 61 }), 'INSUFFICIENT_BALANCE');
    assert.equal(first.usdc(1).available, 500_000);
    assert.equal(place(first, { ticks: 60 }), 'OK');
    first.commit();
    assert.equal(first.usdc(1).available, 0);
    assert.equal(second.fund(1, 1, MOVEMENT.WITHDRAWAL).reply.code, E.INSUFFICIENT_BALANCE);
  });

  it('money that another shard took between the check and the reservation is missing, and nothing has changed', () => {
    const [first, second] = twoShards();
    const { balances } = first;
    const tryDebit = balances.tryDebit.bind(balances);
    const rows = first.journal.rows.length;
    balances.tryDebit = (account, micro) => {
      balances.tryDebit = tryDebit;
      assert.equal(second.place({ feeBps: 0 }).reply.code, OK);
      return tryDebit(account, micro);
    };
    const { reply, types } = first.place({ feeBps: 0 });
    assert.deepEqual(reply, { code: E.INSUFFICIENT_BALANCE, sequence: 0, a: 500_000, b: 0, c: 0 });
    assert.deepEqual(types, [EVENT.REPLY.TYPE]);
    assert.equal(first.journal.rows.length, rows);
    assert.equal(first.usdc(1).reserved, 0);
  });

  it('the proceeds of a sale in one shard can be spent in the other', () => {
    const [first, second] = twoShards();
    first.fund(2, 1_000_000);
    second.convert(2, 0, 1_000_000);
    assert.equal(second.place({ account: 2, side: SIDE.SELL, feeBps: 0 }).reply.code, OK);
    second.place({ account: 1, feeBps: 0 });
    assert.equal(place(first, { account: 2 }), 'OK');
    assert.deepEqual(second.engine.state.ledger.netMicro[2], -500_000);
    assert.equal(first.usdc(2).available, 0);
  });
});

describe('a shard that is rebuilt over the cells it left behind', () => {
  const POOR = 1;
  /** Beyond the columns of a shard that does not know it. */
  const FAR = 5000;

  function twoShards(): [EngineRig, EngineRig] {
    const cells = createBalances(2);
    const shards: [EngineRig, EngineRig] = [
      new EngineRig({ balances: new Balances(cells, 0) }),
      new EngineRig({ balances: new Balances(cells, 1) }),
    ];
    shards[1].market(0, { feeBps: 0 });
    for (const account of [POOR, FAR]) shards[0].fund(account, 500_000);
    return shards;
  }

  for (const account of [POOR, FAR]) {
    it(`gives account ${account} back the money taken for records that never became durable`, () => {
      const [first, second] = twoShards();
      const durable = second.journal.copy();
      second.commitsAtOnce = false;
      assert.equal(second.place({ account, feeBps: 0 }).reply.code, OK);
      assert.equal(first.usdc(account).available, 0);
      const rebuilt = second.recovered({ balances: second.balances, journal: durable });
      assert.equal(first.usdc(account).available, 500_000);
      assert.equal(rebuilt.place({ account, feeBps: 0 }).reply.code, OK);
      assert.equal(first.usdc(account).available, 0);
    });
  }

  it('hands out what had become durable and was not handed out yet', () => {
    const [first, second] = twoShards();
    first.commitsAtOnce = false;
    first.fund(POOR, 100_000);
    assert.equal(second.usdc(POOR).available, 500_000);
    first.recovered({ balances: first.balances });
    assert.equal(second.usdc(POOR).available, 600_000);
  });

  it('changes nothing where all was told, however often it comes back', () => {
    const [first, second] = twoShards();
    second.place({ account: POOR, ticks: 30, feeBps: 0 });
    for (let time = 0; time < 3; time++) {
      second.recovered({ balances: second.balances });
      assert.equal(first.usdc(POOR).available, 200_000);
    }
  });

  it('gives the same cells to a start from nothing', () => {
    const [first, second] = twoShards();
    second.place({ account: POOR, ticks: 30, feeBps: 0 });
    const cells = createBalances(2);
    // Its own net is negative until the other publishes the deposits there.
    second.recovered({ balances: new Balances(cells, 1) });
    assert.equal(new Balances(cells).availableMicro(POOR), -300_000);
    first.recovered({ balances: new Balances(cells, 0) });
    assert.equal(new Balances(cells).availableMicro(POOR), 200_000);
  });
});
