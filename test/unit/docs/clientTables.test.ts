/** The document of tables that clients can fill misses none (data/docs/tables.md). */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { Journal } from '../../../engine/journal/journal.ts';
import { openSettlementDb } from '../../../engine/settlement/settlementDb.ts';
import { openControlDatabase } from '../../../gateway/base/database.ts';
import { READ_DB_SCHEMA } from '../../../shared/tables/readDb.ts';
import { temporaryDirectory } from '../../support/directory.ts';
import { TEST_KEY } from '../../support/journalKey.ts';

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
const text = readFileSync(join(PROJECT, 'data/docs/tables.md'), 'utf8');
const schema = (name: string): string => readFileSync(join(PROJECT, `data/schema/${name}.sql`), 'utf8');

function tablesOf(database: Database.Database): string[] {
  return database
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
}

test('every table of control.db is listed once, with who adds rows to it, and none that is not there', () => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const tables = tablesOf(database);
  database.close();
  const section = text.split('## Tables of control.db')[1]!.split('\n## ')[0]!;
  const listed = [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names]) => names!.match(/\w+/g) ?? []);
  assert.deepEqual(listed.toSorted(), tables.toSorted());
});

/** The tables of a file as its owner makes it. */
const MADE: Readonly<Record<string, (path: string) => Database.Database>> = {
  journal: (path) => {
    Journal.open({ journalPath: path, journalSync: 'normal', shard: 0, shards: 1, key: TEST_KEY }).close();
    return new Database(path);
  },
  'read.db': (path) => new Database(path).exec(READ_DB_SCHEMA),
  'settlement.db': openSettlementDb,
  'idempotency.db': (path) => new Database(path).exec(schema('idempotency')),
  'ramp.db': (path) => new Database(path).exec(schema('ramp-001')),
  'polymarket.db': (path) => new Database(path).exec(schema('polymarket-001')),
  'a file with records': (path) => new Database(path).exec(schema('records')),
};

for (const [file, make] of Object.entries(MADE)) {
  test(`every table of ${file} is listed once, with who adds rows to it, and none that is not there`, () => {
    const database = make(join(temporaryDirectory(), 'made.db'));
    const tables = tablesOf(database);
    database.close();
    const section = text.split('## Tables of the other databases')[1]!.split('\n## ')[0]!;
    const rows = section.split('\n').filter((line) => line.startsWith(`| ${file} | `));
    const listed = rows.flatMap((line) => line.split(' | ')[1]!.match(/\w+/g) ?? []);
    assert.ok(listed.length > 0);
    assert.deepEqual(listed.toSorted(), tables.toSorted());
  });
}

test('every schema and migration of data/schema is of a file whose tables are listed', () => {
  const known = /^(?:(?:control|settlement)-\d+|ramp-001|polymarket-001|idempotency|records|log)\.sql$/;
  const names = readdirSync(join(PROJECT, 'data/schema'));
  assert.deepEqual(
    names.filter((name) => !known.test(name)),
    [],
  );
});

test('every source that is named for a table in memory is there', () => {
  const paths = [...text.matchAll(/`((?:gateway|engine)\/[\w./-]+)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 40);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(PROJECT, path))),
    [],
  );
});
