/** The copy of the project for planted faults and mutants: the ways in which a test may fail there, and the reports. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { treeOf } from '../support/processTree.ts';
import { type Failure, ProjectCopy } from '../support/projectCopy.ts';

const LIMIT_MS = 120_000;
const MB = 1024 ** 2;
const ONLY_LINUX = process.platform === 'linux' ? false : 'the memory of a process is known on Linux alone';

let copy: ProjectCopy;
before(() => {
  copy = new ProjectCopy();
});

/** Runs a test file with this text. */
async function failureOf(text: string, limitMs = LIMIT_MS, mostBytes?: number): Promise<Failure | null> {
  const path = 'test/made.test.ts';
  writeFileSync(join(copy.root, path), `import assert from 'node:assert';\nimport { test } from 'node:test';\n${text}`);
  return copy.failureOf(path, limitMs, {}, mostBytes);
}

const TAKES = `const taken: Uint8Array[] = [];
  for (;;) {
    taken.push(new Uint8Array(16 * ${MB}).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }`;

test('a test that passes has not failed', async () => {
  assert.equal(await failureOf("test('passes', () => undefined);"), null);
});

test('a test that fails is known by its words', async () => {
  const failure = await failureOf("test('fails', () => assert.ok(false, 'two is not three'));");
  assert.deepEqual(failure, { message: 'two is not three', hasNoEnd: false, isWordless: false, isNoProgram: false });
});

test('a file that ends outside of its tests is known by the words of its error', async () => {
  const failure = await failureOf("test('is asked', () => undefined);\nthrow new TypeError('no market');");
  assert.equal(failure?.message, 'TypeError: no market');
  assert.deepEqual([failure.hasNoEnd, failure.isWordless], [false, false]);
});

test('a process that says nothing has failed without a word', async () => {
  const failure = await failureOf("test('ends', () => process.exit(3));");
  assert.equal(failure?.isWordless, true);
});

test('a test that takes more time than it may is ended, and that is said', async () => {
  const failure = await failureOf("test('waits', () => new Promise((resolve) => setTimeout(resolve, 1e8)));", 2000);
  assert.deepEqual([failure?.hasNoEnd, failure?.message], [true, 'it did not end']);
});

test('a test that takes more memory than it may is ended, and that is said', { skip: ONLY_LINUX }, async () => {
  const failure = await failureOf(`test('takes', async () => {\n  ${TAKES}\n});`, LIMIT_MS, 512 * MB);
  assert.equal(failure?.hasNoEnd, true);
  assert.match(failure.message, /^it took \d+\.\d GB of memory$/);
});

test('so is one whose child takes it, in a group of its own, and the child ends too', {
  skip: ONLY_LINUX,
}, async () => {
  const child = JSON.stringify(`(async () => { ${TAKES.replace(': Uint8Array[]', '')} })()`);
  const failure = await failureOf(
    `test('takes', async () => {
      const { spawn } = await import('node:child_process');
      const { pid } = spawn(process.execPath, ['-e', ${child}], { detached: true, stdio: 'ignore' });
      (await import('node:fs')).writeFileSync('pid', String(pid));
      await new Promise((resolve) => setTimeout(resolve, 1e8));
    });`,
    LIMIT_MS,
    512 * MB,
  );
  assert.match(failure?.message ?? '', /GB of memory$/);
  const pid = Number(copy.read('pid'));
  await eventually('the end of the child', async () => treeOf(pid).bytes === 0);
});
