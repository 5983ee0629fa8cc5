/** Where the public history may be, and that one process at a time writes it. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HistoryLock, historyPlaceProblem } from '../../../../shared/base/historyPlace.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('a directory that is, holds or is in one with names of owners is no HISTORY_DIR, even through a link', () => {
  const root = temporaryDirectory();
  const data = join(root, 'live');
  mkdirSync(join(data, 'history'), { recursive: true });
  symlinkSync(join(data, 'history'), join(root, 'link'));
  for (const refused of [data, join(data, 'history'), join(data, 'new', 'history'), join(root, 'link')]) {
    assert.match(historyPlaceProblem(refused, data, null)!, /is in the data directory/, refused);
  }
  assert.match(historyPlaceProblem(root, data, null)!, /holds the data directory/);
  for (const name of [
    'control.db',
    'journal-0.db',
    'journal-3.db-replaced',
    'journal.key',
    'points',
    'read.db',
    'orders-000001-ab.db',
  ]) {
    const other = temporaryDirectory();
    writeFileSync(join(other, name), '');
    assert.match(historyPlaceProblem(join(other, 'deep', 'history'), data, null)!, /is public, and .* is not/, name);
  }
  const foreign = temporaryDirectory();
  writeFileSync(join(foreign, 'notes.txt'), '');
  assert.match(historyPlaceProblem(foreign, data, null)!, /holds notes.txt/);
  mkdirSync(join(root, 'history', '2026-11-30'), { recursive: true });
  mkdirSync(join(root, 'history', '.working'));
  writeFileSync(join(root, 'history', 'state.json'), '{}');
  assert.equal(historyPlaceProblem(join(root, 'history'), data, null), null);
  assert.equal(historyPlaceProblem(join(root, 'not-yet', 'history'), data, null), null);
  const backups = join(root, 'backups');
  assert.match(historyPlaceProblem(join(backups, 'history'), data, backups)!, /is in BACKUP_TARGET/);
});

test('a second writer of a history is refused until the first has ended', () => {
  const directory = temporaryDirectory();
  const lock = new HistoryLock(directory);
  assert.throws(() => new HistoryLock(directory), /another process writes the history/);
  lock.release();
  new HistoryLock(directory).release();
});
