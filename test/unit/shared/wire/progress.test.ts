import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { NOT_KNOWN, Progress } from '../../../../shared/wire/progress.ts';

const PROGRESS_URL = new URL('../../../../shared/wire/progress.ts', import.meta.url).href;

/** Runs `body` with `progress`, `shard` and `last` in a thread of its own. */
function start(buffer: SharedArrayBuffer, body: string, shard: number, last: number): Promise<void> {
  const code = `
    const { workerData } = require('node:worker_threads');
    import(${JSON.stringify(PROGRESS_URL)}).then(({ Progress }) => {
      const { buffer, shard, last } = workerData;
      const progress = new Progress(buffer);
      ${body}
    });`;
  const worker = new Worker(code, { eval: true, workerData: { buffer, shard, last } });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}

describe('progress', () => {
  it('knows nothing of a shard before its owner has recovered', () => {
    const progress = new Progress(Progress.create(3));
    assert.equal(progress.shards, 3);
    for (let shard = 0; shard < 3; shard++) {
      assert.equal(progress.committed(shard), NOT_KNOWN);
      assert.equal(progress.projected(shard), NOT_KNOWN);
    }
  });

  it('keeps the cells of shards apart, up to the largest safe integer', () => {
    const progress = new Progress(Progress.create(2));
    progress.setCommitted(1, Number.MAX_SAFE_INTEGER);
    progress.setProjected(0, 7);
    assert.deepEqual(
      [progress.committed(0), progress.committed(1), progress.projected(0), progress.projected(1)],
      [NOT_KNOWN, Number.MAX_SAFE_INTEGER, 7, NOT_KNOWN],
    );
  });

  it('lets no journal be trimmed before the public history has it, and says how far that is behind', () => {
    const progress = new Progress(Progress.create(2));
    for (const shard of [0, 1]) {
      progress.setCommitted(shard, 100);
      progress.setTrimmable(shard, 80);
      progress.setKept(shard, 90);
    }
    assert.equal(progress.trimmable(0), 80);
    assert.deepEqual(progress.historyLag(0, 5000), { records: 0, ms: 0 });
    progress.setRecorded(1, 0);
    assert.equal(progress.trimmable(1), 0);
    assert.deepEqual(progress.historyLag(1, 5000), { records: 100, ms: 0 });
    progress.setRecorded(1, 40);
    progress.setHistoryAt(1, 70, 3000);
    assert.equal(progress.trimmable(1), 40);
    assert.deepEqual(progress.historyLag(1, 5000), { records: 30, ms: 2000 });
    progress.setHistoryAt(1, 100, 3000);
    assert.deepEqual(progress.historyLag(1, 5000), { records: 0, ms: 0 });
  });

  it('does not sleep through a commit made after the bell was read', () => {
    const progress = new Progress(Progress.create(1));
    const bell = progress.commitBell();
    progress.setCommitted(0, 1);
    progress.waitForCommit(bell, Number.POSITIVE_INFINITY);
    assert.equal(progress.committed(0), 1);
  });

  it('answers at once for projected records', async () => {
    const progress = new Progress(Progress.create(1));
    progress.setProjected(0, 5);
    assert.equal(await progress.awaitProjected(0, 5, 0), true);
  });

  it('gives up a wait after its time', async () => {
    const progress = new Progress(Progress.create(1));
    progress.setProjected(0, 4);
    assert.equal(await progress.awaitProjected(0, 5, 0), false);
    assert.equal(await keptAlive(progress.awaitProjected(0, 5, 1)), false);
  });

  it('loses no wake-up between shards that commit, a projector that follows and a gateway that waits', async () => {
    const commits = 20_000;
    const buffer = Progress.create(2);
    const progress = new Progress(buffer);
    const follow = `
      for (let shard = 0; shard < 2; shard++) progress.setProjected(shard, 0);
      while (progress.projected(0) < last || progress.projected(1) < last) {
        const bell = progress.commitBell();
        let moved = false;
        for (let shard = 0; shard < 2; shard++) {
          if (progress.committed(shard) <= progress.projected(shard)) continue;
          progress.setProjected(shard, progress.projected(shard) + 1);
          moved = true;
        }
        if (!moved) progress.waitForCommit(bell, Infinity);
      }`;
    const commit = 'for (let sequence = 0; sequence <= last; sequence++) progress.setCommitted(shard, sequence);';
    const threads = [
      start(buffer, follow, 0, commits),
      start(buffer, commit, 0, commits),
      start(buffer, commit, 1, commits),
    ];
    for (const sequence of [1, commits / 2, commits]) {
      for (const shard of [0, 1]) assert.equal(await progress.awaitProjected(shard, sequence, 30_000), true);
    }
    await Promise.all(threads);
  });
});

/** A pending Atomics.waitAsync alone does not keep Node running. */
async function keptAlive<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 1000);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
