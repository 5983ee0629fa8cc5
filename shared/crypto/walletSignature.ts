/** Signatures of wallets over texts (EIP-191) and digests, made with an ordinary key. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, HASH_BYTES, tryParseHex } from '../base/hex.ts';
import { keccak256 } from './keccak.ts';
import { isAddressOf, NOT_CANONICAL, recoveryBit, SIGNATURE_BYTES } from './signature.ts';

/** Returns true if the key of the address has signed the text. @param signature 0x and 130 hex digits. */
export function isSignedBy(address: string, text: string, signature: string): boolean {
  return isDigestSignedBy(address, textDigest(text), signature);
}

/** Returns true if the key of the address has signed the digest. @param signature 0x and 130 hex digits. */
export function isDigestSignedBy(address: string, digest: Uint8Array, signature: string): boolean {
  const [bytes, signer] = [new Uint8Array(SIGNATURE_BYTES), new Uint8Array(ADDRESS_BYTES)];
  if (!tryParseHex(signature, SIGNATURE_BYTES, bytes, 0) || !tryParseHex(address, ADDRESS_BYTES, signer, 0))
    return false;
  const bit = recoveryBit(bytes, 0);
  if (bit === NOT_CANONICAL) return false;
  try {
    const publicKey = recover(bytes.subarray(0, SIGNATURE_BYTES - 1), bit, digest);
    return isAddressOf(publicKey.subarray(1), keccak256, signer, 0);
  } catch {
    // r is not the x of a curve point, or the key would be the point at infinity.
    return false;
  }
}

/** The bytes that a wallet signs for a text (EIP-191). */
export function textDigest(text: string): Uint8Array {
  const message = Buffer.from(text);
  const digest = keccak256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${message.length}`), message]));
  return digest.subarray(0, HASH_BYTES);
}

/** Takes a millisecond or two; the limits of sign-ins bound how often. */
function recover(rs: Uint8Array, bit: number, digest: Uint8Array): Uint8Array {
  const recoverable = Uint8Array.of(bit, ...rs);
  return secp256k1.Signature.fromBytes(recoverable, 'recovered').recoverPublicKey(digest).toBytes(false);
}
