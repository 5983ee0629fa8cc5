/** The kernel that runs is the one whose sources one can read: by their hashes here, by compiling in the soak. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HASHES, hashesOf, WASM } from '../../../../kernel/build.ts';

const MOST_BYTES = 64 * 1024;

test('neither kernel.wasm nor the sources beside it were changed without the other', () => {
  const kept = readFileSync(WASM);
  assert.equal(readFileSync(HASHES, 'utf8'), hashesOf(kept), 'npm run kernel was not run');
  assert.ok(kept.length < MOST_BYTES, `${kept.length} bytes`);
});
