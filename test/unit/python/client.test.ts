/**
 * The Python client: what follows from declarations is written anew after a change of them, its types are strict, and
 * it signs, counts and hashes as the vectors of other libraries do. Without Debian's packages the tests say so.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { modelFilesThere, pythonFiles } from '../../docs/python/main.ts';
import { temporaryDirectory } from '../../support/directory.ts';
import { MYPY, NO_MYPY, NO_PYTHON, PYTHON_CLIENT, PYTHON_TESTS, runPython } from '../../support/pythonPrograms.ts';
import { tracked } from '../tidy/sources.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('models and exceptions of the Python client are those of the interface today', async () => {
  const files = await pythonFiles();
  for (const [path, text] of files) {
    assert.equal(readFileSync(path, 'utf8'), text, `${path} is old: npm run docs writes it`);
  }
  assert.deepEqual(
    modelFilesThere().filter((path) => !files.has(path)),
    [],
  );
});

test('no file of Python is wider than 120 columns or longer than 399 lines, and none has a float for money', () => {
  const files = tracked().filter((path) => path.endsWith('.py'));
  for (const path of files) {
    const lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
    assert.ok(lines.length <= 400, `${path} has ${lines.length - 1} lines`);
    for (const line of lines) assert.ok(line.length <= 120, `${path}: ${line}`);
    if (path.includes('/models/')) assert.doesNotMatch(lines.join('\n'), /\bfloat\b/, path);
  }
});

test('mypy finds nothing in the Python client, as strict as it can be', { skip: NO_PYTHON || NO_MYPY }, () => {
  const args = ['-m', 'mypy', '--cache-dir', temporaryDirectory()];
  const { status, stdout, stderr } = spawnSync(MYPY!, args, { cwd: PYTHON_CLIENT, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('the Python client signs and counts as the vectors of other libraries do', { skip: NO_PYTHON }, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'vectors.py'), join(ROOT, 'test/vectors')]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^41 orders, 6 requests, 10 books, \d+ at the market, \d+ refusals\n$/);
});

test('the Python client repeats what may be repeated, and says what became of the rest', { skip: NO_PYTHON }, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'faults.py')]);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'every fault is met\n');
});

test('books, private events and heartbeats of the Python client heal, or say that they cannot', {
  skip: NO_PYTHON,
}, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'streams.py'), join(ROOT, 'test/vectors')]);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'every stream heals\n');
});

test('after frames that are spoiled in any way the book is the exchange’s, and no private event is lost unnoticed', {
  skip: NO_PYTHON,
}, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'bad_frames.py'), '7', '4']);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'every frame is met\n');
});

test('a session of the Python client that expires or ends while it is used is renewed once, or says so', {
  skip: NO_PYTHON,
}, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'sessions.py')]);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'every session ends in words\n');
});

test('what a hostile server answers the Python client, and a clumsy caller asks it, ends in errors of words', {
  skip: NO_PYTHON,
}, () => {
  const { status, stdout, stderr } = runPython([join(PYTHON_TESTS, 'hostile.py'), '7', '300']);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'every answer is met\n');
});
