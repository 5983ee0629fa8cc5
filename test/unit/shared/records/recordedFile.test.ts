/** A SQLite file whose changes are records: who follows has the same rows, or refuses the record. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Sqlite, { type Database } from 'better-sqlite3';
import { RecordError } from '../../../../shared/records/bytes.ts';
import { OlderTables } from '../../../../shared/records/olderTables.ts';
import { derivedValues, type FileRecord, RecordedFile } from '../../../../shared/records/recordedFile.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS parents (id INTEGER PRIMARY KEY, name TEXT UNIQUE, at REAL, body BLOB) STRICT;
  CREATE TABLE IF NOT EXISTS children (id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER NOT NULL REFERENCES parents (id) ON DELETE CASCADE) STRICT;
  CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT) STRICT`;

const isLocal = (table: string, first: unknown): boolean => table === 'settings' && first === 'mine';

function connect(path: string): Database {
  const database = new Sqlite(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = OFF');
  database.exec(SCHEMA);
  return database;
}

function member(t: TestContext, isFollowing: boolean, path = join(temporaryDirectory(), 'file.db')) {
  const raw = connect(path);
  t.after(() => raw.close());
  return { path, raw, file: new RecordedFile({ database: raw, isFollowing, isLocal }) };
}

/** The log as far as these files know it. */
class Log {
  readonly records: FileRecord[] = [];
  isHeld = true;
  put(sequence: number, bytes: Uint8Array): void {
    this.records.push({ sequence, bytes });
  }
  held(): number {
    return this.isHeld ? (this.records.at(-1)?.sequence ?? 0) : 0;
  }
}

function leader(t: TestContext) {
  const log = new Log();
  const { file, raw, path } = member(t, false);
  file.lead(log);
  return { log, file, raw, path, db: file.database };
}

const rowsOf = (raw: Database): unknown =>
  ['parents', 'children', 'settings', 'sqlite_sequence'].map((table) => raw.prepare(`SELECT * FROM ${table}`).all());

test('a transaction is one record, which makes the same rows elsewhere', (t) => {
  const { log, db, raw } = leader(t);
  const insert = db.prepare('INSERT INTO parents (name, at, body) VALUES ($name, $at, $body)');
  const child = db.prepare<[number], number>('INSERT INTO children (parent) VALUES (?) RETURNING id').pluck();
  const made = db.transaction((name: string) => {
    const { lastInsertRowid } = insert.run({ name, at: 1.5, body: Buffer.from([0, 1]), unused: new Date() });
    return child.get(Number(lastInsertRowid));
  })('a');
  assert.equal(made, 1);
  db.prepare('UPDATE parents SET at = ? WHERE name = ?').run(null, 'a');
  assert.deepEqual(
    log.records.map(({ sequence }) => sequence),
    [1, 2],
  );

  const follower = member(t, true);
  assert.deepEqual([...follower.file.apply(log.records[0]!)], ['parents', 'children']);
  assert.deepEqual([...follower.file.apply(log.records[1]!)], ['parents']);
  assert.deepEqual(rowsOf(follower.raw), rowsOf(raw));
  assert.deepEqual([...follower.file.apply(log.records[0]!)], [], 'what the file has already');
});

test('RECORDS-1: every write in a transaction of the connection is in a record as well', (t) => {
  const log = new Log();
  const { file, raw, path } = member(t, false);
  const insert = file.database.prepare<[string]>('INSERT INTO parents (name) VALUES (?)');
  raw.transaction(() => {
    insert.run('a');
    file.database.transaction(() => {
      insert.run('b');
      insert.run('c');
    })();
  })();
  assert.equal(file.sequence, 2);
  // They are in the file with the rows, so a start after a kill has them too.
  const again = member(t, false, path).file;
  again.lead(log);
  const follower = member(t, true);
  for (const record of log.records) follower.file.apply(record);
  assert.deepEqual(rowsOf(follower.raw), rowsOf(raw));
});

test('a rolled-back change is in no record, and uses no sequence number', (t) => {
  const { log, file, db } = leader(t);
  const insert = db.prepare<[string]>('INSERT INTO parents (name) VALUES (?)');
  const failing = db.transaction((name: string) => {
    insert.run(name);
    throw new Error('no');
  });
  assert.throws(() => failing('a'), /no/);
  assert.throws(() => insert.run(null as never) && insert.run('b') && insert.run('b'), /UNIQUE/);
  const outer = db.transaction(() => {
    insert.run('c');
    assert.throws(() => failing('d'), /no/);
    insert.run('e');
  });
  outer();
  assert.equal(file.sequence, 3);
  const follower = member(t, true);
  for (const record of log.records) follower.file.apply(record);
  const names = follower.raw.prepare('SELECT name FROM parents ORDER BY id').pluck().all();
  assert.deepEqual(names, [null, 'b', 'c', 'e']);
});

test('local rows are in no record, and a follower may write them, but nothing else', (t) => {
  const { log, db } = leader(t);
  const set = (to: typeof db, key: string) =>
    to.prepare<[string, string]>('INSERT OR REPLACE INTO settings VALUES (?, ?)').run(key, 'x');
  set(db, 'mine');
  assert.equal(log.records.length, 0);
  set(db, 'shared');
  assert.equal(log.records.length, 1);
  const follower = member(t, true);
  set(follower.file.database, 'mine');
  assert.throws(() => set(follower.file.database, 'shared'), /RECORDS-3/);
  assert.equal(follower.raw.prepare('SELECT count(*) FROM settings').pluck().get(), 1);
});

test('a follower refuses a record that does not follow, and changes nothing', (t) => {
  const { log, db } = leader(t);
  const other = leader(t);
  for (const { db: each } of [{ db }, other]) {
    each.prepare('INSERT INTO parents (name) VALUES (?)').run(each === db ? 'a' : 'b');
    each.prepare('DELETE FROM parents WHERE name = ?').run('a');
  }
  const { file, raw } = member(t, true);
  const refuses = (record: FileRecord, message: RegExp): void => {
    const before = rowsOf(raw);
    const { sequence } = file;
    assert.throws(
      () => file.apply(record),
      (error) => error instanceof RecordError && message.test(error.message),
    );
    assert.deepEqual([rowsOf(raw), file.sequence], [before, sequence]);
  };
  refuses(log.records[1]!, /record 2 came after 0/);
  file.apply(log.records[0]!);
  refuses(other.log.records[1]!, /does not follow/);
  raw.prepare('DELETE FROM parents').run();
  refuses(log.records[1]!, /changed 0 rows, and 1 where it was made/);
});

test('a file with another record than the log is refused, when it has led or not', (t) => {
  const former = leader(t);
  former.log.isHeld = false;
  const insert = 'INSERT INTO parents (name) VALUES (?)';
  former.db.prepare<[string]>(insert).run('a');
  former.raw.close();
  const next = leader(t);
  next.db.prepare<[string]>(insert).run('b');
  const { file } = member(t, true, former.path);
  assert.throws(() => file.apply(next.log.records[0]!), /another one in this file/);
  assert.deepEqual([...file.apply(former.log.records[0]!)], [], 'its own record is the same');
});

test('a member that leads again writes the records that the log may lack, even after a restart', (t) => {
  const { log, file, raw, path, db } = leader(t);
  const insert = db.prepare<[string]>('INSERT INTO parents (name) VALUES (?)');
  insert.run('a');
  insert.run('b');
  log.isHeld = false;
  insert.run('c');
  assert.equal(file.sequence, 3);
  raw.close();

  const again = member(t, false, path);
  assert.deepEqual(
    again.file.queue().map(({ sequence }) => sequence),
    [2, 3],
  );
  const next = new Log();
  again.file.lead({ put: (sequence, bytes) => next.put(sequence, bytes), held: () => 2 });
  assert.deepEqual(next.records, log.records.slice(2));
  again.file.database.prepare<[string]>('INSERT INTO parents (name) VALUES (?)').run('d');
  assert.deepEqual(
    again.file.queue().map(({ sequence }) => sequence),
    [3, 4],
  );
});

test('any statements in any transactions make the same rows, over restarts and a change of who leads', (t) => {
  const seed = seedOr(41);
  const random = new Random(seed);
  t.diagnostic(`seed ${seed}`);
  let log = new Log();
  let led = member(t, false);
  let follows = member(t, true);
  led.file.lead(log);
  const act = (db: typeof led.file.database): void => {
    const name = `n${random.below(12)}`;
    const kind = random.below(5);
    if (kind === 0)
      db.prepare('INSERT OR REPLACE INTO parents (name, at) VALUES (?, ?)').run(name, random.below(9) / 2);
    else if (kind === 1)
      db.prepare('INSERT OR IGNORE INTO parents (name, body) VALUES (?, ?)').run(name, Buffer.from(name));
    else if (kind === 2) db.prepare('DELETE FROM parents WHERE name < ?').run(name.slice(0, 2));
    else if (kind === 3) db.prepare('UPDATE parents SET at = at + $by WHERE name > $name').run({ name, by: 1 });
    else db.prepare('INSERT INTO children (parent) SELECT id FROM parents WHERE name = ?').run(name);
  };
  for (let turn = 0; turn < timesOf({ suite: 150, soak: 5000 }); turn++) {
    const { database } = led.file;
    const isUndone = random.below(6) === 0;
    try {
      database.transaction(() => {
        for (let left = random.below(4); left >= 0; left--) act(database);
        if (isUndone) throw new Error('undone');
      })();
    } catch (error) {
      assert.equal((error as Error).message, 'undone');
    }
    if (random.below(10) > 0) continue;
    for (const record of log.records) follows.file.apply(record);
    assert.deepEqual(rowsOf(follows.raw), rowsOf(led.raw));
    led.raw.close();
    follows.raw.close();
    const former = led.path;
    log = new Log();
    log.put(led.file.sequence, new Uint8Array());
    led = member(t, false, follows.path);
    follows = member(t, true, former);
    led.file.lead(log);
    log.records.length = 0;
  }
});

/** A file with some derived rows: a `parents` row for each number up to the one in the record. */
function derivingMember(t: TestContext, path = join(temporaryDirectory(), 'file.db')) {
  const raw = connect(path);
  t.after(() => raw.close());
  const file: RecordedFile = new RecordedFile({
    ...{ database: raw, isFollowing: true, isLocal, mayDerive: (table) => table === 'parents' },
    derive: ([upTo]) => {
      const insert = file.database.prepare('INSERT OR IGNORE INTO parents (name) VALUES (?)');
      for (let number = 1; number <= Number(upTo); number++) insert.run(`n${number}`);
      file.database.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)').run('mine', String(upTo));
      if (upTo === 13) file.database.prepare('INSERT INTO children (parent) VALUES (1)').run();
    },
  });
  return { path, raw, file };
}

test('derived rows are one statement of a record, and come out the same elsewhere', (t) => {
  const { file, raw } = derivingMember(t);
  const log = new Log();
  file.leadHeld((record) => log.put(record.sequence, record.bytes));
  file.derive([3]);
  file.database.transaction(() => {
    file.database.prepare('DELETE FROM parents WHERE name = ?').run('n1');
    file.derive([4]);
  })();
  assert.deepEqual(
    log.records.map((record) => derivedValues(record)),
    [[[3]], [[4]]],
  );
  const follower = derivingMember(t);
  for (const record of log.records) follower.file.apply(record);
  assert.deepEqual(rowsOf(follower.raw), rowsOf(raw));
  assert.throws(() => file.derive([13]), /RECORDS-7/, 'a table whose rows no member derives');
  assert.equal(file.sequence, 2);

  const other = derivingMember(t);
  other.file.apply(log.records[0]!);
  other.raw.prepare('DELETE FROM parents WHERE name = ?').run('n2');
  assert.throws(() => other.file.apply(log.records[1]!), /record 2 derived 3 rows, and 2 where it was made/);
  assert.equal(other.file.sequence, 1);
  assert.throws(() => other.file.derive([5]), /RECORDS-3/, 'who follows derives by records alone');
});

test('a file that leads so has a record only once the log holds it', (t) => {
  const { file, raw, path } = derivingMember(t);
  const insert = file.database.prepare('INSERT INTO parents (name) VALUES (?)');
  const count = raw.prepare('SELECT count(*) FROM parents').pluck();
  const elsewhere = new Sqlite(path, { readonly: true });
  t.after(() => elsewhere.close());
  const committed = elsewhere.prepare('SELECT count(*) FROM parents').pluck();
  const seen: unknown[] = [];
  let isLost = false;
  file.leadHeld(({ sequence }) => {
    seen.push([sequence, committed.get()]);
    if (isLost) throw new Error('another member leads');
  });
  insert.run('a');
  insert.run('b');
  assert.deepEqual(
    seen,
    [
      [1, 0],
      [2, 1],
    ],
    'no other connection sees the row before',
  );
  isLost = true;
  assert.throws(() => insert.run('c'), /another member leads/);
  assert.deepEqual([count.get(), file.sequence, file.queue().length], [2, 2, 0]);
});

test('RECORDS-8: of a lead with older tables no record has what these do not know', (t) => {
  const { file, raw } = derivingMember(t);
  const empty = new Sqlite(':memory:');
  t.after(() => empty.close());
  empty.exec(SCHEMA);
  raw.exec(`ALTER TABLE parents ADD COLUMN motto TEXT NOT NULL DEFAULT ''; CREATE TABLE pets (id INTEGER) STRICT`);
  const log = new Log();
  file.leadHeld((record) => log.put(record.sequence, record.bytes), new OlderTables(empty));
  const insert = file.database.prepare('INSERT INTO parents (name) VALUES (?)');
  const refused = /RECORDS-8: the cluster has to be raised first .*: (no such table: pets|.*no column named motto)/;
  for (const sql of ['INSERT INTO pets VALUES (1)', "INSERT INTO parents (name, motto) VALUES ('b', 'c')"]) {
    const change = file.database.transaction(() => {
      insert.run('a');
      file.database.prepare(sql).run();
    });
    assert.throws(change, refused);
  }
  assert.deepEqual([raw.prepare('SELECT count(*) FROM parents').pluck().get(), log.records.length], [0, 0], 'nothing');
  insert.run('a');
  file.derive([2]);
  const follower = derivingMember(t);
  for (const record of log.records) follower.file.apply(record);
  assert.equal(follower.raw.prepare('SELECT count(*) FROM parents').pluck().get(), 3, 'the others repeat the rest');

  empty.exec('DROP TABLE parents');
  const fewer = derivingMember(t);
  fewer.file.leadHeld((record) => log.put(record.sequence, record.bytes), new OlderTables(empty));
  assert.throws(() => fewer.file.derive([3]), /RECORDS-8: .*no such table: parents/, 'the others would derive fewer');
});
