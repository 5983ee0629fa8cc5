import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { DiskGuard, freeBytes } from '../../../../gateway/operator/diskGuard.ts';
import { createLogger } from '../../../../gateway/process/log.ts';

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
