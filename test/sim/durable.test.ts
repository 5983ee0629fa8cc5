/**
 * The simulator assumes, and cannot show, that a commit has reached the disk when it returns. The system calls of a
 * real process show it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';

const COMMITS = 20;
const COMMITTER = fileURLToPath(new URL('commits.ts', import.meta.url));
const isTraceable = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

test('every commit has synced the WAL before it returns', { skip: !isTraceable && 'strace may not trace' }, () => {
  const directory = temporaryDirectory();
  const trace = join(directory, 'trace');
  const arguments_ = ['-f', '-y', '-o', trace, '-e', 'trace=fsync,fdatasync,write', process.execPath];
  const { status, stderr } = spawnSync('strace', [
    ...arguments_,
    COMMITTER,
    join(directory, 'journal.db'),
    `${COMMITS}`,
  ]);
  assert.equal(status, 0, stderr.toString());
  let synced = 0;
  let commits = 0;
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    if (/\bf(data)?sync\(\d+<[^>]*journal\.db-wal>\) += 0/.test(line)) synced++;
    if (!line.includes('"committed ')) continue;
    commits++;
    assert.ok(synced > 0, `commit ${commits} has synced the WAL`);
    synced = 0;
  }
  assert.equal(commits, COMMITS);
});
