/** The files that `npm test` runs, and the ones that share a process. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** In a process of its own: the names are read where the files are listed. */
function filesOf(names: string): string[] {
  const program = `import { suiteFiles } from './test/support/together.ts'; console.log(suiteFiles().join(' '))`;
  const args = [...STRIPPED_BEFORE, '--input-type=module', '-e', program];
  const env = { ...process.env, TEST_NAMES: names };
  return execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' }).trim().split(' ');
}

test('without a name the suite has all of its files, each group by an entry that is there', () => {
  const files = filesOf('');
  assert.ok(files.includes('test/together/engine1.ts') && files.includes('test/sim/equivalence.test.ts'));
  assert.deepEqual(
    files.filter((file) => !existsSync(join(ROOT, file))),
    [],
  );
});

test('each entry runs its group: an empty one would pass and leave all its tests out', () => {
  const entries = globSync('test/together/*.ts', { cwd: ROOT });
  assert.ok(entries.length > 10);
  for (const entry of entries) {
    const call = new RegExp(`^await run(?:Together|OneAfterTheOther)\\('${basename(entry, '.ts')}'\\);$`, 'm');
    assert.match(readFileSync(join(ROOT, entry), 'utf8'), call, entry);
  }
});

test('no group of the suite is a long test: it would run twice, and long files would hold up the others', () => {
  const program = `import { longSuiteFiles, suiteFiles } from './test/support/together.ts';
    const suite = new Set(suiteFiles()); console.log(longSuiteFiles().filter((file) => suite.has(file)).join())`;
  const args = [...STRIPPED_BEFORE, '--input-type=module', '-e', program];
  const env = { ...process.env, TEST_NAMES: '' };
  assert.equal(execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' }).trim(), '');
});

test('with names it has the groups that have such files, and files of their own', () => {
  const names = 'unit/tidy sim/equivalence cluster/day';
  const files = ['test/together/small.ts', 'test/together/soakOnly.ts', 'test/sim/equivalence.test.ts'];
  assert.deepEqual(filesOf(names), files);
});

test('a name that no file has is refused', () => {
  const args = [...STRIPPED_BEFORE, 'test/main.ts', 'unit/nothing', 'of/this'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /^no file of npm test has unit\/nothing or of\/this in its path$/m);
});
