/** A start prepares the directory of a member before anything opens it (JOININGFILES-1, GIVING-3). */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { prepareDirectory } from '../../../../engine/replication/prepare.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

/** Prepares the directory of a member whose log has no records yet. */
function prepare(directory: string): Promise<string[]> {
  const unused = async (): Promise<never> => assert.fail('no copy is asked for');
  return prepareDirectory({
    directory,
    records: [],
    shards: 1,
    masterKey: new Uint8Array(32),
    log: { report: unused, read: unused },
    reads: { ends: async () => [], rowOf: unused },
    cluster: 'c',
    holder: 'a',
    onNews: () => {},
    isStopped: () => false,
  });
}

/** A copy of another member's files, in the folder in which it comes. */
function copyIn(directory: string): string {
  const folder = join(directory, 'joining');
  mkdirSync(folder);
  const database = new Database(join(folder, 'control.db'));
  database.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
  database.close();
  writeFileSync(join(folder, 'audit.log'), 'of another member');
  return folder;
}

test('JOININGFILES-1: a copy that came whole before this member ended is moved to its place', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(copyIn(directory), 'whole'), '');
  assert.deepEqual(await prepare(directory), []);
  assert.deepEqual(readdirSync(directory).sort(), ['audit.log', 'control.db']);
  assert.equal(readFileSync(join(directory, 'audit.log'), 'utf8'), 'of another member');
});

test('JOININGFILES-1: a copy that is not whole is removed, and nothing of it is used', async () => {
  const directory = temporaryDirectory();
  copyIn(directory);
  assert.deepEqual(await prepare(directory), []);
  assert.deepEqual(readdirSync(directory), []);
});

test('what a member was giving when it ended is removed, and a directory that is not there is not made', async () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'giving'));
  writeFileSync(join(directory, 'giving', 'read.db'), 'half');
  await prepare(directory);
  assert.deepEqual(readdirSync(directory), []);
  const missing = join(directory, 'missing');
  await prepare(missing);
  assert.equal(existsSync(missing), false);
});
