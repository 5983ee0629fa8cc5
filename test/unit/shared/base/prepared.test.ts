import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { prepared, preparedValue } from '../../../../shared/base/prepared.ts';

test('a connection prepares a text once, and another connection its own', () => {
  const [one, other] = [new Database(':memory:'), new Database(':memory:')];
  const sql = 'SELECT 1 AS a, 2 AS b';
  assert.equal(prepared(one, sql), prepared(one, sql));
  assert.notEqual(prepared(one, sql), prepared(other, sql));
  assert.notEqual(prepared(one, sql), prepared(one, `${sql} `));
  one.close();
  assert.deepEqual(prepared(other, sql).get(), { a: 1, b: 2 });
  other.close();
});

test('PREPARED-1: a text that is read as rows and as values has a statement for each', () => {
  const db = new Database(':memory:');
  const sql = 'SELECT 1 AS a, 2 AS b';
  const rows = prepared(db, sql);
  assert.equal(preparedValue<[], number>(db, sql).get(), 1);
  assert.deepEqual(rows.get(), { a: 1, b: 2 });
  assert.deepEqual(prepared(db, sql).all(), [{ a: 1, b: 2 }]);
  assert.equal(preparedValue<[], number>(db, sql), preparedValue<[], number>(db, sql));
  db.close();
});
