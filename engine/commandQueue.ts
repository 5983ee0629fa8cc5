/**
 * The commands a shard has seen in its ring and not run yet, in ring order. They stay in the ring's memory, so that a
 * ring full of work is full for the gateway too; here is only what the question "who must not be overtaken?" needs.
 * Owner: the shard's thread. An ordinal counts the commands that ever queued here.
 */
import { assert } from '../shared/assert.ts';
import { CLOSE_REASON } from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import type { RecordMemory } from '../shared/record.ts';

// Own constants for speed: see emit.ts.
const cmd = { ...commands };

export const NO_BARRIER = -1;
const HASH_WORDS = 8;
const SHORTEST_COMMAND_BYTES = Math.min(...cmd.COMMAND_BYTES.slice(1));

/** Commands that carry a signature: they bring an order in, and are what is worth overtaking. */
export function isSigned(type: number): boolean {
  return type === cmd.COMMAND.PLACE || type === cmd.COMMAND.REPLACE;
}

export class CommandQueue {
  /** Ordinals: of the first command that waits, and of the next one to come. */
  first = 0;
  end = 0;
  readonly #ring: RecordMemory;
  readonly #mask: number;
  readonly #word: Uint32Array;
  readonly #type: Uint8Array;
  readonly #account: Uint32Array;
  readonly #market: Uint32Array;
  #replacements = 0;

  /** @param capacity of the ring, in bytes. */
  constructor(ring: RecordMemory, capacity: number) {
    // A power of two, as the ring's capacity is one: room for a ring full of the shortest commands.
    let size = 1;
    while (size * SHORTEST_COMMAND_BYTES < capacity) size *= 2;
    this.#ring = ring;
    this.#mask = size - 1;
    this.#word = new Uint32Array(size);
    this.#type = new Uint8Array(size);
    this.#account = new Uint32Array(size);
    this.#market = new Uint32Array(size);
  }

  get isEmpty(): boolean {
    return this.first === this.end;
  }

  get length(): number {
    return this.end - this.first;
  }

  /** Where in the ring the command with this ordinal is. */
  wordOf(ordinal: number): number {
    return this.#word[ordinal & this.#mask]!;
  }

  isSignedAt(ordinal: number): boolean {
    return isSigned(this.#type[ordinal & this.#mask]!);
  }

  push(word: number): void {
    const { words } = this.#ring;
    const at = this.end & this.#mask;
    const type = words[word + cmd.CMD_TYPE]! & 0xffff;
    assert(this.end - this.first <= this.#mask, 'queue: it has room for all commands of a ring');
    this.#word[at] = word;
    this.#type[at] = type;
    this.#account[at] = words[word + cmd.CMD_ACCOUNT]!;
    this.#market[at] = words[word + cmd.CMD_MARKET]!;
    if (type === cmd.COMMAND.REPLACE) this.#replacements++;
    this.end++;
  }

  /** Removes the first. */
  shift(): void {
    assert(!this.isEmpty, 'queue: what is removed was there');
    if (this.#type[this.first & this.#mask] === cmd.COMMAND.REPLACE) this.#replacements--;
    this.first++;
  }

  /**
   * The last command up to the ordinal `last` that a CANCEL or CANCEL_MANY must not overtake (S5), or NO_BARRIER.
   * @param word of the cancel in the ring; @param isKnown whether the order of a CANCEL has been accepted, now or ever.
   */
  barrier(word: number, isKnown: boolean, last = this.end - 1): number {
    const { words } = this.#ring;
    const isMany = (words[word + cmd.CMD_TYPE]! & 0xffff) === cmd.COMMAND.CANCEL_MANY;
    const isOnlyReplaced = !isMany && isKnown;
    if (isOnlyReplaced && this.#replacements === 0) return NO_BARRIER;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const market = words[word + cmd.CMD_MARKET]!;
    // The administrator cancels a single order whoever placed it.
    const isAnybody = !isMany && (words[word + cmd.CMD_FLAGS]! & 0xff) === CLOSE_REASON.ADMIN;
    for (let ordinal = last; ordinal >= this.first; ordinal--) {
      const at = ordinal & this.#mask;
      if (!isSigned(this.#type[at]!) || (this.#account[at] !== account && !isAnybody)) continue;
      if (isMany && market !== cmd.NO_MARKET && this.#market[at] !== market) continue;
      if (isOnlyReplaced && !this.#isReplacing(at, word)) continue;
      return ordinal;
    }
    return NO_BARRIER;
  }

  /** Whether the waiting command replaces the very order that is to be cancelled. */
  #isReplacing(at: number, cancelWord: number): boolean {
    if (this.#type[at] !== cmd.COMMAND.REPLACE) return false;
    const { words } = this.#ring;
    const hash = this.#word[at]! + cmd.REPLACE_HASH;
    for (let i = 0; i < HASH_WORDS; i++) {
      if (words[hash + i] !== words[cancelWord + cmd.CANCEL_HASH + i]) return false;
    }
    return true;
  }
}
