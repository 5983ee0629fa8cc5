/** Files that are set aside take no other file's name, even if the clock is wrong. */
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freeName, freeTime } from '../../../../shared/base/freeName.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('a name that a file has gets a number', () => {
  const stem = join(temporaryDirectory(), 'journal-0.unshared');
  const names = [1, 2, 3].map(() => {
    const name = freeName(stem, '.db');
    writeFileSync(name, '');
    return name;
  });
  assert.deepEqual(names, [`${stem}.db`, `${stem}-2.db`, `${stem}-3.db`]);
});

test('a time that is in the name of any file of the folder gets a number', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 29, 6, 30, 15, 500) });
  const directory = temporaryDirectory();
  const time = '20261129T063015Z';
  assert.equal(freeTime(directory), time);
  writeFileSync(join(directory, `control.db.damaged-${time}-wal`), '');
  assert.equal(freeTime(directory), `${time}-2`);
  renameSync(join(directory, `control.db.damaged-${time}-wal`), join(directory, `read.db.before-${time}-2`));
  assert.equal(freeTime(directory), `${time}-3`);
  t.mock.timers.setTime(Date.UTC(2026, 10, 29, 6, 30, 16));
  assert.equal(freeTime(directory), '20261129T063016Z');
});
