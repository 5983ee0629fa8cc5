/**
 * Entry point of the history thread: follows the journals into the public history (RULES.md 13.15). It may end at any
 * moment; the next one goes on at the last checkpoint. Nothing waits for it but the trimming of journals.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { HistoryLock } from '../../shared/base/historyPlace.ts';
import type { HistoryMessage, HistoryOptions } from '../../shared/wire/historyThread.ts';
import { NOT_KNOWN, Progress } from '../../shared/wire/progress.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { HistoryWriter } from './writer.ts';

/** Records in one go: a batch takes some tens of milliseconds. */
const SLICE_RECORDS = 2000;
/** Time for which records are collected. */
const LINGER_MS = 1000;
/**
 * Time without a record after which the clock of the machine may end a day. The first start of the demo makes records
 * of the days before it, so that clock alone does not say that a day is over.
 */
const IDLE_MS = 60_000;

stepBack(NICE_IDLER);
const options: HistoryOptions = workerData;
const progress = new Progress(options.progress);
const say = (message: HistoryMessage): void => parentPort?.postMessage(message);
// A thread that ends closes it: SQLite's locks are those of the connection.
const lock = new HistoryLock(options.historyDir);
process.once('exit', () => lock.release());
const { keys, journalPaths, directory, historyDir } = await ShardKey.forAll(options);
/** By shard: when a record last came. */
const movedMs = journalPaths.map(() => systemClock.nowMs());
const writer = new HistoryWriter({
  ...{ historyDir, journalPaths, keys, directory },
  onMadeAnew: (path) => say({ news: `the history goes on with another ${path}: it is of another history` }),
});
let saidMs = 0;
let isPublishing = false;
for (;;) {
  let isBehind = false;
  const committed = journalPaths.map((_, shard) => progress.committed(shard));
  for (const [shard, last] of committed.entries()) {
    // The journal of a shard that has not recovered may lose its end.
    if (last !== NOT_KNOWN) isBehind = follow(shard, last) || isBehind;
  }
  const nowMs = systemClock.nowMs();
  if (!committed.includes(NOT_KNOWN)) {
    if (!isPublishing) void publish();
    if (Math.abs(nowMs - saidMs) >= LINGER_MS) {
      writer.writeState(committed, nowMs);
      saidMs = nowMs;
    }
  }
  await (isBehind ? nextTurn() : sleep(LINGER_MS));
}

/** Goes on beside the following, a piece at a time. A failure ends the thread, and the next one goes on. */
async function publish(): Promise<void> {
  isPublishing = true;
  await writer.publish(nextTurn, (day) => say({ published: day }));
  isPublishing = false;
}

/** @returns whether there is more */
function follow(shard: number, committed: number): boolean {
  const own = writer.shard(shard);
  // Read before the journal is: a command of a day that is over by now comes no more.
  const nowMs = systemClock.nowMs();
  if (own.follow(committed, SLICE_RECORDS) > 0) movedMs[shard] = nowMs;
  const { sequence, timeMs } = own.followed;
  const isBehind = sequence < committed;
  if (!isBehind && nowMs - movedMs[shard] >= IDLE_MS) own.passed(nowMs);
  progress.setHistoryAt(shard, sequence, timeMs);
  progress.setRecorded(shard, own.keptSequence);
  return isBehind;
}
