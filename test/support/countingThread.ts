/** A thread that counts requests in memory that it shares with others, each subject at the same time as they do. */
import { parentPort, workerData } from 'node:worker_threads';
import { SharedCounterStore, type SharedCounts } from '../../gateway/access/sharedCounters.ts';
import { LIMIT_CLASSES } from '../../gateway/base/classes.ts';

export type CountingOptions = {
  readonly counts: SharedCounts;
  readonly threads: number;
  /** One cell: how often a thread has come to its next subject. */
  readonly arrivals: Int32Array;
  readonly subjects: number;
  /** Requests of each subject. */
  readonly times: number;
  readonly nowMs: number;
};

const LOOKS = 10_000;

const { counts, threads, arrivals, subjects, times, nowMs }: CountingOptions = workerData;
const limit = LIMIT_CLASSES.unlisted;
const store = new SharedCounterStore(counts, limit);
const admitted: number[] = [];
for (let subject = 0; subject < subjects; subject++) {
  awaitAll((subject + 1) * threads);
  let count = 0;
  for (let time = 0; time < times; time++) {
    if (store.count(`subject ${subject}`, limit, nowMs + time).allowed) count++;
  }
  admitted.push(count);
}
parentPort!.postMessage(admitted);

/** Resumes together with the others where they have a processor each: a wake would take longer than the counting. */
function awaitAll(arrived: number): void {
  Atomics.add(arrivals, 0, 1);
  Atomics.notify(arrivals, 0);
  for (let look = 0; ; look++) {
    const now = Atomics.load(arrivals, 0);
    if (now >= arrived) return;
    if (look > LOOKS) Atomics.wait(arrivals, 0, now);
  }
}
