/**
 * A verifier by libsecp256k1, which recovers the key of every signature: a peer of the kernel in tests, and the way of
 * the bare path in benches.
 */
import type { Verifier } from '../../engine/verify/verifier.ts';
import { HASH_BYTES } from '../../shared/base/hex.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import {
  isAddressOf,
  NOT_CANONICAL,
  PUBLIC_KEY_BYTES,
  recoveryBit,
  SIGNATURE_BYTES,
} from '../../shared/crypto/signature.ts';
import { loadSecp256k1 } from './secp256k1.ts';

/** Throws when no binary of the optional package fits this platform. */
export function nativeVerifier(keccak: Keccak256): Verifier {
  const secp256k1 = loadSecp256k1();
  // Every call copies into these: a subarray for each argument would allocate.
  const rs = new Uint8Array(SIGNATURE_BYTES - 1);
  const message = new Uint8Array(HASH_BYTES);
  const publicKey = new Uint8Array(PUBLIC_KEY_BYTES);
  const publicKeyXY = publicKey.subarray(1);
  return {
    name: 'native',
    verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset) {
      const bit = recoveryBit(signature, signatureOffset);
      if (bit === NOT_CANONICAL) return false;
      for (let index = 0; index < rs.length; index++) rs[index] = signature[signatureOffset + index];
      for (let index = 0; index < HASH_BYTES; index++) message[index] = digest[digestOffset + index];
      try {
        secp256k1.ecdsaRecover(rs, bit, message, false, publicKey);
      } catch {
        // r is not the x of a curve point, or the key would be the point at infinity.
        return false;
      }
      return isAddressOf(publicKeyXY, keccak, signerAddress, signerOffset);
    },
  };
}
