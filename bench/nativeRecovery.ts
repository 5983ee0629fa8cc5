/**
 * The unit for the speed of signatures and orders: the time of one key recovery by the npm package secp256k1, alone on
 * one thread. It shows how fast this processor is, whatever the exchange verifies with.
 */
import { loadSecp256k1 } from '../test/support/secp256k1.ts';
import { Histogram } from './histogram.ts';

const DIGEST_BYTES = 32;
const PUBLIC_KEY_BYTES = 65;

/** Every signature is different, as with orders. */
const SIGNATURES = 256;

/** Recovers keys for this long. @returns the median of one recovery. */
export function recoveryUs(seconds: number): number {
  const { ecdsaRecover, ecdsaSign } = loadSecp256k1();
  const privateKey = new Uint8Array(DIGEST_BYTES).fill(0x33);
  const signed = Array.from({ length: SIGNATURES }, (_, index) => {
    const digest = new Uint8Array(DIGEST_BYTES).fill(index);
    return { digest, ...ecdsaSign(digest, privateKey) };
  });
  const publicKey = new Uint8Array(PUBLIC_KEY_BYTES);
  const each = new Histogram();
  let nowMs = performance.now();
  const endMs = nowMs + seconds * 1000;
  for (let index = 0; nowMs < endMs; index = (index + 1) % SIGNATURES) {
    const { signature, recid, digest } = signed[index];
    ecdsaRecover(signature, recid, digest, false, publicKey);
    const doneMs = performance.now();
    each.record((doneMs - nowMs) * 1e6);
    nowMs = doneMs;
  }
  return each.quantileUs(0.5);
}
