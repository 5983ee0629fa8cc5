/** The declarations of read.db: everything derived from one, and that the schema belongs to its version. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { READ_DB_SCHEMA, READ_DB_VERSION } from '../../../../shared/tables/readDb.ts';
import {
  ASSIGNED_KEY,
  BLOB,
  INTEGER,
  insert,
  insertMany,
  NULLABLE_TEXT,
  select,
  table,
} from '../../../../shared/tables/table.ts';

/** Change it together with READ_DB_VERSION: a file with the same version and another schema is used as it is. */
const SCHEMA_OF_VERSION = { version: 31, sha256: '333becdc3f578f890cb8699c1e06e3a8476cecee24d4b0976fed5326f7e070e3' };

const PARCELS = table(
  'parcels',
  { id: ASSIGNED_KEY, weight: INTEGER, label: NULLABLE_TEXT, seal: BLOB },
  { indexes: ['INDEX parcels_weight ON parcels (weight)'] },
);

test('the schema of read.db changes only with its version', () => {
  const sha256 = createHash('sha256').update(READ_DB_SCHEMA).digest('hex');
  assert.deepEqual({ version: READ_DB_VERSION, sha256 }, SCHEMA_OF_VERSION);
});

test('SQLite takes the schema of read.db', () => {
  const db = new Database(':memory:');
  db.exec(READ_DB_SCHEMA);
  const count = db.prepare<[], number>("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck();
  assert.equal(count.get(), 48);
});

test('a declared table is created, written and read by its columns', () => {
  const db = new Database(':memory:');
  db.exec(PARCELS.schema);
  db.prepare(insert(PARCELS)).run({ weight: 5, label: null, seal: new Uint8Array([7]) });
  db.prepare(insertMany(PARCELS, 2)).run(6, 'six', new Uint8Array([8]), 7, 'seven', new Uint8Array([9]));
  const { sql } = select(PARCELS, 'id', 'label');
  const rows = db.prepare(`SELECT ${sql} FROM parcels ORDER BY id`).all();
  assert.deepEqual(rows, [
    { id: 1, label: null },
    { id: 2, label: 'six' },
    { id: 3, label: 'seven' },
  ]);
  assert.deepEqual(PARCELS.inserted, ['weight', 'label', 'seal'], 'SQLite assigns the key');
});

test('a row that is written twice is refused, or replaced where that is said', () => {
  const pairs = table('pairs', { a: INTEGER, b: INTEGER, c: INTEGER }, { primaryKey: 'a, b', withoutRowid: true });
  const db = new Database(':memory:');
  db.exec(pairs.schema);
  db.prepare(insert(pairs)).run({ a: 1, b: 2, c: 3 });
  assert.throws(() => db.prepare(insert(pairs)).run({ a: 1, b: 2, c: 4 }), /UNIQUE/);
  db.prepare(insert(pairs, 'OR REPLACE')).run({ a: 1, b: 2, c: 4 });
  assert.deepEqual(db.prepare('SELECT * FROM pairs').all(), [{ a: 1, b: 2, c: 4 }]);
});
