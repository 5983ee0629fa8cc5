/** The functions that kernel.ts calls, and the places in memory where it leaves their arguments. */
import { addToBatch, beginBatch, stepBatch, verdictOf } from './batch';
import { check, setKeepsTables } from './check';
import { hashOrder, RECORD, SEPARATOR, STRUCT } from './order';
import { beginSigners, bytesOfSigners, findSigner } from './signers';
import { makeGeneratorTables } from './table';

/** Digest, signature and address of the signer that is checked alone, or added to the batch. */
export const DIGEST = memory.data(32, 16);
export const SIGNATURE = memory.data(80, 16);
export const SIGNER = memory.data(32, 16);
/** Random bytes, written by kernel.ts. */
export const RANDOM = memory.data(4096, 16);

export * from './variant';

/** The arithmetic, for the tests that run it at the ends of its bounds. */
export { halve, isZero, normalise, squareRoot } from './element';
export { multiply, multiplyLess, multiplyLessTimes, square, squareLessTimes, squareTimes, squareTriple } from './field';
export { invertElement } from './point';
export { addScalars, invertScalar, multiplyScalars, negateScalar } from './scalar';
export { beginBatch, bytesOfSigners, RECORD, SEPARATOR, stepBatch, STRUCT as TYPE_HASH, verdictOf };

/** Where the cache of signers may begin. */
export function freeMemory(): usize {
  return __heap_base;
}

/** `secret`: 24 random bytes. */
export function begin(signersAt: usize, signers: usize, secret: usize, keepsTables: bool): void {
  setKeepsTables(keepsTables);
  beginSigners(signersAt, signers, secret);
  makeGeneratorTables();
}

export function verify(): bool {
  return check(DIGEST, SIGNATURE, SIGNER);
}

/** @returns true if the key of SIGNER is kept. */
export function isKnown(): bool {
  return findSigner(SIGNER) != 0;
}

/** Writes the digest of RECORD to DIGEST. */
export function placeDigest(): void {
  hashOrder(DIGEST);
}

export function add(): void {
  addToBatch(DIGEST, SIGNATURE, SIGNER);
}
