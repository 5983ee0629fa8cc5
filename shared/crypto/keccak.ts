/**
 * Keccak-256 from @noble/hashes: the reference, synchronous and always available, also in browsers. fastKeccak.ts has a
 * faster form.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';

/** 32 fresh bytes. The input is read before the call returns, so callers reuse their buffers. */
export type Keccak256 = (data: Uint8Array) => Uint8Array;

export const keccak256: Keccak256 = (data) => keccak_256(data);
