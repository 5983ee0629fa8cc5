/** A batch of signatures, checked in steps. */
import { check } from './check';
import { hashOrder, SIGNATURE_OF_RECORD, SIGNER_OF_RECORD } from './order';

export const MOST_BATCH = 32;
export const UNDECIDED = 0;
export const ACCEPTED = 1;
export const REFUSED = 2;

/** A signature of the batch: digest, signature, address of the signer, verdict. */
const ITEM: usize = 144;
const SIGNATURE: usize = 32;
const SIGNER: usize = 112;
const VERDICT: usize = 132;
const items = memory.data(4608, 16);

let count = 0;
let next = 0;

export function beginBatch(): void {
  count = 0;
  next = 0;
}

export function addToBatch(digest: usize, signature: usize, signer: usize): void {
  const item = items + ITEM * count++;
  memory.copy(item, digest, 32);
  memory.copy(item + SIGNATURE, signature, 65);
  memory.copy(item + SIGNER, signer, 20);
  store<u32>(item, UNDECIDED, VERDICT);
}

/** Hashes the order at RECORD, and adds its signature. */
export function addOrderToBatch(digest: usize): void {
  hashOrder(digest);
  addToBatch(digest, SIGNATURE_OF_RECORD, SIGNER_OF_RECORD);
}

/** @returns whether every signature that could be decided is. */
export function stepBatch(random: usize): bool {
  if (next < count) {
    const item = items + ITEM * next++;
    store<u32>(item, check(item, item + SIGNATURE, item + SIGNER) ? ACCEPTED : REFUSED, VERDICT);
  }
  return next >= count;
}

export function verdictOf(index: i32): i32 {
  return load<i32>(items + ITEM * index, VERDICT);
}
