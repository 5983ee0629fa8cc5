/** Books and replays (RULES.md 8.7): a turn has its share of them, and so has every owner of connections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CatchingUp, CatchUps } from '../../../../gateway/stream/catchUps.ts';
import { ANONYMOUS, ReplayBudgets } from '../../../../gateway/stream/replayBudgets.ts';
import { SendBuffers } from '../../../../gateway/stream/sendBuffers.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const STEPS_A_TURN = 8;

/** Has this many steps left, each with this many bytes. */
class Reader implements CatchingUp {
  readonly owner: string;
  readonly isAnonymous = true;
  stepsLeft: number;
  error: unknown = null;
  readonly #bytes: number;

  constructor(owner: string, steps: number, bytes = 1) {
    this.owner = owner;
    this.stepsLeft = steps;
    this.#bytes = bytes;
  }

  get canStep(): boolean {
    return this.stepsLeft > 0;
  }

  step(): number {
    assert.ok(this.canStep);
    this.stepsLeft--;
    return this.#bytes;
  }

  failed(error: unknown): void {
    this.error = error;
  }
}

/** Steps that take no time by the stopwatch. */
const atOnce = (clock = new ManualClock(0)): CatchUps =>
  new CatchUps(
    () => clock.nowMs(),
    () => false,
    () => 0,
  );

test('a turn of the event loop takes so many steps, and the next turn goes on', async () => {
  const catchUps = atOnce();
  const readers = [new Reader('a', 6), new Reader('b', 6), new Reader('c', 6)];
  for (const reader of readers) catchUps.serve(reader);
  const left = (): number => readers.reduce((sum, { stepsLeft }) => sum + stepsLeft, 0);
  assert.equal(left(), 18 - STEPS_A_TURN);
  await nextTurn();
  assert.equal(left(), 18 - 2 * STEPS_A_TURN);
  await nextTurn();
  assert.equal(left(), 0);
});

test('a turn ends early when its steps take long, and has at least one', async () => {
  const stepMs = 0.2;
  let stopwatchMs = 0;
  const catchUps = new CatchUps(
    () => 0,
    () => false,
    () => stopwatchMs,
  );
  const reader = new Reader('slow', 10);
  const step = reader.step.bind(reader);
  reader.step = () => {
    stopwatchMs += stepMs;
    return step();
  };
  catchUps.serve(reader);
  assert.equal(reader.stepsLeft, 8, 'the second step has passed 0.3 ms');
  await nextTurn();
  assert.equal(reader.stepsLeft, 6);
  const costly = new Reader('costly', 1);
  costly.step = () => {
    stopwatchMs += 1000;
    costly.stepsLeft--;
    return 1;
  };
  catchUps.serve(costly);
  await nextTurn();
  assert.deepEqual([reader.stepsLeft, costly.stepsLeft], [5, 0], 'a step that is too long has its turn as well');
});

test('a step that throws ends its connection, and the others go on', async () => {
  const catchUps = atOnce();
  const [broken, other] = [new Reader('same', 3), new Reader('same', 3)];
  const failure = new Error('no frame');
  broken.step = () => {
    throw failure;
  };
  catchUps.serve(broken);
  catchUps.serve(other);
  await nextTurn();
  assert.equal(broken.error, failure);
  assert.deepEqual([other.error, other.stepsLeft], [null, 0]);
});

test('an owner with many connections has the same share as one with a single connection', async () => {
  const catchUps = atOnce();
  const many = Array.from({ length: 20 }, () => new Reader('many', 100));
  for (const reader of many) catchUps.serve(reader);
  await nextTurn();
  const single = new Reader('single', 4);
  catchUps.serve(single);
  await nextTurn();
  assert.equal(single.stepsLeft, 0);
});

test('an owner that has spent its budget rests until it has filled up, and others go on', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = new ManualClock(0);
  const catchUps = atOnce(clock);
  const greedy = new Reader('greedy', 3, ANONYMOUS.stockBytes);
  const other = new Reader('other', 1);
  catchUps.serve(greedy);
  assert.equal(greedy.stepsLeft, 2);
  catchUps.serve(other);
  assert.equal(other.stepsLeft, 0);
  t.mock.timers.tick(50);
  assert.equal(greedy.stepsLeft, 2);
  clock.advance(1);
  t.mock.timers.tick(50);
  assert.equal(greedy.stepsLeft, 1);
  catchUps.forget(greedy);
  clock.advance(1_000_000);
  t.mock.timers.tick(50);
  assert.equal(greedy.stepsLeft, 1, 'what has closed is left alone');
});

test('a budget fills up at its rate, to its stock, and is forgotten when it is full', () => {
  const budgets = new ReplayBudgets();
  const { stockBytes, bytesPerSecond } = ANONYMOUS;
  assert.ok(budgets.has('a', 0));
  budgets.spend('a', ANONYMOUS, stockBytes + bytesPerSecond, 0);
  assert.equal(budgets.has('a', 1000), false);
  assert.equal(budgets.has('a', 1001), true);
  budgets.tick(1_000_000);
  assert.equal(budgets.size, 0);
});

test('beyond the total the connections for which most waits are cut', () => {
  const buffers = new SendBuffers(100);
  const cut: string[] = [];
  const connection = (name: string) => ({ cut: () => cut.push(name) });
  const [small, large, larger] = ['small', 'large', 'larger'].map(connection);
  buffers.note(small!, 30);
  buffers.note(large!, 40);
  buffers.note(larger!, 25);
  buffers.enforce();
  assert.deepEqual(cut, []);
  buffers.note(larger!, 60);
  buffers.enforce();
  assert.deepEqual(cut, ['larger']);
  assert.deepEqual([buffers.total, buffers.cut], [70, 1]);
  buffers.note(small!, 0);
  assert.equal(buffers.total, 40);
});
