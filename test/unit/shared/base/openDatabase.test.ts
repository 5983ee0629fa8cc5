/** SQLite deletes the write-ahead log of a file without a byte: such a file is damaged, and its log stays. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepTornLog } from '../../../../gateway/base/database.ts';
import { isDamaged } from '../../../../shared/base/damagedDatabase.ts';
import { openDatabase } from '../../../../shared/base/openDatabase.ts';
import { setAside } from '../../../../shared/base/setAside.ts';
import { commitsBehindDamage } from '../../../../shared/base/sqlitePages.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const FRAME_BYTES = 24 + 4096;
const COMMITS = 6;

/** The state after a killed process: each commit is one frame of the log. */
function killed(): string {
  const path = join(temporaryDirectory(), 'control.db');
  const db = openDatabase(path);
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY)');
  db.pragma('wal_checkpoint(TRUNCATE)');
  for (let id = 0; id < COMMITS; id++) db.prepare('INSERT INTO rows VALUES (?)').run(id);
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, `${path}.kept${suffix}`);
  db.close();
  return `${path}.kept`;
}

test('a file that is empty or missing beside its log is damaged, for a reader too, and the log stays', () => {
  for (const lose of [(path: string) => truncateSync(path, 0), (path: string) => rmSync(path)]) {
    const path = killed();
    const log = readFileSync(`${path}-wal`);
    lose(path);
    for (const options of [{}, { readonly: true }]) {
      assert.throws(
        () => openDatabase(path, options),
        (error) => isDamaged(error) && /has what was written to it$/.test((error as Error).message),
      );
    }
    const aside = setAside(path)!;
    assert.ok(readFileSync(`${aside}-wal`).equals(log));
    openDatabase(path).close();
  }
});

test('commits behind a damaged page of the log are counted, and the log is kept before a start writes on', () => {
  const path = killed();
  assert.equal(commitsBehindDamage(path), 0);
  assert.equal(keepTornLog(path), null);
  const log = readFileSync(`${path}-wal`);
  for (let frame = 0; frame < COMMITS; frame++) {
    const damaged = Buffer.from(log);
    damaged[32 + frame * FRAME_BYTES + 500]! ^= 1;
    writeFileSync(`${path}-wal`, damaged);
    assert.equal(commitsBehindDamage(path), COMMITS - frame, 'that of the page and all behind it');
  }
  assert.match(
    keepTornLog(path)!,
    /^1 changes stand behind a damaged page of .*control\.db\.kept-wal, and are left out/,
  );
  assert.ok(readFileSync(`${path}-wal.damaged`).equals(readFileSync(`${path}-wal`)));
});
