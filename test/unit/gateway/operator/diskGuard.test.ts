import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLogger } from '../../../../gateway/base/log.ts';
import { DiskGuard, freeBytes } from '../../../../gateway/operator/diskGuard.ts';

test('it is low below the reserve until one and a half times that is free, and reports each change once', async () => {
  const lines: string[] = [];
  let free = 0;
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line).msg) });
  const reported: boolean[] = [];
  const guard = new DiskGuard(
    100,
    async () => free,
    log,
    (isLow) => reported.push(isLow),
  );
  const seen: boolean[] = [];
  for (free of [1000, 100, 99, 0, 100, 149, 150, 100, 99]) {
    await guard.check();
    seen.push(guard.isLow);
  }
  assert.deepEqual(seen, [false, false, true, true, true, true, false, false, true]);
  assert.deepEqual(
    lines.map((line) => line.includes('nearly full')),
    [true, false, true],
  );
  assert.deepEqual(reported, [true, false, true]);
});

test('without a reserve nothing is ever low, and a disk that cannot be asked has no room', async () => {
  const guard = new DiskGuard(0, () => freeBytes('/no/such/directory'), createLogger('silent'));
  await guard.check();
  assert.equal(guard.isLow, false);
  assert.equal(await freeBytes('/no/such/directory'), 0);
  assert.ok((await freeBytes(tmpdir())) > 0);
});

test('it checks at intervals from its start to its stop, also to a stop in the middle of a check', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const isStoppedWithin of [false, true]) {
    let checks = 0;
    let answer = (_bytes: number): void => {};
    const free = (): Promise<number> => {
      checks++;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const guard = new DiskGuard(100, free, createLogger('silent'));
    const finish = async (started: Promise<void>): Promise<void> => {
      answer(1000);
      await started;
    };
    const first = guard.start();
    await finish(first);
    assert.equal(checks, 1);
    t.mock.timers.tick(60_000);
    assert.equal(checks, 2);
    if (isStoppedWithin) guard.stop();
    answer(1000);
    await nextTurn();
    if (!isStoppedWithin) guard.stop();
    t.mock.timers.tick(60_000);
    assert.equal(checks, 2);
  }
});
