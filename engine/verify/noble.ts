/**
 * The reference verifier: public key recovery in plain TypeScript by @noble/curves, on every platform. It decides what
 * is right; the native one only has to agree with it, faster.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { HASH_BYTES } from '../../shared/hex.ts';
import type { Keccak256 } from '../../shared/keccak.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit, SIGNATURE_BYTES } from './signature.ts';
import type { Verifier } from './verifier.ts';

export function nobleVerifier(keccak: Keccak256): Verifier {
  // The library wants the recovery bit first: bit | r | s.
  const recoverable = new Uint8Array(SIGNATURE_BYTES);
  return {
    name: 'noble',
    verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset) {
      const bit = recoveryBit(signature, signatureOffset);
      if (bit === NOT_CANONICAL) return false;
      recoverable[0] = bit;
      recoverable.set(signature.subarray(signatureOffset, signatureOffset + SIGNATURE_BYTES - 1), 1);
      const publicKey = recover(recoverable, digest.subarray(digestOffset, digestOffset + HASH_BYTES));
      return publicKey !== undefined && isAddressOf(publicKey.subarray(1), keccak, signerAddress, signerOffset);
    },
  };
}

/** Undefined when r is not the x of a curve point or the key would be the point at infinity: the library throws. */
function recover(recoverable: Uint8Array, digest: Uint8Array): Uint8Array | undefined {
  try {
    return secp256k1.Signature.fromBytes(recoverable, 'recovered').recoverPublicKey(digest).toBytes(false);
  } catch {
    return undefined;
  }
}
