/** The dead-man's switch (RULES.md 7.8) on a clock of the test, over the real control.db. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Outbox } from '../../../../gateway/shardlink/outbox.ts';
import type { ReplyHandler } from '../../../../gateway/shardlink/reply.ts';
import { ArmedSwitches } from '../../../../gateway/trading/armedSwitchesStore.ts';
import { DeadMansSwitch, WINDOW_MS } from '../../../../gateway/trading/deadMansSwitch.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { OwingShards, reply } from '../../../support/owingShards.ts';

const LOOK_MS = 250;
const SHARDS = 2;

type Asked = { shard: number; account: number; answer: (code: number, cancelled?: number) => void };

/** Two shards that answer when the test says so. */
class Shards extends OwingShards {
  readonly away = new Set<number>();
  asked: Asked[] = [];

  constructor() {
    super(SHARDS);
  }

  cancelMany<C>(shard: number, account: number, _: number, handler: ReplyHandler<C>, context: C): number {
    if (this.away.has(shard)) return E.ENGINE_BUSY;
    const answer = (code: number, cancelled = 0) => reply(handler, context, shard, code, cancelled);
    this.asked.push({ shard, account, answer });
    return OK;
  }

  /** Cancels sent since the last look: "account@shard". */
  take(): string[] {
    const asked = this.asked.map(({ shard, account }) => `${account}@${shard}`);
    this.asked = [];
    return asked;
  }

  answerAll(): string[] {
    for (const { answer } of this.asked) answer(OK, 3);
    return this.take();
  }
}

class Scene {
  readonly clock = new ManualClock(1_790_000_000_000);
  shards = new Shards();
  readonly store: ArmedSwitches;
  isServing = true;
  isAccepting = true;
  /** Accounts whose window has ended. */
  readonly triggered: number[] = [];
  deadMansSwitch: DeadMansSwitch;

  constructor(database: ControlDatabase) {
    this.store = new ArmedSwitches(database);
    this.deadMansSwitch = this.restarted();
  }

  restarted(): DeadMansSwitch {
    const { away, asked } = this.shards;
    this.shards = Object.assign(new Shards(), { away, asked });
    this.deadMansSwitch = new DeadMansSwitch({
      outbox: new Outbox(SHARDS, this.shards),
      engine: this.shards,
      store: this.store,
      clock: this.clock,
      log: createLogger('silent'),
      isServing: () => this.isServing,
      isAccepting: () => this.isAccepting,
      onTriggered: (account) => this.triggered.push(account),
    });
    this.deadMansSwitch.start();
    return this.deadMansSwitch;
  }

  /** The accounts that control.db has as armed, and as triggered. */
  kept(): number[][] {
    return [this.store.armed(), this.store.triggered()];
  }

  /** Time passes, with a look every quarter of a second. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= LOOK_MS) {
      this.clock.advance(Math.min(left, LOOK_MS));
      this.deadMansSwitch.tick();
      this.shards.pay();
    }
  }
}

function scene(t: TestContext): Scene {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const user = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };
  for (let index = 0; index < 3; index++) accounts.signUp(user, 0);
  return new Scene(database);
}

test('an account that never sent a heartbeat is never cancelled', (t) => {
  const { shards, ...rest } = scene(t);
  assert.equal(rest.deadMansSwitch.armed, 0);
  for (let look = 0; look < 200; look++) {
    rest.clock.advance(LOOK_MS);
    rest.deadMansSwitch.tick();
  }
  assert.deepEqual(shards.take(), []);
});

test('the window ends 15 seconds after the last heartbeat, not before, on every shard, once', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS - LOOK_MS);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
  it.pass(4 * WINDOW_MS);
  assert.deepEqual(it.shards.take(), []);
  assert.deepEqual([it.deadMansSwitch.triggered, it.deadMansSwitch.cancelledOrders], [1, 6]);
  assert.equal(it.triggered.length, 1);
});

test('a heartbeat between two looks has its whole window', (t) => {
  const it = scene(t);
  it.clock.advance(200);
  it.deadMansSwitch.beat(1);
  it.clock.advance(50);
  it.deadMansSwitch.tick();
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.take(), ['1@0', '1@1']);
});

test('accounts are judged each by its own last heartbeat', (t) => {
  const it = scene(t);
  for (const account of [1, 2, 3]) {
    it.deadMansSwitch.beat(account);
    it.pass(1000);
  }
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS - 1000);
  assert.deepEqual(it.shards.answerAll(), ['2@0', '2@1', '3@0', '3@1']);
  it.pass(1000);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
});

test('the cancellation disarms, and the next heartbeat arms again', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  assert.deepEqual(it.kept(), [[1], []]);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.kept(), [[], [1]], 'triggered until every shard has done it');
  it.shards.answerAll();
  assert.deepEqual([it.kept(), it.deadMansSwitch.armed], [[[], []], 0]);
  it.deadMansSwitch.beat(1);
  assert.deepEqual(it.kept(), [[1], []]);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
});

test('a shard that is away or lost is asked until it has cancelled, the other only once', (t) => {
  const it = scene(t);
  it.shards.away.add(1);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS + 5000);
  assert.deepEqual(it.shards.answerAll(), ['1@0']);
  it.shards.away.clear();
  it.pass(LOOK_MS);
  it.shards.asked[0].answer(E.OUTCOME_UNKNOWN);
  assert.deepEqual(it.shards.take(), ['1@1']);
  assert.deepEqual(it.kept(), [[], [1]]);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@1']);
  assert.deepEqual(it.kept(), [[], []]);
});

test('a heartbeat while the cancellation goes on arms anew and stays armed when it is done', (t) => {
  const it = scene(t);
  it.shards.away.add(1);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  it.shards.answerAll();
  it.deadMansSwitch.beat(1);
  it.shards.away.clear();
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@1']);
  assert.deepEqual([it.kept(), it.deadMansSwitch.armed], [[[1], []], 1]);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
  assert.deepEqual(it.kept(), [[], []]);
});

test('a silence while an earlier one is being cancelled: triggered until the shards have carried out the last', (t) => {
  const it = scene(t);
  it.shards.away.add(1);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0']);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0']);
  it.shards.away.clear();
  it.pass(LOOK_MS);
  const [{ answer }] = it.shards.asked as [Asked];
  assert.deepEqual(it.shards.take(), ['1@1'], 'one cancel is for both');
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  answer(OK, 3);
  assert.deepEqual(it.kept(), [[], [1]], 'the cancel of the third silence is not carried out yet');
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
  assert.deepEqual(it.kept(), [[], []]);
  assert.equal(it.deadMansSwitch.cancelledOrders, 15, 'the first shard three times, the other twice');
  assert.equal(it.deadMansSwitch.triggered, 3);
});

test('after a restart an armed switch has a full window', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS - LOOK_MS);
  it.clock.advance(3_600_000);
  it.restarted();
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
});

test('a restart goes on with an unfinished cancellation at once, and repeats none that has ended (DEADMAN-2)', (t) => {
  const it = scene(t);
  for (const account of [1, 2, 3]) it.deadMansSwitch.beat(account);
  it.pass(WINDOW_MS);
  // Account 1 is done on shard 0 only, account 2 everywhere, account 3 nowhere; it has sent a heartbeat since.
  for (const { account, shard, answer } of it.shards.asked)
    if (account === 2 || (account === 1 && shard === 0)) answer(OK);
  it.shards.take();
  it.deadMansSwitch.beat(3);
  it.restarted();
  assert.deepEqual(it.shards.answerAll(), ['1@1', '3@0', '3@1'], 'before anything else, where it was not done');
  assert.deepEqual(it.kept(), [[3], []]);
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['3@0', '3@1']);
});

test('a shard that has cancelled keeps what was placed since over a restart, until the next silence', (t) => {
  const it = scene(t);
  it.shards.away.add(1);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0']);
  it.restarted();
  assert.deepEqual(it.shards.take(), [], 'shard 0 has done it, and shard 1 is away');
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.take(), ['1@0'], 'the second silence is for every shard');
  it.restarted();
  it.shards.away.clear();
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0', '1@1']);
  assert.deepEqual(it.kept(), [[], []]);
  it.restarted();
  assert.deepEqual(it.shards.take(), []);
});

test('a switch that could not be kept as triggered cancels all the same', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  const trigger = t.mock.method(it.store, 'trigger', () => {
    throw new Error('SQLITE_FULL');
  });
  it.pass(WINDOW_MS);
  assert.equal(trigger.mock.callCount(), 1);
  assert.deepEqual(
    [it.kept(), it.shards.answerAll()],
    [
      [[1], []],
      ['1@0', '1@1'],
    ],
  );
  assert.deepEqual(it.kept(), [[], []]);
});

test('no window ends while heartbeats are refused', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS - 1000);
  it.isServing = false;
  it.pass(10 * WINDOW_MS);
  assert.deepEqual(it.shards.take(), []);
  it.isServing = true;
  it.pass(1000 - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.take(), ['1@0', '1@1']);
});

test('no window ends while good heartbeats are refused, and each begins anew after that', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  it.pass(1000);
  it.deadMansSwitch.beat(2);
  it.pass(WINDOW_MS - 2000);
  it.isAccepting = false;
  it.pass(10 * WINDOW_MS);
  assert.deepEqual(it.shards.take(), []);
  it.isAccepting = true;
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), [], 'what was sent meanwhile was lost');
  it.pass(2 * LOOK_MS);
  assert.deepEqual(it.shards.take(), ['1@0', '1@1', '2@0', '2@1']);
});

test('while good heartbeats are refused a cancellation that has begun goes on', (t) => {
  const it = scene(t);
  it.shards.away.add(1);
  it.deadMansSwitch.beat(1);
  it.pass(WINDOW_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@0']);
  it.isAccepting = false;
  it.shards.away.clear();
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.answerAll(), ['1@1']);
});

test('a sign of life keeps an armed switch as a heartbeat does, and arms none', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  for (const account of [1, 2]) it.deadMansSwitch.refusedBeat(account);
  assert.equal(it.deadMansSwitch.armed, 1);
  it.pass(WINDOW_MS - LOOK_MS);
  it.deadMansSwitch.refusedBeat(1);
  it.pass(WINDOW_MS - LOOK_MS);
  assert.deepEqual(it.shards.take(), []);
  it.pass(LOOK_MS);
  assert.deepEqual(it.shards.take(), ['1@0', '1@1']);
});

test('no window ends because this process slept or its clock was moved', (t) => {
  const it = scene(t);
  it.deadMansSwitch.beat(1);
  for (const stepMs of [60_000, -120_000, 86_400_000]) {
    it.clock.advance(stepMs);
    it.deadMansSwitch.tick();
    it.pass(1000);
  }
  assert.deepEqual(it.shards.take(), []);
  it.pass(WINDOW_MS - 3000);
  assert.deepEqual(it.shards.take(), ['1@0', '1@1']);
});

test('an account whose arming could not be kept is not armed, and its heartbeat fails', (t) => {
  const it = scene(t);
  const unknownAccount = 99;
  assert.throws(() => it.deadMansSwitch.beat(unknownAccount), /FOREIGN KEY/);
  assert.equal(it.deadMansSwitch.armed, 0);
});

test('a heartbeat within the window writes nothing: the switch is armed already', (t) => {
  const it = scene(t);
  const arm = t.mock.method(it.store, 'arm');
  it.deadMansSwitch.beat(1);
  it.pass(5000);
  it.deadMansSwitch.beat(1);
  assert.equal(arm.mock.callCount(), 1);
  it.shards.away.add(1);
  it.pass(WINDOW_MS);
  it.deadMansSwitch.beat(1);
  assert.equal(arm.mock.callCount(), 2, 'it was triggered meanwhile');
});
