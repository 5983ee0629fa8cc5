/** The sizes of the files of a data directory. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DataFiles } from '../../../../gateway/operator/dataFiles.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('files are by name, folders and snapshots are added up, and one look serves for ten seconds', async () => {
  const directory = temporaryDirectory();
  const clock = { nowMs: 0 };
  const files = new DataFiles(directory, () => clock.nowMs);
  mkdirSync(join(directory, 'private'));
  for (const [name, bytes] of [
    ['read.db', 10],
    ['snapshot-0-5.bin', 20],
    ['snapshot-1-5.bin', 30],
    ['private/0-1.log', 40],
    ['private/1-1.log', 50],
  ] as const) {
    writeFileSync(join(directory, name), Buffer.alloc(bytes));
  }
  await Promise.all([files.refresh(), files.refresh()]);
  const expected = { 'read.db': 10, snapshots: 50, 'private/': 90 };
  assert.deepEqual(Object.fromEntries(files.sizes), expected);
  writeFileSync(join(directory, 'read.db'), Buffer.alloc(11));
  clock.nowMs = 9999;
  await files.refresh();
  assert.equal(files.sizes.get('read.db'), 10);
  clock.nowMs = 10_000;
  await files.refresh();
  assert.equal(files.sizes.get('read.db'), 11);
});

test('a directory that cannot be read keeps the sizes it had', async () => {
  const files = new DataFiles('/nonexistent/directory');
  await files.refresh();
  assert.equal(files.sizes.size, 0);
});
