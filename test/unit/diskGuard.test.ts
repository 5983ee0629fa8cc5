import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { DiskGuard, freeBytes } from '../../gateway/diskGuard.ts';
import { createLogger } from '../../gateway/log.ts';

test('it is low below the reserve and not from one and a half times that on, and tells each change once', async () => {
  const lines: string[] = [];
  let free = 0;
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line).msg) });
  const told: boolean[] = [];
  const guard = new DiskGuard(
    100,
    async () => free,
    log,
    (isLow) => told.push(isLow),
  );
  const seen: boolean[] = [];
  for (free of [1000, 100, 99, 0, 100, 149, 150, 100, 99]) {
    await guard.look();
    seen.push(guard.isLow);
  }
  assert.deepEqual(seen, [false, false, true, true, true, true, false, false, true]);
  assert.deepEqual(
    lines.map((line) => line.includes('nearly full')),
    [true, false, true],
  );
  assert.deepEqual(told, [true, false, true]);
});

test('without a reserve nothing is ever low, and a disk that cannot be asked has no room', async () => {
  const guard = new DiskGuard(0, () => freeBytes('/no/such/directory'), createLogger('silent'));
  await guard.look();
  assert.equal(guard.isLow, false);
  assert.equal(await freeBytes('/no/such/directory'), 0);
  assert.ok((await freeBytes(tmpdir())) > 0);
});
