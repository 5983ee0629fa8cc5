/** Compiling the kernels again gives the committed bytes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compileKernel, KERNELS, kernelUrl } from './build.ts';

for (const kernel of KERNELS) {
  test(`${kernel.name} is the sources beside it, compiled, to the byte`, async () => {
    const kept = readFileSync(kernelUrl(kernel));
    assert.ok(kept.equals(await compileKernel(kernel)), `${kernel.name} differs from what its sources compile to`);
  });
}
