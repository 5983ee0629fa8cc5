/**
 * 32-bit numbers by index, all zero at first, in parts of which those that are never written do not exist. So growing
 * copies nothing, and indexes that are not in use cost nothing. Owner: the thread that made it.
 *
 * Invariants:
 *   PARTEDWORDS-1  A number is the one last written at its index, 0 before.
 */
import { assert } from './assert.ts';

const PART_SHIFT = 16;
const PART = 1 << PART_SHIFT;

export class PartedWords {
  readonly #parts: (Uint32Array | undefined)[] = [];

  get(index: number): number {
    const part = this.#parts[index >>> PART_SHIFT];
    return part === undefined ? 0 : part[index & (PART - 1)];
  }

  set(index: number, value: number): void {
    this.partOf(index)[index & (PART - 1)] = value;
  }

  /** The part that has the index, for a caller whose numbers lie together in one. @returns its words */
  partOf(index: number): Uint32Array {
    const at = index >>> PART_SHIFT;
    assert(index >= 0 && index <= 0xffff_ffff, 'PARTEDWORDS-1: an index has 32 bits');
    while (this.#parts.length <= at) this.#parts.push(undefined);
    const part = this.#parts[at];
    if (part !== undefined) return part;
    const made = new Uint32Array(PART);
    this.#parts[at] = made;
    return made;
  }

  /** The place of an index in its part. */
  static placeOf(index: number): number {
    return index & (PART - 1);
  }
}
