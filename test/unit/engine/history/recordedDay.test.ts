/** The recorded day of the demo as files of the public history, made and checked by the programs that people run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { HistoryManifest } from '../../../../shared/base/historyTables.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { recordedDays } from '../../../support/recordedDay.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DAY = '2027-06-01';

function run(program: string, ...args: string[]): { readonly status: number | null; readonly out: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, join(ROOT, program), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, out: stdout + stderr };
}

test('RULES.md 13.15: pmx history verify finds a recorded day of the demo right, and one byte more in it wrong', () => {
  const { file } = recordedDays();
  const historyDir = join(temporaryDirectory(), 'history');
  const written = run('engine/admin/main.ts', 'history', 'write', historyDir, '--data', file.directory);
  assert.equal(written.status, 0, written.out);
  const verify = () => run('shared/client/cli/main.ts', 'history', 'verify', join(historyDir, DAY));
  const right = verify();
  assert.equal(right.status, 0, right.out);
  const [, events, books] = /, 4 markets, (\d+) events, (\d+) books: all as the history says/.exec(right.out)!;
  assert.ok(Number(events) > 500 && Number(books) > 60, right.out);
  const { files }: HistoryManifest = JSON.parse(readFileSync(join(historyDir, DAY, 'manifest.json'), 'utf8'));
  const { path } = files.find(({ table, format }) => table === 'trades' && format === 'parquet')!;
  appendFileSync(join(historyDir, DAY, path), 'x');
  const wrong = verify();
  assert.notEqual(wrong.status, 0);
  assert.match(wrong.out, new RegExp(`${path}: not the file of the manifest`));
});
