/** Chooses the verifier by the configuration. */
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import type { VerifierChoice } from '../../shared/wire/threads.ts';
import { Kernel } from './kernel/kernel.ts';
import { nobleVerifier } from './noble.ts';
import type { BatchVerifier, Verifier } from './verifier.ts';

export function createVerifier(choice: VerifierChoice, keccak: Keccak256): Verifier | BatchVerifier {
  return choice === 'noble' ? nobleVerifier(keccak) : new Kernel();
}
