/**
 * The reference verifier: public key recovery in plain TypeScript by @noble/curves, on every platform. Its verdict is
 * the definition; the other verifiers agree with it and are faster.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { HASH_BYTES } from '../../shared/base/hex.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit, SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import type { Verifier } from './verifier.ts';

export function nobleVerifier(keccak: Keccak256): Verifier {
  return {
    name: 'noble',
    verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset) {
      const bit = recoveryBit(signature, signatureOffset);
      if (bit === NOT_CANONICAL) return false;
      const publicKey = recover(bit, signature, signatureOffset, digest, digestOffset);
      return publicKey !== undefined && isAddressOf(publicKey.subarray(1), keccak, signerAddress, signerOffset);
    },
  };
}

/** The layout that the library expects: recovery bit, r, s. */
const recoverable = new Uint8Array(SIGNATURE_BYTES);

/** Undefined if the library throws: r is not the x of a curve point, or the key would be the point at infinity. */
function recover(
  bit: number,
  signature: Uint8Array,
  signatureOffset: number,
  digest: Uint8Array,
  digestOffset: number,
): Uint8Array | undefined {
  recoverable[0] = bit;
  recoverable.set(signature.subarray(signatureOffset, signatureOffset + SIGNATURE_BYTES - 1), 1);
  try {
    const hash = digest.subarray(digestOffset, digestOffset + HASH_BYTES);
    return secp256k1.Signature.fromBytes(recoverable, 'recovered').recoverPublicKey(hash).toBytes(false);
  } catch {
    return undefined;
  }
}
