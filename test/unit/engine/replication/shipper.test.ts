/** A leader's rows on their way into a log whose answers are late, lost or of unknown outcome. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TakesNoRowsError } from '../../../../engine/replication/log.ts';
import { Shipper } from '../../../../engine/replication/shipper.ts';
import type { NewRow } from '../../../../shared/wire/replication.ts';
import { FakeDatabase } from '../../../support/fakeDatabase.ts';
import { FakeLog } from '../../../support/fakeLog.ts';
import { ManualTiming, promisesKept } from '../../../support/manualTiming.ts';
import { Random } from '../../../support/random.ts';
import { newRow } from '../../../support/replicatedLog.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

/** Statements take so long that the lease of the fake database plays no part in these tests. */
class Rig {
  readonly timing = new ManualTiming();
  readonly database = new FakeDatabase(() => this.timing.nowMs());
  readonly log = new FakeLog(this.database, 'a');
  readonly held: NewRow[] = [];
  readonly lost: string[] = [];
  /** SHIPPER-2. Positions that were reported before a standby had them. */
  readonly early: number[] = [];
  problem: string | null = null;
  shipper!: Shipper;

  async lead(): Promise<this> {
    const taking = this.log.take(true);
    await this.settle();
    const { epoch, end } = (await taking)!;
    this.shipper = new Shipper({
      log: this.log,
      timing: this.timing,
      epoch,
      end,
      onHeld: (rows, position) => {
        this.held.push(...rows);
        if (position > this.database.held) this.early.push(position);
      },
      onLost: (reason) => this.lost.push(reason),
      onProblem: (problem) => {
        this.problem = problem;
      },
    });
    return this;
  }

  /** Everything works for a while. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 30; turns++) {
      await promisesKept();
      this.log.settle();
      this.database.replicate(0);
      this.timing.advance(20);
    }
    await promisesKept();
  }

  add(...sequences: readonly number[]): void {
    this.shipper.add(sequences.map((sequence) => newRow(0, sequence)));
  }

  get heldSequences(): readonly number[] {
    return this.held.map(({ sequence }) => sequence);
  }

  get logged(): readonly number[] {
    return this.database.readAfter(0, 1 << 20).map(({ sequence }) => sequence);
  }
}

test('rows that are refused are tried again after pauses, and the problem stays until they are held', async () => {
  const rig = await new Rig().lead();
  const { append } = rig.log;
  let tries = 0;
  rig.log.append = async () => {
    tries++;
    throw new TakesNoRowsError('one:5432', 'its disk is full');
  };
  rig.add(1, 2);
  const startMs = rig.timing.nowMs();
  const problems = new Set<string | null>();
  for (let turn = 0; turn < 10; turn++) {
    await rig.settle();
    problems.add(rig.problem);
    assert.equal(rig.shipper.isRefused, true);
  }
  // Each try is followed by a look at the log, and a pause of 100 ms.
  assert.ok(tries > 10 && tries <= (rig.timing.nowMs() - startMs) / 100, `${tries} tries`);
  assert.deepEqual([...problems], ['one:5432 takes no rows: its disk is full']);
  rig.log.append = append;
  await rig.settle();
  assert.deepEqual([rig.heldSequences, rig.problem, rig.shipper.isRefused], [[1, 2], null, false]);
});

test('SHIPPER-2: rows are held once a standby has them, in order and once', async () => {
  const rig = await new Rig().lead();
  rig.add(1, 2);
  await promisesKept();
  rig.log.serve('write');
  rig.log.settle();
  await promisesKept();
  assert.deepEqual(rig.held, [], 'the primary alone has them');
  rig.database.replicate(1);
  rig.log.settle();
  await promisesKept();
  assert.deepEqual(rig.heldSequences, [1, 2]);
  assert.deepEqual([rig.shipper.waitingRows, rig.shipper.waitingBytes], [0, 0]);
});

test('SHIPPER-2: a commit with a warning counts only when a later one has waited', async () => {
  const rig = await new Rig().lead();
  rig.add(1);
  await promisesKept();
  rig.log.serve('write');
  assert.equal(rig.log.cancel(), true);
  rig.log.settle();
  await promisesKept();
  assert.deepEqual([rig.logged, rig.held], [[1], []], 'it is in the log, on one machine');
  assert.match(rig.problem!, /standbys/);
  rig.log.settle();
  await promisesKept();
  assert.deepEqual(rig.held, [], 'nor while the commit behind it waits');
  await rig.settle();
  assert.deepEqual([rig.heldSequences, rig.problem], [[1], null]);
});

test('SHIPPER-1: an append whose answer was lost is not made twice, whenever it arrives', async () => {
  for (const arrives of ['before', 'between', 'after', 'never'] as const) {
    const rig = await new Rig().lead();
    rig.add(1, 2, 3);
    await promisesKept();
    if (arrives === 'before') rig.log.serve('write');
    rig.log.cut('write', arrives !== 'never');
    await promisesKept();
    if (arrives === 'between') rig.log.serveLate();
    rig.add(4);
    await rig.settle();
    if (arrives === 'after') rig.log.serveLate();
    await rig.settle();
    assert.deepEqual(
      [rig.logged, rig.heldSequences],
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
      arrives,
    );
    assert.deepEqual(rig.lost, [], arrives);
  }
});

test('SHIPPER-3: nothing is appended after an unknown outcome before the log was read', async () => {
  const calls: string[] = [];
  const answers: (() => void)[] = [];
  const asked = <T>(name: string, answer: T | Error): Promise<T> => {
    calls.push(name);
    return new Promise((resolve, reject) => {
      answers.push(() => (answer instanceof Error ? reject(answer) : resolve(answer)));
    });
  };
  let isFirst = true;
  const shipper = new Shipper({
    log: {
      append: (_epoch, after) => {
        const answer = isFirst ? new Error('no answer') : true;
        isFirst = false;
        return asked(`append after ${after}`, answer);
      },
      resolve: (_epoch, lastHeld) =>
        asked(`resolve after ${lastHeld}`, { isLeader: true, hasLastHeld: true, rows: [] }),
    },
    timing: new ManualTiming(),
    epoch: 1,
    end: 0,
    onHeld: () => {},
    onLost: assert.fail,
    onProblem: () => {},
  });
  shipper.add([newRow(0, 1)]);
  await promisesKept();
  answers.shift()!();
  await promisesKept();
  shipper.add([newRow(0, 2)]);
  await promisesKept();
  assert.deepEqual(calls, ['append after 0', 'resolve after 0']);
  answers.shift()!();
  await promisesKept();
  assert.deepEqual(calls, ['append after 0', 'resolve after 0', 'append after 0']);
  shipper.end();
});

const CONTRADICTIONS = [
  ['another leads', (rig: Rig) => rig.database.take({}, 'b', '', true), /another process leads/],
  ['a held row is lost', (rig: Rig) => rig.database.failOver('other'), /has lost the row at position 2/],
  [
    'another row is in its place',
    (rig: Rig) => {
      rig.database.append({}, { epoch: 1, lead: 1 }, 2, [newRow(0, 9)]);
      rig.database.replicate(0);
    },
    /another row at position 3/,
  ],
] as const;

for (const [what, contradict, reason] of CONTRADICTIONS) {
  test(`SHIPPER-4: when ${what}, nothing is appended or reported any more`, async () => {
    // The next append finds two of them.
    const isFoundOut = what.startsWith('another row');
    const rig = await new Rig().lead();
    rig.database.replicate(1);
    rig.add(1, 2);
    await rig.settle();
    contradict(rig);
    await rig.settle();
    const end = rig.database.end;
    if (isFoundOut) rig.shipper.doubt();
    rig.add(3);
    await rig.settle();
    rig.add(4);
    await rig.settle();
    assert.match(rig.lost.join(), reason);
    assert.deepEqual([rig.lost.length, rig.database.end, rig.heldSequences, rig.early], [1, end, [1, 2], []]);
  });
}

test('SHIPPER-4: a row that another epoch has added in the same place is another row', async () => {
  const lost: string[] = [];
  const shipper = new Shipper({
    log: {
      append: () => Promise.resolve(false),
      resolve: async () => ({
        isLeader: true,
        hasLastHeld: true,
        rows: [{ position: 1, epoch: 2, lead: 2, stream: 0, sequence: 1 }],
      }),
    },
    timing: new ManualTiming(),
    epoch: 1,
    end: 0,
    onHeld: assert.fail,
    onLost: (reason) => lost.push(reason),
    onProblem: () => {},
  });
  shipper.add([newRow(0, 1)]);
  await promisesKept();
  assert.deepEqual(lost, ['the log has another row at position 1 than this process has sent']);
});

const seed = seedOr(1);
test(`rows get into the log once and in order, whatever becomes of answers and servers (seed ${seed})`, async () => {
  for (let world = 0; world < timesOf({ suite: 40, soak: 2000 }); world++) {
    const random = new Random(seed + world);
    const rig = await new Rig().lead();
    let added = 0;
    for (let step = 0; step < 300; step++) {
      const dice = random.below(100);
      if (dice < 20) rig.add(++added);
      else if (dice < 45) rig.log.serve('write');
      else if (dice < 65) rig.log.deliver('write');
      else if (dice < 85) rig.database.replicate(random.chance(50) ? 0 : 1, 1 + random.below(3));
      else if (dice < 89) rig.log.serveLate();
      else if (dice < 93) rig.log.cut('write', random.chance(70));
      else if (dice < 96) rig.log.cancel();
      else if (dice < 98) rig.timing.advance(random.below(300));
      // Two in a row end a lead (MAYTAKE-2).
      else if (dice < 99 && rig.log.ledOn === rig.database.run) rig.database.failOver();
      await promisesKept();
    }
    await rig.settle();
    const all = Array.from({ length: added }, (_, index) => index + 1);
    assert.deepEqual([rig.lost, rig.early, rig.heldSequences, rig.logged], [[], [], all, all], `world ${world}`);
  }
});
