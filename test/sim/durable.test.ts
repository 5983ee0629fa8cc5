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

test('every commit has synced the WAL before it returns, in its thread or in that of the syncer', {
  skip: !isTraceable && 'strace may not trace',
}, () => {
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
  let beside = 0;
  const threads = new Set<string>();
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    const [thread] = line.split(' ', 1);
    // A sync during which another thread writes is shown as two lines; only one of them names the file.
    if (/\bf(data)?sync\(\d+<[^>]*journal\.db-wal>/.test(line)) threads.add(thread!);
    if (/\bf(data)?sync(\(\d+<[^>]*journal\.db-wal>| resumed>)\) += 0/.test(line)) synced++;
    beside = Number(/"beside (\d+)/.exec(line)?.[1] ?? beside);
    if (!line.includes('"committed ')) continue;
    commits++;
    assert.ok(synced > 0, `commit ${commits} has synced the WAL`);
    synced = 0;
  }
  assert.deepEqual([commits, threads.size], [COMMITS, 2]);
  assert.ok(beside > 0, 'something was done beside the syncs');
});
