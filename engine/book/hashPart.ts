/**
 * One part of the index of hashes (hashIndex.ts): marks and entries in one piece of memory. A mark is one byte: 0 of an
 * entry that is free, else 128 + seven bits of the keyed hash. Those of four entries, a group, are one word. The words
 * of all groups come first, then the entries. Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';

export const ENTRY_WORDS = 6;
export const GROUP_ENTRIES = 4;
/** The word of marks, and the entries. */
export const GROUP_WORDS = 1 + GROUP_ENTRIES * ENTRY_WORDS;
/** Of a keyed hash the highest 10 bits are the part, those below give the first group, the lowest 7 the mark. */
export const PART_SHIFT = 22;
const GROUP_BITS = (1 << PART_SHIFT) - 1;
const GROUPS_SCALE = 1 / (1 << PART_SHIFT);
const MARK_BITS = 8;
const IN_USE = 0x80;
const LONGEST_SEARCH = 256;
/** The lowest and the highest bit of each mark of a group. */
const ONE_OF_EACH = 0x01010101;
const HIGHEST_OF_EACH = 0x80808080 | 0;

/** @returns where the entry with this hash begins, or the complement of the group in which it would be sought last. */
export function search(part: Uint32Array, tag: number, words: Uint32Array, word: number): number {
  const groups = groupsOf(part);
  const sought = Math.imul(markOf(tag), ONE_OF_EACH);
  let group = homeOf(tag, groups);
  while (groups > 0) {
    const inGroup = part[group] | 0;
    const differing = inGroup ^ sought;
    // The highest bit of each byte that is 0, where the marks are equal. A borrow may set one bit too many, never one
    // too few.
    let alike = (differing - ONE_OF_EACH) & ~differing & HIGHEST_OF_EACH;
    for (; alike !== 0; alike &= alike - 1) {
      const entry = entryAt(groups, group * GROUP_ENTRIES + memberOf(alike));
      if (isSame(part, entry, words, word)) return entry;
    }
    if ((inGroup & HIGHEST_OF_EACH) !== HIGHEST_OF_EACH) break;
    if (++group === groups) group = 0;
  }
  return ~group;
}

export function groupsOf(part: Uint32Array): number {
  return (part.length / GROUP_WORDS) | 0;
}

/** The order of the entries stays, so that a part is written from front to back. */
export function copyEntry(from: Uint32Array, entry: number, into: Uint32Array, groups: number, tag: number): void {
  const to = free(into, groups, homeOf(tag, groups), tag);
  for (let word = 0; word < ENTRY_WORDS; word++) into[to + word] = from[entry + word];
}

/** Takes the first free entry from this group on. @returns where it begins */
export function free(part: Uint32Array, groups: number, from: number, tag: number): number {
  let group = from;
  while ((part[group] & HIGHEST_OF_EACH) === HIGHEST_OF_EACH) if (++group === groups) group = 0;
  const index = memberOf(~part[group] & HIGHEST_OF_EACH);
  part[group] |= markOf(tag) << (index * MARK_BITS);
  return entryAt(groups, group * GROUP_ENTRIES + index);
}

/** Where the entries in use begin. Slow: only for snapshots and checks. */
export function entriesOf(part: Uint32Array): number[] {
  const groups = groupsOf(part);
  const entries: number[] = [];
  for (let index = 0; index < groups * GROUP_ENTRIES; index++)
    if (isInUse(part, index)) entries.push(entryAt(groups, index));
  return entries;
}

export function entryAt(groups: number, index: number): number {
  return groups + index * ENTRY_WORDS;
}

export function isInUse(part: Uint32Array, index: number): boolean {
  return ((part[index >>> 2] >>> ((index & 3) * MARK_BITS)) & IN_USE) !== 0;
}

export function isSame(a: Uint32Array, at: number, b: Uint32Array, word: number): boolean {
  return a[at] === b[word] && a[at + 1] === b[word + 1] && a[at + 2] === b[word + 2] && a[at + 3] === b[word + 3];
}

/** The mark of an entry with this keyed hash. */
function markOf(tag: number): number {
  return IN_USE | (tag & (IN_USE - 1));
}

/** The first group of a search. */
export function homeOf(tag: number, groups: number): number {
  return ((tag & GROUP_BITS) * groups * GROUPS_SCALE) | 0;
}

/** Of a group's entries, the one of the lowest bit that is set. */
function memberOf(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >>> 3;
}

/** Asserts HASHES-5 of one part. */
export function checkSearches(part: Uint32Array): void {
  const groups = groupsOf(part);
  let run = 0;
  for (let group = 0; group < groups; group++) {
    run = (part[group] & HIGHEST_OF_EACH) === HIGHEST_OF_EACH ? run + 1 : 0;
    assert(run < LONGEST_SEARCH, 'HASHES-5: the entries are spread over the groups');
  }
}
