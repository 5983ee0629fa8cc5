/** Batches as tests ask about them: of the kernel, which checks signatures together. */

import { VERDICT } from '../../engine/verify/kernel/instance.ts';
import { Kernel } from '../../engine/verify/kernel/kernel.ts';
import type { BatchVerifier } from '../../engine/verify/verifier.ts';
import { testedVariant } from './kernelVariant.ts';
import type { SignatureCase } from './signatureCases.ts';
import { asks } from './signatureOracle.ts';

/** Returns the verdicts of one batch, without checking undecided signatures again. */
export function batchVerdicts(verifier: BatchVerifier, cases: readonly SignatureCase[]): number[] {
  verifier.beginBatch();
  for (const { digest, signature, signer } of cases) verifier.addToBatch(digest, 0, signature, 0, signer, 0);
  while (!verifier.stepBatch());
  return cases.map((_, index) => verifier.verdictOf(index));
}

/** Returns the verdicts as a shard gets them: signatures that the batch leaves undecided are checked alone. */
export function decided(verifier: BatchVerifier, cases: readonly SignatureCase[]): boolean[] {
  const verdicts = batchVerdicts(verifier, cases);
  return cases.map((one, index) => {
    if (verdicts[index] === VERDICT.UNDECIDED) return asks(verifier, one);
    return verdicts[index] === VERDICT.ACCEPTED;
  });
}

export function createBatchVerifier(options: ConstructorParameters<typeof Kernel>[0] = {}): BatchVerifier {
  return new Kernel({ variant: testedVariant(), ...options });
}
