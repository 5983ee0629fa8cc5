/** One question behind an interface: did this address sign this digest? Both answers to it agree on every input. */
import { type Keccak256, keccak256 } from '../../shared/keccak.ts';
import type { VerifierChoice } from '../../shared/threads.ts';
import { nativeVerifier } from './native.ts';
import { nobleVerifier } from './noble.ts';

/** Offsets are bytes. A verifier reuses its buffers: one per thread. */
export type Verifier = {
  readonly name: 'noble' | 'native';
  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean;
};

/** `native` throws where the addon does not load; `auto` takes the reference there. */
export function createVerifier(choice: VerifierChoice, keccak: Keccak256 = keccak256): Verifier {
  if (choice === 'noble') return nobleVerifier(keccak);
  try {
    return nativeVerifier(keccak);
  } catch (error) {
    if (choice === 'auto') return nobleVerifier(keccak);
    throw new Error('verifier: the native secp256k1 addon does not load on this platform', { cause: error });
  }
}
