/**
 * libsecp256k1 through the npm package `secp256k1`, a peer of tests and benches. Its binding is loaded directly: the
 * package's own entry silently falls back to a slow and less careful JavaScript curve.
 */
import { createRequire } from 'node:module';

type Secp256k1 = {
  /** Throws if there is no such key. @returns `output`. */
  ecdsaRecover(
    signature: Uint8Array,
    recoveryBit: number,
    digest: Uint8Array,
    compressed: boolean,
    output: Uint8Array,
  ): Uint8Array;
  ecdsaVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { readonly signature: Uint8Array; readonly recid: number };
};

/** Throws when no binary of the package fits this platform. */
export function loadSecp256k1(): Secp256k1 {
  return createRequire(import.meta.url)('secp256k1/bindings.js') as Secp256k1;
}
