/**
 * The kernel that tests use: the variant that exchanges on this machine use, or the plain one, if a file that runs the
 * same tests again says so (test/unit/engine/verify/kernel/plain.test.ts).
 */
import { BEST_VARIANT, type Variant } from '../../engine/verify/kernel/instance.ts';

let tested: Variant = BEST_VARIANT;

export function testPlainKernel(): void {
  tested = 'plain';
}

export function testedVariant(): Variant {
  return tested;
}
