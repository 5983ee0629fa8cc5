/**
 * The commands that a shard has read from its rings and not run yet, in the order in which they were read. Their bytes
 * stay in their ring, so a ring full of waiting commands is full for its gateway too; this queue keeps only the fields
 * that decide on overtaking. Owner: the shard's thread. An ordinal is the number of a command among all that were ever
 * queued.
 *
 * Invariants:
 *   QUEUE-1  The ordinals first ≤ ordinal < end are queued. There are never more than fit into the full rings of all
 *            gateways.
 *   QUEUE-2  The fields of a queued command are at ordinal & mask.
 *   QUEUE-3  replacements is the number of queued REPLACE commands.
 *   QUEUE-4  Before firstOf[gateway] no command of that gateway is queued.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { RecordMemory } from '../../shared/wire/record.ts';
import { MOST_GATEWAYS } from './gateways.ts';

const { ANY_COMMAND, COMMAND, NO_MARKET } = commands;
const { CANCEL, CANCEL_MANY, CONTRACTS, PLACE, REPLACE } = COMMAND;

export const NO_BARRIER = -1;
const HASH_WORDS = 8;
const SHORTEST_COMMAND_BYTES = Math.min(...Object.values(COMMAND).map(({ BYTES }) => BYTES));
assert(MOST_GATEWAYS <= 256, 'QUEUE-2: the number of a gateway fits into a byte');

/** Commands that place an order carry a signature. Checking it is slow, so only these are worth overtaking. */
function isSignedType(type: number): boolean {
  return type === PLACE.TYPE || type === REPLACE.TYPE;
}

export class CommandQueue {
  /** Ordinals of the first queued command, and of the next one that will be queued. */
  first = 0;
  end = 0;
  /** By gateway number: the ring that holds its commands. */
  readonly #memory: RecordMemory[] = [];
  readonly #firstOf = new Float64Array(MOST_GATEWAYS);
  #mask = 0;
  #word = new Uint32Array(1);
  #type = new Uint8Array(1);
  #gateway = new Uint8Array(1);
  #account = new Uint32Array(1);
  #market = new Uint32Array(1);
  #replacements = 0;

  /** @param capacity of all rings, in bytes. */
  constructor(capacity: number) {
    this.reserve(capacity);
  }

  /** QUEUE-1. Makes room for the commands of rings with this many bytes in total. */
  reserve(capacity: number): void {
    const before = this.#mask;
    // A power of two, so that a mask finds the cell of an ordinal.
    let size = before + 1;
    while (size * SHORTEST_COMMAND_BYTES < capacity) size *= 2;
    if (size - 1 === before) return;
    this.#mask = size - 1;
    this.#word = this.#moved(this.#word, new Uint32Array(size), before);
    this.#type = this.#moved(this.#type, new Uint8Array(size), before);
    this.#gateway = this.#moved(this.#gateway, new Uint8Array(size), before);
    this.#account = this.#moved(this.#account, new Uint32Array(size), before);
    this.#market = this.#moved(this.#market, new Uint32Array(size), before);
  }

  /** QUEUE-2, with the command that was removed last. */
  #moved<C extends Uint8Array | Uint32Array>(from: C, to: C, mask: number): C {
    for (let ordinal = Math.max(0, this.first - 1); ordinal < this.end; ordinal++) {
      to[ordinal & this.#mask] = from[ordinal & mask];
    }
    return to;
  }

  get isEmpty(): boolean {
    return this.first === this.end;
  }

  get length(): number {
    return this.end - this.first;
  }

  /** The memory that holds the queued command at `wordOf`. */
  memoryOf(ordinal: number): RecordMemory {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#memory[this.#gateway[ordinal & this.#mask]];
  }

  /** The number of the gateway that has sent the queued command. */
  gatewayOf(ordinal: number): number {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#gateway[ordinal & this.#mask];
  }

  /** The first queued command of a gateway, or `end` when it has none. */
  firstOf(gateway: number): number {
    let ordinal = Math.max(this.#firstOf[gateway], this.first);
    while (ordinal < this.end && this.#gateway[ordinal & this.#mask] !== gateway) ordinal++;
    this.#firstOf[gateway] = ordinal;
    return ordinal;
  }

  /** The word in its ring at which the queued command starts. */
  wordOf(ordinal: number): number {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#word[ordinal & this.#mask];
  }

  /** Also valid for the command that was removed last. */
  isSigned(ordinal: number): boolean {
    assert(ordinal >= this.first - 1 && ordinal < this.end, 'QUEUE-2: the fields are still those of the command');
    return isSignedType(this.#type[ordinal & this.#mask]);
  }

  /** True for a command after which orders are signed for other contracts. */
  changesDomain(ordinal: number): boolean {
    assert(ordinal >= this.first && ordinal < this.end, 'QUEUE-1: the command is queued');
    return this.#type[ordinal & this.#mask] === CONTRACTS.TYPE;
  }

  /** @param memory the ring of the gateway, always the same. */
  push(gateway: number, memory: RecordMemory, word: number): void {
    const { words } = memory;
    const at = this.end & this.#mask;
    const type = words[word + ANY_COMMAND.type] & 0xffff;
    assert(this.end - this.first <= this.#mask, 'QUEUE-1: all commands of the rings have room');
    this.#memory[gateway] = memory;
    this.#gateway[at] = gateway;
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
   * @param words the ring in which the cancel is, at `word`.
   * @param isKnown true if the order of a CANCEL was ever accepted
   * @param last the last ordinal to consider
   */
  barrier(words: Uint32Array, word: number, isKnown: boolean, last = this.end - 1): number {
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
      if (isOnlyReplaced && !this.#isReplacing(at, words, word)) continue;
      return ordinal;
    }
    return NO_BARRIER;
  }

  /** True if the queued command replaces the order that is to be cancelled. */
  #isReplacing(at: number, cancelWords: Uint32Array, cancelWord: number): boolean {
    if (this.#type[at] !== REPLACE.TYPE) return false;
    const { words } = this.#memory[this.#gateway[at]];
    const hash = this.#word[at] + REPLACE.oldHash;
    for (let i = 0; i < HASH_WORDS; i++) {
      if (words[hash + i] !== cancelWords[cancelWord + CANCEL.hash + i]) return false;
    }
    return true;
  }
}
