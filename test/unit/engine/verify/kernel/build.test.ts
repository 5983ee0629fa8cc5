/** The kernel that runs is the one whose sources one can read. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compileKernel, hashOfSources, SOURCES_HASH, WASM } from '../../../../kernel/build.ts';

const MOST_BYTES = 64 * 1024;

test('kernel.wasm is the sources beside it, compiled, to the byte', async () => {
  assert.equal(readFileSync(SOURCES_HASH, 'utf8').trim(), hashOfSources(), 'npm run kernel was not run');
  const kept = readFileSync(WASM);
  const compiled = await compileKernel();
  assert.ok(kept.equals(compiled), 'kernel.wasm differs from what its sources compile to');
  assert.ok(kept.length < MOST_BYTES, `${kept.length} bytes`);
});
