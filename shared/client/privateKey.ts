/** A private key of secp256k1: its address, and what it signs. Nothing here is Node's alone. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ADDRESS_BYTES, toHex, tryParseHex, UINT256_BYTES } from '../base/hex.ts';
import { checksumAddress } from '../crypto/checksumAddress.ts';
import { keccak256 } from '../crypto/keccak.ts';

const PRIVATE_KEY_BYTES = 32;
const SIGNATURE_BYTES = 65;
const V_OFFSET = 27;

/** Errors never contain the text: it may be a key with one character too many. */
export function privateKeyBytes(privateKey: string): Uint8Array {
  const bytes = new Uint8Array(PRIVATE_KEY_BYTES);
  if (!tryParseHex(privateKey, PRIVATE_KEY_BYTES, bytes, 0) || !secp256k1.utils.isValidSecretKey(bytes)) {
    throw new RangeError('the private key is not 0x and 64 hex digits of a valid key');
  }
  return bytes;
}

/** The wallet address of a private key, with its check sum, as every answer shows it. */
export function addressOf(privateKey: string): string {
  const publicKey = secp256k1.getPublicKey(privateKeyBytes(privateKey), false);
  return checksumAddress(toHex(keccak256(publicKey.subarray(1)), UINT256_BYTES - ADDRESS_BYTES, ADDRESS_BYTES));
}

/** The library puts the recovery bit first; the wire wants r | s | v with v 27 or 28. */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): string {
  const recoverable = secp256k1.sign(digest, privateKey, { prehash: false, lowS: true, format: 'recovered' });
  const signature = new Uint8Array(SIGNATURE_BYTES);
  signature.set(recoverable.subarray(1));
  signature[SIGNATURE_BYTES - 1] = V_OFFSET + recoverable[0];
  return toHex(signature);
}

/** EIP-191: the length is that of the text in bytes. */
export function signText(text: string, privateKey: string): string {
  const encoder = new TextEncoder();
  const message = encoder.encode(text);
  const prefix = encoder.encode(`\x19Ethereum Signed Message:\n${message.length}`);
  return signDigest(keccak256(new Uint8Array([...prefix, ...message])), privateKeyBytes(privateKey));
}
