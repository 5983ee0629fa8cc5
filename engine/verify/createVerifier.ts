/** The choice of a verifier by the configuration and by what loads on this platform. */
import { type Keccak256, keccak256 } from '../../shared/crypto/keccak.ts';
import type { VerifierChoice } from '../../shared/wire/threads.ts';
import { nativeVerifier } from './native.ts';
import { nobleVerifier } from './noble.ts';
import type { Verifier } from './verifier.ts';

/** `native` throws where the addon does not load; `auto` falls back to the reference there. */
export function createVerifier(choice: VerifierChoice, keccak: Keccak256 = keccak256): Verifier {
  if (choice === 'noble') return nobleVerifier(keccak);
  try {
    return nativeVerifier(keccak);
  } catch (error) {
    if (choice === 'auto') return nobleVerifier(keccak);
    throw new Error('verifier: the native secp256k1 addon does not load on this platform', { cause: error });
  }
}
