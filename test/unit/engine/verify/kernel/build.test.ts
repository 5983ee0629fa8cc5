/** The kernel that runs is the one whose sources one can read: by their hashes here, by compiling in the soak. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HASHES, hashesOf, KERNELS, kernelUrl } from '../../../../kernel/build.ts';

const MOST_BYTES = 64 * 1024;

test('neither the kernels nor the sources beside them were changed without the others', () => {
  const kept = KERNELS.map((kernel) => readFileSync(kernelUrl(kernel)));
  assert.equal(readFileSync(HASHES, 'utf8'), hashesOf(kept), 'npm run kernel was not run');
  for (const wasm of kept) assert.ok(wasm.length < MOST_BYTES, `${wasm.length} bytes`);
});
