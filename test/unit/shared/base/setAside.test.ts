/** Files that are set aside or copied before they are cut lose no older one's bytes (SETASIDE-1). */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepCopy, setAside } from '../../../../shared/base/setAside.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

function contentsOf(directory: string): Record<string, string> {
  const names = readdirSync(directory).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

test('a database is set aside with its log, and without the index of that', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'read.db');
  assert.equal(setAside(path), null);
  for (const suffix of ['', '-wal', '-shm']) writeFileSync(path + suffix, `rows${suffix}`);
  assert.equal(setAside(path), `${path}.damaged`);
  assert.deepEqual(contentsOf(directory), { 'read.db.damaged': 'rows', 'read.db.damaged-wal': 'rows-wal' });
});

test('a log that was set aside without its file keeps its name', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'read.db');
  writeFileSync(`${path}-wal`, 'first log');
  assert.equal(setAside(path), `${path}.damaged`);
  for (const suffix of ['', '-wal']) writeFileSync(path + suffix, `second${suffix}`);
  assert.equal(setAside(path), `${path}.damaged-2`);
  writeFileSync(path, 'third');
  assert.equal(setAside(path), `${path}.damaged-3`);
  assert.deepEqual(contentsOf(directory), {
    'read.db.damaged-2': 'second',
    'read.db.damaged-2-wal': 'second-wal',
    'read.db.damaged-3': 'third',
    'read.db.damaged-wal': 'first log',
  });
});

test('a copy changes neither the file nor earlier copies', () => {
  const directory = temporaryDirectory();
  const path = join(directory, '00000001.log');
  for (const text of ['first', 'second']) {
    writeFileSync(path, text);
    keepCopy(path);
  }
  assert.deepEqual(contentsOf(directory), {
    '00000001.log': 'second',
    '00000001.log.damaged': 'first',
    '00000001.log.damaged-2': 'second',
  });
});
