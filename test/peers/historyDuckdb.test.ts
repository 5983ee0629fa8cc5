/** DuckDB, as it comes from npm, reads the public history (RULES.md 13.15): the rows are those of the CSV. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import { type HistoryManifest, historyColumns } from '../../shared/base/historyTables.ts';
import { fileRows } from '../../shared/client/cli/history/verifyDay.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { JournaledShard } from '../support/journaledShard.ts';
import type { Json } from '../support/server.ts';

const SEED = 5822;
const DAY_MS = 86_400_000;
const PEERS = new URL('package.json', import.meta.url);
const NO_DUCKDB = existsSync(new URL('node_modules/@duckdb/node-api', PEERS))
  ? false
  : 'DuckDB is not installed: npm ci --prefix test/peers';
const TYPES = { text: 'VARCHAR', int32: 'INTEGER', int64: 'BIGINT' } as const;

test('DuckDB reads every Parquet file of a day with the columns and rows of its CSV', { skip: NO_DUCKDB }, async () => {
  const shard = new JournaledShard(SEED, 7);
  shard.trade(300);
  shard.rig.nowMs += DAY_MS;
  const historyDir = temporaryDirectory();
  const [day] = await writeHistory([shard.file], historyDir, shard.rig.nowMs + DAY_MS);
  const folder = join(historyDir, day!);
  const manifest: HistoryManifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  // By a variable: its types are not there where it is not installed.
  const { DuckDBInstance }: Json = await import(pathToFileURL(createRequire(PEERS).resolve('@duckdb/node-api')).href);
  const instance = await DuckDBInstance.create(':memory:');
  const db = await instance.connect();
  let rowsOfAll = 0;
  for (const { table, format, path, rows } of manifest.files) {
    if (format !== 'parquet') continue;
    const expected = [];
    const csv = join(folder, path.replace(/parquet$/, 'csv.gz'));
    for await (const row of fileRows(csv, table)) expected.push(row);
    const read = await db.runAndReadAll(`SELECT * FROM read_parquet('${join(folder, path)}')`);
    const columns = historyColumns(table).map(([name, { type }]) => [name, TYPES[type]]);
    assert.deepEqual(
      columns.map(([name], at) => [name, String(read.columnType(at))]),
      columns,
      path,
    );
    assert.deepEqual(
      read.columnNames(),
      columns.map(([name]) => name),
    );
    const found = read.getRowObjects();
    assert.equal(found.length, rows);
    assert.deepEqual(
      found,
      expected.map((row) => ({ ...row })),
      `${path}, seed ${SEED}`,
    );
    rowsOfAll += rows;
  }
  assert.ok(rowsOfAll > 300, `seed ${SEED}`);
  const sum = await db.runAndReadAll(
    `SELECT count(*) AS n FROM read_parquet('${join(folder, 'trades.parquet')}') JOIN
     read_csv('${join(folder, 'trades.csv.gz')}') USING (trade_id)`,
  );
  assert.equal(sum.getRowObjects()[0].n, BigInt(manifest.files.find(({ path }) => path === 'trades.parquet')!.rows));
  db.closeSync();
  instance.closeSync();
});
