/** A fused kernel that cannot be loaded leaves the plain one, which works, and the reason, for the log. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Instance from '../../../../../engine/verify/kernel/instance.ts';
import { BEST_VARIANT, FUSED_PROBLEM } from '../../../../../engine/verify/kernel/instance.ts';
import { temporaryDirectory } from '../../../../support/directory.ts';

const KERNEL = fileURLToPath(new URL('../../../../../engine/verify/kernel', import.meta.url));
const FUSED = 'kernelFused.wasm';

/** Loads the kernels of a folder whose fused one was changed. */
async function loaded(change: (path: string) => void): Promise<typeof Instance> {
  const folder = temporaryDirectory();
  for (const name of ['instance.ts', 'kernel.wasm', FUSED]) copyFileSync(join(KERNEL, name), join(folder, name));
  change(join(folder, FUSED));
  return (await import(pathToFileURL(join(folder, 'instance.ts')).href)) as typeof Instance;
}

for (const [name, change, problem] of [
  ['is missing', (path: string) => rmSync(path), /ENOENT.*kernelFused\.wasm/],
  ['is cut off', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -1000)), /CompileError/],
  ['is empty', (path: string) => writeFileSync(path, ''), /CompileError/],
] as const) {
  test(`a fused kernel that ${name} is a problem that is named, and the plain one serves`, async () => {
    const instance = await loaded(change);
    assert.equal(instance.BEST_VARIANT, 'plain');
    assert.match(instance.FUSED_PROBLEM ?? '', problem);
    assert.ok(instance.instantiate(instance.OWN_PAGES).exports.canRun());
  });
}

test('whole kernels are no problem, whichever of them this processor can run', async () => {
  assert.equal(FUSED_PROBLEM, null);
  const { BEST_VARIANT: best, FUSED_PROBLEM: problem } = await loaded(() => undefined);
  assert.deepEqual([best, problem], [BEST_VARIANT, null]);
});
