/** A limit whose counts several threads share (SHAREDCOUNTERS-1 to 3). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { MemoryCounterStore } from '../../../../gateway/access/counterStore.ts';
import { makeSharedCounts, SharedCounterStore } from '../../../../gateway/access/sharedCounters.ts';
import { LIMIT_CLASSES } from '../../../../gateway/base/classes.ts';
import { STRIPPED_BEFORE } from '../../../../shared/base/stripTypes.ts';
import type { CountingOptions } from '../../../support/countingThread.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const LIMIT = LIMIT_CLASSES.unlisted;
const START_MS = 1_790_000_000_000;

test('it says of every request what the counts of one thread say', () => {
  const seed = seedOr(4);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const counts = makeSharedCounts();
  const [one, other] = [new SharedCounterStore(counts, LIMIT), new SharedCounterStore(counts, LIMIT)];
  const alone = new MemoryCounterStore(1000);
  let nowMs = START_MS;
  let refused = 0;
  for (let turn = 0; turn < 5000; turn++) {
    nowMs += random.below(400);
    const subject = `203.0.113.${random.below(5)} GET /v1/orders/book/:market_id`;
    const expected = alone.count(subject, LIMIT, nowMs);
    assert.deepEqual((random.chance(50) ? one : other).count(subject, LIMIT, nowMs), expected);
    assert.deepEqual(one.peek([{ subject, limit: LIMIT }], nowMs), alone.peek([{ subject, limit: LIMIT }], nowMs));
    if (!expected.allowed) refused++;
  }
  assert.ok(refused > 100 && refused < 4900, `${refused} were refused`);
});

test('a clock that was set back locks no one out (SHAREDCOUNTERS-4)', () => {
  const store = new SharedCounterStore(makeSharedCounts(), LIMIT);
  const counted = (nowMs: number) => store.count('subject', LIMIT, nowMs).allowed;
  for (let request = 0; request < LIMIT.requests; request++) assert.ok(counted(START_MS));
  assert.ok(!counted(START_MS));
  for (let request = 0; request < LIMIT.requests; request++) assert.ok(counted(START_MS - 3_600_000));
  assert.ok(!counted(START_MS - 3_600_000));
});

test('threads that count at the same time admit no more, and no fewer, than the limit', async () => {
  const counts = makeSharedCounts();
  const arrivals = new Int32Array(new SharedArrayBuffer(4));
  const options: CountingOptions = { counts, threads: 2, arrivals, subjects: 2000, times: 20, nowMs: START_MS };
  const url = new URL('../../../support/countingThread.ts', import.meta.url);
  const threads = Array.from(
    { length: options.threads },
    () => new Worker(url, { workerData: options, execArgv: STRIPPED_BEFORE }),
  );
  const answers = threads.map(async (thread) => (await once(thread, 'message'))[0] as number[]);
  const sums = Array<number>(options.subjects).fill(0);
  for (const admitted of await Promise.all(answers)) {
    for (const [subject, count] of admitted.entries()) sums[subject]! += count;
  }
  assert.deepEqual(sums, Array(options.subjects).fill(LIMIT.requests));
});

test('more subjects than there is room for refuse nobody, and forget those that were counted longest ago', () => {
  const store = new SharedCounterStore(makeSharedCounts(), LIMIT);
  for (let subject = 0; subject < 400_000; subject++) {
    assert.ok(store.count(`old ${subject}`, LIMIT, START_MS + subject / 100).allowed);
  }
  const nowMs = START_MS + 4001;
  const late = Array.from({ length: 100 }, (_, index) => `old ${399_900 + index}`);
  for (const subject of late) assert.equal(store.count(subject, LIMIT, nowMs).remaining, LIMIT.requests - 2, subject);
  assert.equal(store.count('old 0', LIMIT, nowMs).remaining, LIMIT.requests - 1, 'it was forgotten');
});

test('asking how much is left takes no space', () => {
  const store = new SharedCounterStore(makeSharedCounts(), LIMIT);
  // Every bucket is full, and none has two subjects of the same time, of which either could leave first.
  for (let subject = 0; subject < 400_000; subject++) {
    store.count(`counted ${subject}`, LIMIT, START_MS + subject / 1000);
  }
  const left = (subject: string): number => store.peek([{ subject, limit: LIMIT }], START_MS + 400)[0]!.remaining;
  for (let subject = 0; subject < 400_000; subject++) assert.equal(left(`asked ${subject}`), LIMIT.requests);
  for (let subject = 399_900; subject < 400_000; subject++) {
    assert.equal(left(`counted ${subject}`), LIMIT.requests - 1, String(subject));
  }
});
