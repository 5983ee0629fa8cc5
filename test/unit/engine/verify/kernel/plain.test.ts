/**
 * The plain kernel, for processors without fused multiplication and addition, has the tests of the kernel that runs
 * here: this file runs them again with it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BEST_VARIANT } from '../../../../../engine/verify/kernel/instance.ts';
import { testPlainKernel } from '../../../../support/kernelVariant.ts';
import { seedOr } from '../../../../support/seeds.ts';

const INSTANCE = new URL('../../../../../engine/verify/kernel/instance.ts', import.meta.url);
const UNFUSED_BATCHES = fileURLToPath(new URL('../../../../support/unfusedBatches.ts', import.meta.url));
const SEED = seedOr(3);

testPlainKernel();
await import('./arithmetic.test.ts');
await import('./batchVerdicts.test.ts');
await import('./ecdsaVectors.test.ts');
await import('./forgeries.test.ts');
await import('./verdicts.test.ts');

/** Runs a process whose V8 has these flags. @returns what it prints */
function printed(...args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...args]);
  assert.equal(stderr.toString(), '');
  return stdout.toString().trim();
}

function chosen(...flags: string[]): string {
  const code = `console.log((await import('${INSTANCE}')).BEST_VARIANT);`;
  return printed(...flags, '--input-type=module', '-e', code);
}

/** ARM has these instructions always. */
const NOT_FUSED = '--no-enable-fma3';
const ONLY_X64 = process.arch === 'x64' ? false : 'V8 always fuses here';

test('each compiler of V8 fuses where the other one does, so one look is enough', () => {
  for (const compiler of ['--liftoff-only', '--no-liftoff']) assert.equal(chosen(compiler), BEST_VARIANT);
});

test('where multiplication and addition are not fused, the plain kernel is chosen', { skip: ONLY_X64 }, () => {
  for (const compiler of ['--liftoff-only', '--no-liftoff']) assert.equal(chosen(NOT_FUSED, compiler), 'plain');
});

test('where they are not fused after all, batches of the fused kernel are left open', { skip: ONLY_X64 }, () => {
  const counts = printed(NOT_FUSED, UNFUSED_BATCHES, String(SEED));
  assert.deepEqual(JSON.parse(counts), { alone: 16, acceptedGood: 0, acceptedForged: 0 }, `seed ${SEED}`);
  if (BEST_VARIANT !== 'fused') return;
  const { acceptedGood, acceptedForged } = JSON.parse(printed(UNFUSED_BATCHES, String(SEED)));
  assert.deepEqual([acceptedGood, acceptedForged], [100, 0], 'and decided where they are');
});
