/** The checksums of the rows of control.db, on real files that a disk or another program has changed. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { checkDatabases } from '../../../../engine/admin/databases.ts';
import { openControlDatabase, withNewestTables } from '../../../../gateway/base/database.ts';
import { CONTROL_VERSION, controlMigrations } from '../../../../shared/base/controlSchema.ts';
import { rowsThatDiffer } from '../../../../shared/base/rowSums.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const USERS = 40;

function filled(): { directory: string; path: string; db: Database.Database } {
  const directory = temporaryDirectory();
  const path = join(directory, 'control.db');
  const db = openControlDatabase(path);
  fill(db);
  return { directory, path, db };
}

function fill(db: Database.Database): void {
  const user = db.prepare("INSERT INTO users VALUES (?, ?, ?, NULL, 'user', ?, NULL, 5)");
  const wallet = db.prepare('INSERT INTO wallets VALUES (?, ?, ?)');
  for (let account = 1; account <= USERS; account++) {
    user.run(account, `id ${account}`, `name of ${account}`, `code ${account}`);
    wallet.run(account, `0x${String(account).padStart(40, 'a')}`, account);
  }
}

const problemsIn = (directory: string) => checkDatabases(directory).map(({ problem }) => problem);

test('every table of control.db has sums, but those of a moment and those that follow from others', () => {
  const { db } = filled();
  const triggers = "SELECT tbl_name FROM sqlite_temp_schema WHERE type = 'trigger'";
  const tables = db.prepare<[], string>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN (${triggers})`,
  );
  assert.deepEqual(tables.pluck().all().sort(), [
    ...['achievements', 'armed_switches', 'cancelled_shards', 'catalogue_revision', 'claim_marks', 'fiat_webhooks'],
    ...[
      'indications',
      'live_scores',
      'notices',
      'online_hours',
      'public_profiles',
      'read_marks',
      'row_sums',
      'sessions',
    ],
    ...['single_reads', 'triggered_switches', 'used_refresh_tokens'],
  ]);
  db.close();
});

test('a byte that changes inside a row is found by the name of the row, though SQLite finds the file whole', () => {
  const { directory, path, db } = filled();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  assert.deepEqual(problemsIn(directory), [null]);
  const whole = readFileSync(path);
  const damaged = Buffer.from(whole);
  const at = damaged.indexOf('name of 17');
  assert.ok(at > 0);
  damaged[at + 1]! ^= 1;
  writeFileSync(path, damaged);
  const again = new Database(path, { readonly: true });
  assert.equal(again.pragma('integrity_check', { simple: true }), 'ok');
  again.close();
  const problem = problemsIn(directory)[0]!;
  assert.ok(problem.startsWith(`${path}: users 17: not as it was written: restore the data directory`), problem);
  assert.match(problem, /or see what `npm run admin -- control repair` can read of it$/);
});

test('every way to write a row keeps its sum: replaced, ignored, upserted, cascaded, rolled back', () => {
  const { db } = filled();
  const statements = [
    "INSERT OR REPLACE INTO users VALUES (3, 'id 9', 'replaces two', NULL, 'user', 'code 9', NULL, 5)",
    "INSERT OR IGNORE INTO users VALUES (4, 'id 4', 'ignored', NULL, 'user', 'code 4', NULL, 5)",
    "INSERT OR IGNORE INTO users VALUES (99, 'id 99', 'taken', NULL, 'user', 'code 99', NULL, 5)",
    "INSERT INTO platform VALUES ('a', '1') ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "INSERT INTO platform VALUES ('a', '2') ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "UPDATE platform SET key = 'b' WHERE key = 'a'",
    "UPDATE OR REPLACE users SET id = 'id 5' WHERE account_index = 6",
    'DELETE FROM wallets WHERE account_index > 30',
    'BEGIN; DELETE FROM platform; ROLLBACK',
    'DELETE FROM platform',
  ];
  db.pragma('foreign_keys = OFF');
  for (const statement of statements) {
    db.exec(statement);
    assert.deepEqual(rowsThatDiffer(db), [], statement);
  }
  db.close();
});

test('what another program writes, changes or removes is named', () => {
  const { directory, path, db } = filled();
  db.close();
  const other = new Database(path);
  other.pragma('foreign_keys = OFF');
  other.exec(`INSERT INTO users VALUES (77, 'id 77', 'a stranger', NULL, 'user', 'code 77', NULL, 5);
    UPDATE users SET display_name = 'renamed' WHERE account_index = 5;
    DELETE FROM users WHERE account_index = 6;
    DELETE FROM wallets WHERE account_index = 6`);
  other.close();
  const [problem] = problemsIn(directory);
  for (const part of [
    'users 77: written by another program',
    'users 5: not as it was written',
    'users 6: gone',
    /wallets \S+: gone/,
  ]) {
    assert.ok(typeof part === 'string' ? problem!.includes(part) : part.test(problem!), `${part} in ${problem}`);
  }
  const few = new Database(path, { readonly: true });
  assert.deepEqual(rowsThatDiffer(few, 10), [], 'a start looks at so many rows');
  few.close();
});

test('a file of a version without sums gets them with the migration, and is as it was where that fails', () => {
  const path = join(temporaryDirectory(), 'control.db');
  const old = new Database(path);
  for (const statements of controlMigrations(0, 24)) old.exec(statements);
  old.pragma('user_version = 24');
  fill(old);
  assert.deepEqual(rowsThatDiffer(old), []);
  const refused = () => withNewestTables(old, () => assert.fail('refused'));
  assert.throws(refused, /refused/);
  assert.equal(old.pragma('user_version', { simple: true }), 24);
  withNewestTables(old, () => old.exec("UPDATE users SET display_name = 'new' WHERE account_index = 1"));
  assert.deepEqual(rowsThatDiffer(old), []);
  const sums = old.prepare("SELECT count(*) FROM row_sums WHERE table_name IN ('users', 'wallets')").pluck();
  assert.equal(sums.get(), 2 * USERS);
  assert.equal(old.pragma('user_version', { simple: true }), CONTROL_VERSION);
  old.close();
});
