/** `journal verify` reads each database of a directory as a whole. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { checkDatabases } from '../../../../engine/admin/databases.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NAMES = ['control.db', 'settlement.db', 'idempotency.db', 'read.db'];

/** A directory with every database, each of some tens of pages. */
function directoryOf(): string {
  const directory = temporaryDirectory();
  for (const name of NAMES) {
    const db = new Database(join(directory, name));
    db.exec(`CREATE TABLE parents (id INTEGER PRIMARY KEY, text TEXT);
      CREATE TABLE children (parent INTEGER NOT NULL REFERENCES parents (id), text TEXT);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO parents SELECT i, hex(randomblob(40)) FROM n;
      INSERT INTO children SELECT id, text FROM parents`);
    db.close();
  }
  return directory;
}

test('whole databases are ok, one that a server has locked is in use, and none of them is changed', () => {
  const directory = directoryOf();
  const bytes = NAMES.map((name) => readFileSync(join(directory, name)));
  const states = (): string[] => checkDatabases(directory).map(({ name, state }) => `${name} ${state}`);
  assert.deepEqual(
    states(),
    NAMES.map((name) => `${name} ok`),
  );
  const server = new Database(join(directory, 'control.db'));
  server.exec('BEGIN EXCLUSIVE');
  assert.equal(states()[0], 'control.db in use');
  server.close();
  for (const [index, name] of NAMES.entries()) assert.ok(readFileSync(join(directory, name)).equals(bytes[index]!));
  assert.deepEqual(checkDatabases(temporaryDirectory()), [], 'a directory without any');
});

/** Databases that can be made anew. A start reads few pages of read.db. */
const NEXT_STEPS: Readonly<Record<string, RegExp>> = {
  'idempotency.db': /the next start sets it aside and makes it anew$/,
  'settlement.db': /put back its own, or an older one, .+ with `npm run admin -- chain adopt`$/,
  'read.db': /`npm run admin -- projections rebuild` makes it anew/,
};

test('a page that is zeroed, wherever it is, is a problem that names the file and what to do', () => {
  const directory = directoryOf();
  for (const name of NAMES) {
    const path = join(directory, name);
    const whole = readFileSync(path);
    for (let page = 0; page < whole.length / 4096; page += 7) {
      writeFileSync(path, Buffer.from(whole).fill(0, page * 4096, (page + 1) * 4096));
      const found = checkDatabases(directory).filter(({ problem }) => problem !== null);
      assert.deepEqual(
        found.map(({ state }) => state),
        ['damaged'],
        `${name}, page ${page}`,
      );
      assert.ok(found[0]!.problem!.startsWith(`${path}: `));
      assert.match(found[0]!.problem!, NEXT_STEPS[name] ?? /restore the data directory from a backup/);
    }
    writeFileSync(path, whole);
  }
});

test('a row that names a missing row is a problem', () => {
  const directory = directoryOf();
  const db = new Database(join(directory, 'control.db'));
  db.pragma('foreign_keys = OFF');
  db.exec('DELETE FROM parents WHERE id = 77');
  db.close();
  assert.match(checkDatabases(directory)[0]!.problem!, /a row of children names one that is not there/);
});
