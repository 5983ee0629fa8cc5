/** A used-up quota is a full disk like any other (RULES.md 10.8, 10.11). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { tryCheckpoint } from '../../../../engine/journal/file.ts';
import { isDiskFull } from '../../../../shared/base/diskFull.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { SmallDisk } from '../../../support/smallDisk.ts';

const path = join(temporaryDirectory(), 'journal-0.db');
const sqlite = (code: string): unknown => new Database.SqliteError('disk I/O error', code);
const failing = (code: string) => (): void => {
  throw Object.assign(new Error(code), { code });
};

test('what SQLite says of a full disk is believed', () => {
  for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']) assert.equal(isDiskFull(sqlite(code), path), true, code);
});

test('a failed write is a full disk where no more can be written beside it: for a quota as for the disk', () => {
  const failed = sqlite('SQLITE_IOERR_WRITE');
  assert.equal(isDiskFull(failed, path, failing('EDQUOT')), true);
  assert.equal(isDiskFull(failed, path, failing('ENOSPC')), true);
  assert.equal(isDiskFull(failed, path, failing('EIO')), false, 'a broken disk is no full one');
  assert.equal(isDiskFull(failed, path), false, 'where there is room the write failed for another reason');
  assert.equal(existsSync(`${path}.room`), false);
});

test('any other error is not asked about', () => {
  const none = (): void => assert.fail('nothing is written');
  for (const error of [sqlite('SQLITE_IOERR_FSYNC'), sqlite('SQLITE_CORRUPT'), new Error('other'), null]) {
    assert.equal(isDiskFull(error, path, none), false);
  }
});

test('a checkpoint that a quota stops leaves the pages in the WAL and is no error', (t) => {
  const disk = SmallDisk.mount(t, 2);
  if (disk === null) return t.skip('only root may mount a small disk');
  const file = {
    name: join(disk.path, 'journal-0.db'),
    prepare: () => ({ get: failing('SQLITE_IOERR_WRITE') }),
  } as never;
  assert.throws(() => tryCheckpoint(file), { code: 'SQLITE_IOERR_WRITE' }, 'a write that failed on a disk with room');
  disk.fill();
  assert.equal(tryCheckpoint(file), null);
  disk.clear();
  assert.throws(() => tryCheckpoint(file), { code: 'SQLITE_IOERR_WRITE' });
});
