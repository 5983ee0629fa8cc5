/** The check of one signature, alone: against the tables of a known signer, otherwise by recovery of its key. */
import { equals, fromBytes, isOdd, normalise, toBytes } from './element';
import { keccak } from './keccak';
import * as point from './point';
import { recoverKey } from './recover';
import { invertScalar, multiplyScalars, scalarFromBytes } from './scalar';
import { NOT_CANONICAL, recoveryBit, S } from './signature';
import * as signers from './signers';
import { GENERATOR, GENERATOR_WIDTH, NEXT_GENERATOR } from './table';
import { addScalarTerms, ALONE, beginTerms, evaluate, sortTerms } from './terms';

let keepsTables: bool = true;
const X = memory.data(48, 16);
const Y = memory.data(48, 16);
const R = memory.data(48, 16);
const U = memory.data(48, 16);
const INVERSE = memory.data(48, 16);
const KEY_BYTES = memory.data(64, 16);
const ADDRESS: usize = KEY_BYTES + 12;

export function setKeepsTables(keeps: bool): void {
  keepsTables = keeps;
}

/** @returns true if the address signed the digest. */
export function check(digest: usize, signature: usize, address: usize): bool {
  const bit = recoveryBit(signature);
  if (bit == NOT_CANONICAL) return false;
  const entry = keepsTables ? signers.findSigner(address) : 0;
  if (entry != 0) {
    while (!signers.hasTables(entry)) signers.makeSignerTable(entry);
    return isSignedBy(entry, digest, signature, bit);
  }
  if (!recoverKey(X, Y, digest, signature, bit) || !isAddressOf(address)) return false;
  if (keepsTables) signers.keepSigner(address, X, Y);
  return true;
}

/** @returns true if (z G + r Q) / s is the point that r and the recovery bit name. */
function isSignedBy(entry: usize, digest: usize, signature: usize, bit: i32): bool {
  scalarFromBytes(INVERSE, signature + S);
  invertScalar(INVERSE, INVERSE);
  beginTerms(ALONE);
  scalarFromBytes(U, digest);
  multiplyScalars(U, U, INVERSE);
  addScalarTerms(U, false, GENERATOR, NEXT_GENERATOR, GENERATOR_WIDTH);
  scalarFromBytes(U, signature);
  multiplyScalars(U, U, INVERSE);
  addScalarTerms(U, false, signers.tableOf(entry), signers.NEXT_TABLE, signers.SIGNER_WIDTH);
  sortTerms();
  evaluate();
  if (point.isInfinity) return false;
  point.toAffine(X, Y);
  normalise(X);
  normalise(Y);
  fromBytes(R, signature);
  return equals(X, R) && isOdd(Y) == (bit == 1);
}

/** @returns true if the key in X and Y has this address, which is not zero. */
function isAddressOf(address: usize): bool {
  toBytes(KEY_BYTES, X);
  toBytes(KEY_BYTES + 32, Y);
  keccak(KEY_BYTES, KEY_BYTES, 64);
  const low = load<u64>(address);
  const middle = load<u64>(address, 8);
  const high = load<u32>(address, 16);
  if ((low | middle | high) == 0) return false;
  return low == load<u64>(ADDRESS) && middle == load<u64>(ADDRESS, 8) && high == load<u32>(ADDRESS, 16);
}
