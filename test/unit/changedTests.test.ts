/** The tests that `npm test -- --changed` runs (support/changedTests.ts). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ChangedTests, changedFiles } from '../support/changedTests.ts';
import { temporaryDirectory } from '../support/directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const project = new ChangedTests(ROOT);

function touchedBy(...files: string[]): string[] {
  return project.of(files);
}

const CASES: readonly (readonly [what: string, changed: string, touched: string])[] = [
  ['a test runs itself', 'test/api/orders.test.ts', 'test/api/orders.test.ts'],
  ['a source runs the test at its path', 'shared/base/openDatabase.ts', 'test/unit/shared/base/openDatabase.test.ts'],
  ['a source runs the tests of its area over a server', 'engine/shard/loop.ts', 'test/fault/restart.test.ts'],
  ['a source runs the tests that import it', 'engine/settlement/settlementDb.ts', 'test/chain/engine.test.ts'],
  ['a file of support runs the tests that import it', 'test/support/redis.ts', 'test/fault/redis.test.ts'],
  ['also those that import it over another', 'test/support/fakeDatabase.ts', 'test/sim/cluster.test.ts'],
  ['a module that is preloaded counts as imported', 'test/support/hurry.mjs', 'test/fault/memory.test.ts'],
  [
    'a kernel runs the tests of the code that names it',
    'engine/verify/kernel/kernel.wasm',
    'test/unit/engine/verify/verify.test.ts',
  ],
  [
    'a schema runs the tests of the code that names its folder',
    'data/schema/control-001.sql',
    'test/unit/gateway/wiring/control.test.ts',
  ],
  ['a document runs the tests of documents', 'data/docs/chain.md', 'test/unit/docs/numbers.test.ts'],
  ['a package runs everything', 'package-lock.json', 'test/browser/page.test.ts'],
];

for (const [what, changed, touched] of CASES) {
  test(`${what}: ${changed}`, () => {
    const tests = touchedBy(changed);
    assert.ok(tests.includes(touched), tests.join('\n'));
    assert.ok(tests.includes('test/unit/tidy/code.test.ts'), 'any change runs the tests of the code as a whole');
  });
}

test('a source does not run the tests of every server, nor a document those of code', () => {
  assert.ok(touchedBy('gateway/account/statement.ts').length < 40);
  assert.ok(!touchedBy('gateway/account/statement.ts').includes('test/api/limits.test.ts'));
  assert.ok(!touchedBy('README.md').some((path) => !path.startsWith('test/unit/')));
  assert.deepEqual(touchedBy(), []);
});

test('changed are edited, removed and new files, and with a base also those of the commits since', () => {
  const root = temporaryDirectory();
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  const git = (...args: string[]) => execFileSync('git', [...author, ...args], { cwd: root });
  const write = (name: string, text: string) => writeFileSync(join(root, name), text);
  git('init', '--quiet', '--initial-branch=main');
  for (const name of ['edited', 'kept', 'removed', 'committed']) write(name, 'before');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
  git('checkout', '--quiet', '-b', 'branch');
  assert.deepEqual(changedFiles(root, null), []);
  write('committed', 'after');
  git('commit', '--quiet', '--all', '--message', 'second');
  write('edited', 'after');
  write('ünlike name', 'new');
  git('rm', '--quiet', 'removed');
  assert.deepEqual(changedFiles(root, null), ['edited', 'removed', 'ünlike name']);
  assert.deepEqual(changedFiles(root, 'main'), ['committed', 'edited', 'removed', 'ünlike name']);
});
