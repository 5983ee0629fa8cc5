/** The document of tables that clients can fill misses none (data/docs/tables.md). */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openControlDatabase } from '../../../gateway/store/database.ts';
import { temporaryDirectory } from '../../support/directory.ts';

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
const text = readFileSync(join(PROJECT, 'data/docs/tables.md'), 'utf8');

test('every table of control.db is listed once, with who adds rows to it, and none that is not there', () => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
  database.close();
  const section = text.split('## Tables of control.db')[1]!.split('\n## ')[0]!;
  const listed = [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names]) => names!.match(/\w+/g) ?? []);
  assert.deepEqual(listed.toSorted(), tables.toSorted());
});

test('every source that is named for a table in memory is there', () => {
  const paths = [...text.matchAll(/`((?:gateway|engine)\/[\w./-]+)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 40);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(PROJECT, path))),
    [],
  );
});
