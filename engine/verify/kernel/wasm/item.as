/** The signatures of a batch: what was asked, the verdict, and what equation.as computes of each. */
import { SLOT } from './field';
import { R_ENTRY } from './rTable';

/** Offsets in an item. */
export const DIGEST: usize = 0;
export const SIGNATURE: usize = 32;
export const SIGNER: usize = 112;
export const VERDICT: usize = 132;
export const BIT: usize = 136;
/** The signer's entry in the cache, and its sum (equation.as). */
export const ENTRY: usize = 140;
/** The record of a pair. */
export const PAIR: usize = 148;
/** Two words of 64 random bits. */
export const RANDOM: usize = 160;
export const S_SCALAR: usize = 176;
/** The product of s and those of the items before. */
export const PRODUCT: usize = S_SCALAR + SLOT;
export const R_TABLE: usize = PRODUCT + SLOT;
const ITEM: usize = R_TABLE + 2 * R_ENTRY;
const items = memory.data(<i32>(32 * ITEM), 16);

export const UNDECIDED = 0;
export const ACCEPTED = 1;
export const REFUSED = 2;

@inline
export function itemAt(index: usize): usize {
  return items + ITEM * index;
}

/** The address of the field of an item. */
@inline
export function linkOf(item: usize, field: usize): usize {
  return load<usize>(item + field);
}

@inline
export function setLink(item: usize, field: usize, to: usize): void {
  store<usize>(item + field, to);
}
