/** The thread that makes snapshots, over the files of a shard. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import { createLogger, type Logger } from '../../../../gateway/base/log.ts';
import { JournalFollowers } from '../../../../gateway/wiring/journalFollowers.ts';
import { NICE_IDLER } from '../../../../shared/base/background.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { eventually } from '../../../support/eventually.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_SECRET } from '../../../support/journalKey.ts';

/** So many that a stop makes a snapshot of their records. */
const COMMANDS = 1600;
const WORTH_AT_STOP = 1000;
/** The thread may only start now, on a machine that is busy with other tests. */
const PATIENCE_MS = 60_000;

function optionsOf({ file, last }: JournaledShard) {
  const progress = Progress.create(1);
  new Progress(progress).setCommitted(0, last);
  return {
    journalPaths: [file.journalPath],
    journalKey: TEST_SECRET,
    directory: file.directory,
    progress,
    everyRecords: 1_000_000,
    keepRecords: 1_000_000,
    hashesInMemory: 2 ** 30,
  };
}

function followersOf(
  shard: JournaledShard,
  options: ReturnType<typeof optionsOf>,
  log: Logger = createLogger('silent'),
): JournalFollowers {
  const { port1, port2 } = new MessageChannel();
  port1.unref();
  return new JournalFollowers({
    ...options,
    historyDir: null,
    unfilledKeptMs: 1e12,
    readDbPath: join(shard.file.directory, 'read.db'),
    catalogFeed: { connect: () => port2 },
    log,
  });
}

/** Fields of /proc/…/stat begin after the name; this is `nice`. */
const NICE_FIELD = 16;

function threadsThatStepBack(): number {
  return readdirSync('/proc/self/task').filter((id) => niceOf(`/proc/self/task/${id}/stat`) === NICE_IDLER).length;
}

/** @returns null if the thread has ended meanwhile */
function niceOf(path: string): number | null {
  try {
    const stat = readFileSync(path, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[NICE_FIELD]);
  } catch {
    return null;
  }
}

test('a stop waits for the last snapshots', async () => {
  const shard = new JournaledShard();
  shard.trade(COMMANDS);
  assert.ok(shard.last >= WORTH_AT_STOP);
  const followers = followersOf(shard, optionsOf(shard));
  assert.deepEqual(shard.snapshots, []);
  await followers.stop(PATIENCE_MS);
  assert.deepEqual(
    shard.snapshots.map(({ sequence }) => sequence),
    [shard.last],
  );
  shard.close();
});

test('a last snapshot for which there is no time is given up, with a line of the log', async () => {
  for (const lastSnapshotMs of [1, 0, -1]) {
    const shard = new JournaledShard();
    shard.trade(COMMANDS);
    const lines: string[] = [];
    const log = { ...createLogger('silent'), info: (line: string) => void lines.push(line) };
    await followersOf(shard, optionsOf(shard), log).stop(lastSnapshotMs);
    assert.match(lines.join(), /the last snapshot was not made in time/);
    assert.deepEqual(shard.snapshots, []);
    shard.close();
  }
});

test('the snapshot thread runs from when a shard has as many records as a snapshot is due after', async (t) => {
  let threads = 0;
  const count = (): void => void threads++;
  process.on('worker', count);
  t.after(() => process.off('worker', count));
  const shard = new JournaledShard();
  shard.trade(20);
  const options = { ...optionsOf(shard), everyRecords: shard.last + 1 };
  const few = followersOf(shard, options);
  await few.stop(PATIENCE_MS);
  assert.equal(threads, 1, 'the projector alone has run');
  assert.deepEqual(shard.snapshots, []);

  const followers = followersOf(shard, options);
  t.after(() => followers.stop(PATIENCE_MS));
  shard.trade(20);
  new Progress(options.progress).setCommitted(0, shard.last);
  await eventually('a snapshot', async () => shard.snapshots[0]?.sequence === shard.last);
  assert.equal(threads, 3);
  shard.close();
});

test('a snapshot thread steps back for others, but not one that a stop has started', {
  skip: process.platform !== 'linux' && 'not on this system',
}, async (t) => {
  for (const [isStopping, steppedBack] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const shard = new JournaledShard();
    shard.trade(20);
    const alarm = new Int32Array(new SharedArrayBuffer(4));
    alarm[0] = isStopping;
    const before = threadsThatStepBack();
    const workerData = { ...optionsOf(shard), everyRecords: 1, alarm: alarm.buffer };
    const worker = new Worker(new URL('../../../../engine/snapshot/main.ts', import.meta.url), { workerData });
    t.after(() => worker.terminate());
    await eventually('a snapshot', async () => shard.snapshots.length > 0);
    assert.equal(threadsThatStepBack() - before, steppedBack);
    await worker.terminate();
    shard.close();
  }
});

test('the snapshot thread sleeps until it looks again, and its alarm wakes it', async (t) => {
  const shard = new JournaledShard();
  const alarm = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { ...optionsOf(shard), alarm: alarm.buffer };
  const worker = new Worker(new URL('../../../../engine/snapshot/main.ts', import.meta.url), { workerData });
  t.after(() => worker.terminate());
  for (const turn of ['first', 'second']) {
    await eventually(`it sleeps for the ${turn} time`, async () => Atomics.notify(alarm, 0) === 1);
  }
  const ended = once(worker, 'exit');
  worker.postMessage('stop');
  Atomics.store(alarm, 0, 1);
  Atomics.notify(alarm, 0);
  assert.deepEqual(await ended, [0]);
  assert.deepEqual(shard.snapshots, [], 'so few records are worth none');
  shard.close();
});
