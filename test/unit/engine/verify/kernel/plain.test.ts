/**
 * The plain kernel, for processors without fused multiplication and addition, has the tests of the kernel that runs
 * here: this file runs them again with it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { BEST_VARIANT } from '../../../../../engine/verify/kernel/instance.ts';
import { testPlainKernel } from '../../../../support/kernelVariant.ts';

const INSTANCE = new URL('../../../../../engine/verify/kernel/instance.ts', import.meta.url);

testPlainKernel();
await import('./arithmetic.test.ts');
await import('./batchVerdicts.test.ts');
await import('./ecdsaVectors.test.ts');
await import('./forgeries.test.ts');
await import('./verdicts.test.ts');

test('where multiplication and addition are not fused, the plain kernel is chosen', () => {
  const chosen = (...flags: string[]): string => {
    const code = `console.log((await import('${INSTANCE}')).BEST_VARIANT);`;
    const options = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '-e', code];
    const { stdout, stderr } = spawnSync(process.execPath, options);
    assert.equal(stderr.toString(), '');
    return stdout.toString().trim();
  };
  assert.equal(chosen(), BEST_VARIANT);
  // ARM has these instructions always.
  if (process.arch === 'x64') assert.equal(chosen('--no-enable-fma3'), 'plain');
});
