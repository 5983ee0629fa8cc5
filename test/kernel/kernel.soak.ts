/** Compiling the kernel again gives the committed bytes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compileKernel, WASM } from './build.ts';

test('kernel.wasm is the sources beside it, compiled, to the byte', async () => {
  assert.ok(readFileSync(WASM).equals(await compileKernel()), 'kernel.wasm differs from what its sources compile to');
});
