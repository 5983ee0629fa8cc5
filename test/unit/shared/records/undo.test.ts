/** Records that the log never held are undone: the file is as before them, whatever they have written. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Sqlite, { type Database } from 'better-sqlite3';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { CONTROL_TABLES, isLocalRow } from '../../../../gateway/base/recordedTables.ts';
import { openControl } from '../../../../gateway/wiring/control.ts';
import { FORMATS } from '../../../../shared/base/formats.ts';
import { RecordError } from '../../../../shared/records/bytes.ts';
import { type FileRecord, RecordedFile } from '../../../../shared/records/recordedFile.ts';
import { takeBack } from '../../../../shared/records/undo.ts';
import { actAtRandom } from '../../../support/controlActs.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const SCHEMA = `
  CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT UNIQUE, at REAL, body BLOB) STRICT;
  CREATE TABLE children (id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER NOT NULL REFERENCES parents (id) ON DELETE CASCADE) STRICT;
  CREATE TABLE pairs (a TEXT, b INTEGER, c, PRIMARY KEY (a, b)) WITHOUT ROWID;
  CREATE TABLE bare (text TEXT) STRICT;
  CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT) STRICT`;
const TABLES = ['parents', 'children', 'pairs', 'bare', 'settings', 'sqlite_sequence', 'record_end'];

/** A log that holds the records up to one. */
class Log {
  readonly records: FileRecord[] = [];
  heldSequence = 0;
  put(sequence: number, bytes: Uint8Array): void {
    this.records.push({ sequence, bytes });
  }
  held(): number {
    return this.heldSequence;
  }
  whenHeld(): Promise<void> {
    return Promise.resolve();
  }
}

function leader(t: TestContext) {
  const raw = new Sqlite(':memory:');
  t.after(() => raw.close());
  raw.pragma('foreign_keys = ON');
  raw.exec(SCHEMA);
  const isLocal = (table: string, first: unknown): boolean => {
    return table.startsWith('record_') || (table === 'settings' && first === 'mine');
  };
  const file = new RecordedFile({ database: raw, isFollowing: false, isLocal });
  const log = new Log();
  file.lead(log);
  return { raw, file, log, db: file.database };
}

function dump(raw: Database, tables: readonly string[]): unknown {
  return tables.map((table) => [table, raw.prepare(`SELECT * FROM ${table}`).safeIntegers(true).all()]);
}

test('UNDO-1: rows of every form are as before, replaced and cascaded ones, counters and their order', (t) => {
  const { raw, file, db } = leader(t);
  const run = (sql: string, ...values: unknown[]): void => void db.prepare(sql).run(...values);
  run('INSERT INTO parents VALUES (1, ?, 1.5, ?)', 'a', Buffer.from([0, 255]));
  run('INSERT INTO parents VALUES (9007199254740993, ?, NULL, NULL)', "b'\u0000c");
  run('INSERT INTO pairs VALUES (?, ?, ?)', 'x', 1, null);
  run("INSERT INTO bare VALUES ('first'), ('second')");
  run("INSERT INTO settings VALUES ('mine', '1')");
  const at = file.sequence;
  const before = dump(raw, TABLES);
  const rowids = () => raw.prepare('SELECT rowid, text FROM bare ORDER BY rowid').all();
  const rowidsBefore = rowids();

  run('INSERT INTO children (parent) VALUES (1), (1), (9007199254740993)');
  run("INSERT OR REPLACE INTO parents VALUES (2, 'a', -0.0, x'')");
  run("UPDATE pairs SET a = 'y', b = b + 1, c = 2.5");
  run("INSERT OR REPLACE INTO pairs VALUES ('y', 2, 'z')");
  run("DELETE FROM bare WHERE text = 'first'");
  run("UPDATE bare SET text = 'third'");
  const failing = db.transaction(() => {
    run("INSERT INTO bare VALUES ('never')");
    throw new Error('rolled back');
  });
  db.transaction(() => {
    assert.throws(failing, /rolled back/);
    run('DELETE FROM parents');
    run("UPDATE settings SET value = '2' WHERE key = 'mine'");
    run('INSERT INTO children (parent) SELECT id FROM parents');
  })();
  run("INSERT INTO settings VALUES ('shared', '3')");
  const mine = raw.prepare("SELECT value FROM settings WHERE key = 'mine'").pluck();
  takeBack(raw, at + 1);
  assert.equal(mine.get(), '2', 'what is local stays');
  raw.prepare("UPDATE settings SET value = '1' WHERE key = 'mine'").run();
  assert.deepEqual(dump(raw, TABLES), before);
  assert.deepEqual(rowids(), rowidsBefore);
  assert.equal(raw.pragma('foreign_keys', { simple: true }), 1);
});

test('a file that was taken back follows the records of another one from there', (t) => {
  const { raw, file, log, db } = leader(t);
  const insert = db.prepare<[string]>('INSERT INTO bare VALUES (?)');
  for (const text of ['a', 'b', 'c', 'd']) insert.run(text);
  takeBack(raw, 3);
  const again = new RecordedFile({ database: raw, isFollowing: true, isLocal: () => false });
  assert.equal(again.sequence, 2);
  for (const record of log.records) again.apply(record);
  assert.deepEqual(raw.prepare('SELECT text FROM bare').pluck().all(), ['a', 'b', 'c', 'd']);
  assert.equal(file.sequence, 4);
});

test('the undo of records that the log holds is dropped, and without its undo no record is taken back', (t) => {
  const { raw, log, db } = leader(t);
  const insert = db.prepare<[string]>('INSERT INTO bare VALUES (?)');
  for (const text of ['a', 'b', 'c']) insert.run(text);
  const kept = raw.prepare('SELECT sequence FROM record_undo').pluck();
  assert.deepEqual(kept.all(), [1, 2, 3]);
  log.heldSequence = 2;
  insert.run('d');
  assert.deepEqual(kept.all(), [3, 4]);
  raw.prepare('DELETE FROM record_undo WHERE sequence = 3').run();
  const before = dump(raw, TABLES);
  assert.throws(() => takeBack(raw, 3), RecordError);
  assert.deepEqual(dump(raw, TABLES), before);
});

test('any changes through every store of control.db can be taken back', () => {
  const seed = seedOr(23);
  const random = new Random(seed);
  const dataDir = temporaryDirectory();
  const env = { DEV_MODE: 'true', MASTER_KEY: '5'.repeat(64), DATA_DIR: dataDir };
  const tables = [...Object.keys(CONTROL_TABLES).filter((table) => table !== 'record_queue'), 'sqlite_sequence'];
  const isCompared = (table: string): boolean => table !== 'record_undo';
  const read = (): unknown => {
    const raw = openControlDatabase(join(dataDir, 'control.db'));
    const rows = dump(raw, tables.filter(isCompared));
    raw.close();
    return rows;
  };
  for (let round = 0; round < timesOf({ suite: 3, soak: 40 }); round++) {
    const control = openControl(parseConfig(env, 2), { isFollowing: false });
    const log = new Log();
    log.heldSequence = control.records!.sequence;
    control.records!.lead(log, FORMATS.control.newest);
    for (let turn = 0; turn < 60; turn++) actAtRandom(control, random, 100 * round + turn);
    control.changes.close();
    control.database.close();

    const before = read();
    const opened = openControl(parseConfig(env, 2), { isFollowing: false });
    const from = opened.records!.sequence;
    opened.records!.lead(log, FORMATS.control.newest);
    for (let turn = 0; turn < 60; turn++) actAtRandom(opened, random, 100 * round + turn);
    assert.ok(opened.records!.sequence > from + 10, `seed ${seed}`);
    opened.changes.close();
    opened.database.close();
    const raw = openControlDatabase(join(dataDir, 'control.db'));
    takeBack(raw, from + 1);
    raw.close();
    assert.deepEqual(read(), before, `seed ${seed}, round ${round}`);
  }
  assert.equal(isLocalRow('record_undo', 1), true);
});
