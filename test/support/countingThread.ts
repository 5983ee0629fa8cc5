/** A thread that counts requests in memory that it shares with others, as fast as it can. */
import { parentPort, workerData } from 'node:worker_threads';
import { LIMIT_CLASSES } from '../../gateway/limits/classes.ts';
import { SharedCounterStore, type SharedCounts } from '../../gateway/limits/sharedCounters.ts';

export type CountingOptions = {
  readonly counts: SharedCounts;
  /** One cell: 1 when all may begin. */
  readonly start: Int32Array;
  readonly subjects: number;
  /** Requests of each subject. */
  readonly times: number;
  readonly nowMs: number;
};

const { counts, start, subjects, times, nowMs }: CountingOptions = workerData;
const limit = LIMIT_CLASSES.unlisted;
const store = new SharedCounterStore(counts, limit);
const admitted = Array<number>(subjects).fill(0);
Atomics.wait(start, 0, 0);
for (let time = 0; time < times; time++) {
  for (let subject = 0; subject < subjects; subject++) {
    if (store.count(`subject ${subject}`, limit, nowMs + time).allowed) admitted[subject]!++;
  }
}
parentPort!.postMessage(admitted);
