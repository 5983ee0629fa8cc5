/** Records of statements as bytes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RecordError, type SqlValue } from '../../../../shared/records/bytes.ts';
import {
  decodeStatements,
  encodeStatements,
  linkAfter,
  NO_LINK,
  parameterNames,
  withColumns,
  writtenTable,
} from '../../../../shared/records/statements.ts';

type Written = SqlValue | { bytes: string } | { bigint: string };
const vector = JSON.parse(readFileSync(new URL('../../../vectors/statementRecord.json', import.meta.url), 'utf8'));

const toValue = (written: Written): SqlValue => {
  if (written === null || typeof written !== 'object' || written instanceof Uint8Array) return written;
  return 'bytes' in written ? Buffer.from(written.bytes, 'hex') : BigInt(written.bigint);
};
const statements = vector.statements.map((each: { values: Written[] }) => ({
  ...each,
  values: each.values.map(toValue),
}));

test('a record keeps its bytes from version to version', () => {
  const bytes = encodeStatements({ link: NO_LINK, statements });
  assert.equal(bytes.toString('hex'), vector.bytes);
  assert.deepEqual(decodeStatements(bytes), { link: NO_LINK, statements });
});

test('values come back as SQLite was given them', () => {
  const values = [0, -0, 1, -1, 127, 128, 2 ** 53 - 1, -(2 ** 53) + 1, 0.1, -1e300, 2 ** 60, 7n, '', 'ß\u0000', null];
  const link = linkAfter(Buffer.from('another record'));
  const back = decodeStatements(encodeStatements({ link, statements: [{ sql: 'DELETE FROM t', values, changes: 2 }] }));
  assert.deepEqual(back.link, link);
  assert.ok(back.statements[0]!.values.every((value, at) => Object.is(value, values[at])));
});

test('a record that is cut anywhere, or goes on after its end, is refused', () => {
  const bytes = encodeStatements({ link: NO_LINK, statements });
  for (let end = 0; end < bytes.length; end++) {
    assert.throws(() => decodeStatements(bytes.subarray(0, end)), RecordError, `${end} bytes`);
  }
  assert.throws(() => decodeStatements(Buffer.concat([bytes, Buffer.alloc(1)])), /after its end/);
  assert.throws(() => decodeStatements(Buffer.concat([Buffer.from([2]), bytes])), /version 2/);
});

test('parameters are named in the order in which the SQL has them first', () => {
  assert.deepEqual(parameterNames('INSERT INTO t VALUES ($b, @a, $b, :c_2)'), ['b', 'a', 'c_2']);
  assert.deepEqual(parameterNames('INSERT INTO t VALUES (?, ?)'), []);
});

test('a statement names the columns that it writes, where it leaves them out', () => {
  const columnsOf = (table: string): readonly string[] => (table === 't' ? ['a', 'b'] : []);
  const named = (sql: string): string => withColumns(sql, columnsOf);
  assert.equal(named('INSERT INTO t VALUES ($x, 1)'), 'INSERT INTO t (a, b) VALUES ($x, 1)');
  assert.equal(named('INSERT OR REPLACE INTO t\n  VALUES (?, ?)'), 'INSERT OR REPLACE INTO t (a, b)\n  VALUES (?, ?)');
  assert.equal(named('insert into t select 1, 2'), 'insert into t (a, b) select 1, 2');
  for (const sql of ['INSERT INTO t (a) VALUES (1)', 'INSERT INTO t(b) SELECT 1', 'UPDATE t SET a = 1']) {
    assert.equal(named(sql), sql);
  }
});

test('a record is of statements that write one table', () => {
  assert.equal(writtenTable('INSERT OR REPLACE INTO a VALUES (1)'), 'a');
  assert.equal(writtenTable('\n  update b SET x = 1'), 'b');
  assert.equal(writtenTable('DELETE FROM c'), 'c');
  assert.throws(() => writtenTable('DROP TABLE c'), RecordError);
});
