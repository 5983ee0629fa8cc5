/**
 * The commands that a shard has read from its ring and not run yet, in ring order. Their bytes stay in the ring, so a
 * ring full of waiting commands is full for the gateway too; kept here are the fields that decide on overtaking.
 * Owner: the shard's thread. An ordinal is the number of a command among all that were ever queued.
 *
 * Invariants:
 *   QUEUE-1  Queued are the ordinals first ≤ ordinal < end. There are never more than there are commands in a full
 *            ring.
 *   QUEUE-2  The fields of a queued command are at ordinal & mask.
 *   QUEUE-3  replacements is the number of queued REPLACE commands.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { RecordMemory } from '../../shared/wire/record.ts';

const { ANY_COMMAND, COMMAND, NO_MARKET } = commands;
const { CANCEL, CANCEL_MANY, CONTRACTS, PLACE, REPLACE } = COMMAND;

export const NO_BARRIER = -1;
const HASH_WORDS = 8;
const SHORTEST_COMMAND_BYTES = Math.min(...Object.values(COMMAND).map(({ BYTES }) => BYTES));

/** Commands that place an order carry a signature. Checking it is slow, so only these are worth overtaking. */
function isSignedType(type: number): boolean {
  return type === PLACE.TYPE || type === REPLACE.TYPE;
}

export class CommandQueue {
  /** Ordinals of the first queued command, and of the next one that will be queued. */
  first = 0;
  end = 0;
  readonly ring: RecordMemory;
  readonly #mask: number;
  readonly #word: Uint32Array;
  readonly #type: Uint8Array;
  readonly #account: Uint32Array;
  readonly #market: Uint32Array;
  #replacements = 0;

  /** @param capacity of the ring, in bytes. */
  constructor(ring: RecordMemory, capacity: number) {
    // A power of two, so that a mask finds the cell of an ordinal.
    let size = 1;
    while (size * SHORTEST_COMMAND_BYTES < capacity) size *= 2;
    assert(size * SHORTEST_COMMAND_BYTES >= capacity, 'QUEUE-1: a ring full of the shortest commands has room');
    this.ring = ring;
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

  /** The word in the ring at which the queued command starts. */
  wordOf(ordinal: number): number {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#word[ordinal & this.#mask];
  }

  /** Also of the command that was removed last. */
  isSigned(ordinal: number): boolean {
    assert(ordinal >= this.first - 1 && ordinal < this.end, 'QUEUE-2: the fields are still those of the command');
    return isSignedType(this.#type[ordinal & this.#mask]);
  }

  /** True for a command after which orders are signed for other contracts. */
  changesDomain(ordinal: number): boolean {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#type[ordinal & this.#mask] === CONTRACTS.TYPE;
  }

  push(word: number): void {
    const { words } = this.ring;
    const at = this.end & this.#mask;
    const type = words[word + ANY_COMMAND.type] & 0xffff;
    assert(this.end - this.first <= this.#mask, 'QUEUE-1: all commands of a ring have room');
    this.#word[at] = word;
    this.#type[at] = type;
    this.#account[at] = words[word + ANY_COMMAND.account];
    this.#market[at] = words[word + ANY_COMMAND.market];
    if (type === REPLACE.TYPE) this.#replacements++;
    this.end++;
  }

  /** Removes the first. */
  shift(): void {
    assert(!this.isEmpty, 'QUEUE-1: only a queued command is removed');
    if (this.#type[this.first & this.#mask] === REPLACE.TYPE) this.#replacements--;
    assert(this.#replacements >= 0, 'QUEUE-3: no more replacements are removed than were queued');
    this.first++;
  }

  /**
   * The last queued command that a CANCEL or CANCEL_MANY must not overtake (LOOP-4), or NO_BARRIER.
   * @param word of the cancel in the ring.
   * @param isKnown whether the order of a CANCEL has been accepted, now or ever.
   * @param last the last ordinal that counts.
   */
  barrier(word: number, isKnown: boolean, last = this.end - 1): number {
    const { words } = this.ring;
    const isMany = (words[word + ANY_COMMAND.type] & 0xffff) === CANCEL_MANY.TYPE;
    const isOnlyReplaced = !isMany && isKnown;
    if (isOnlyReplaced && this.#replacements === 0) return NO_BARRIER;
    assert(last < this.end, 'QUEUE-1: the last that counts was queued');
    const account = words[word + ANY_COMMAND.account];
    const market = words[word + ANY_COMMAND.market];
    // The administrator may cancel a single order of any account.
    const isOfAnyAccount = !isMany && (words[word + ANY_COMMAND.flags] & 0xff) === CLOSE_REASON.ADMIN;
    for (let ordinal = last; ordinal >= this.first; ordinal--) {
      const at = ordinal & this.#mask;
      if (!isSignedType(this.#type[at]) || (this.#account[at] !== account && !isOfAnyAccount)) continue;
      if (isMany && market !== NO_MARKET && this.#market[at] !== market) continue;
      if (isOnlyReplaced && !this.#isReplacing(at, word)) continue;
      return ordinal;
    }
    return NO_BARRIER;
  }

  /** True if the queued command replaces the order that is to be cancelled. */
  #isReplacing(at: number, cancelWord: number): boolean {
    if (this.#type[at] !== REPLACE.TYPE) return false;
    const { words } = this.ring;
    const hash = this.#word[at] + REPLACE.oldHash;
    for (let i = 0; i < HASH_WORDS; i++) {
      if (words[hash + i] !== words[cancelWord + CANCEL.hash + i]) return false;
    }
    return true;
  }
}
