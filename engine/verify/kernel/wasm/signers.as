/**
 * The public keys of signers that were accepted, and the tables of those that came again: a cache of fixed size, of
 * sets of eight entries each. A hash with secret factors names an address's set, where it replaces the least recently
 * used entry: an adversary cannot know which signers share a set with its own, and can fill no more than there is.
 *
 * Invariants:
 *   SIGNERS-1  An entry's key has the entry's address: only the recovered key of an accepted signature is kept.
 *   SIGNERS-2  Entries of the batch that is under way are not replaced.
 */
import { copy } from './element';
import { BASES, ENTRY, ENTRY_Y, makeNextTable, makeTable } from './table';

const WAYS: usize = 8;
const ADDRESS_LENGTH: usize = 20;
/** Offsets in an entry. */
const STATE: usize = 20;
const USED: usize = 24;
const BATCH: usize = 32;
const TABLE: usize = 48;
export const SIGNER_WIDTH = 6;
const SIGNER_ENTRIES = 16;
export const NEXT_TABLE: usize = ENTRY * SIGNER_ENTRIES;
const SIGNER_BYTES: usize = TABLE + NEXT_TABLE * BASES;

/** The states of an entry. Between the last two it has the first of its tables. */
const EMPTY: u32 = 0;
const HAS_KEY: u32 = 1;
const HAS_TABLES: u32 = HAS_KEY + BASES;

let firstEntry: usize = 0;
let sets: usize = 1;
let factor0: u64 = 1;
let factor1: u64 = 1;
let factor2: u64 = 1;
let tick: u64 = 0;
let batch: u32 = 1;

/** `secret`: three random words. The entries fill the memory from `at` on. */
export function beginSigners(at: usize, count: usize, secret: usize): void {
  firstEntry = at;
  sets = count / WAYS;
  factor0 = load<u64>(secret) | 1;
  factor1 = load<u64>(secret, 8) | 1;
  factor2 = load<u64>(secret, 16) | 1;
}

export function bytesOfSigners(count: usize): usize {
  return count * SIGNER_BYTES;
}

function firstOfSet(address: usize): usize {
  const sum = load<u64>(address) * factor0 + load<u64>(address, 8) * factor1 + <u64>load<u32>(address, 16) * factor2;
  return firstEntry + (<usize>(sum >> 33) % sets) * WAYS * SIGNER_BYTES;
}

function isOf(entry: usize, address: usize): bool {
  return (
    load<u64>(entry) == load<u64>(address) &&
    load<u64>(entry, 8) == load<u64>(address, 8) &&
    load<u32>(entry, 16) == load<u32>(address, 16)
  );
}

/** The entry of the address, now the most recently used, or 0. */
export function findSigner(address: usize): usize {
  const first = firstOfSet(address);
  for (let way: usize = 0; way < WAYS; way++) {
    const entry = first + way * SIGNER_BYTES;
    if (load<u32>(entry, STATE) != EMPTY && isOf(entry, address)) {
      store<u64>(entry, ++tick, USED);
      return entry;
    }
  }
  return 0;
}

/** Keeps the key of an address that has no entry; not if all entries of its set are in the batch. */
export function keepSigner(address: usize, x: usize, y: usize): void {
  const first = firstOfSet(address);
  let oldest: usize = 0;
  for (let way: usize = 0; way < WAYS; way++) {
    const entry = first + way * SIGNER_BYTES;
    if (isInBatch(entry)) continue;
    if (oldest == 0 || load<u64>(entry, USED) < load<u64>(oldest, USED)) oldest = entry;
  }
  if (oldest == 0) return;
  memory.copy(oldest, address, ADDRESS_LENGTH);
  store<u32>(oldest, HAS_KEY, STATE);
  store<u64>(oldest, ++tick, USED);
  copy(oldest + TABLE, x);
  copy(oldest + TABLE + ENTRY_Y, y);
}

/** Begins a batch: no entry is in it. */
export function releaseSigners(): void {
  batch++;
}

function isInBatch(entry: usize): bool {
  return load<u32>(entry, BATCH) == batch;
}

export function joinBatch(entry: usize): void {
  store<u32>(entry, batch, BATCH);
}

export function hasTables(entry: usize): bool {
  return load<u32>(entry, STATE) == HAS_TABLES;
}

/**
 * Makes the next of the entry's tables: the first is that of its key. None when it has all: between two steps of a
 * batch a check alone may have made the rest.
 */
export function makeSignerTable(entry: usize): void {
  const state = load<u32>(entry, STATE);
  if (state == HAS_TABLES) return;
  if (state == HAS_KEY) {
    copy(KEY_X, entry + TABLE);
    copy(KEY_Y, entry + TABLE + ENTRY_Y);
    makeTable(entry + TABLE, SIGNER_ENTRIES, KEY_X, KEY_Y);
  } else {
    makeNextTable(entry + TABLE + NEXT_TABLE * (state - HAS_KEY - 1), SIGNER_ENTRIES);
  }
  store<u32>(entry, state + 1, STATE);
}

const KEY_X = memory.data(48, 16);
const KEY_Y = memory.data(48, 16);

@inline
export function tableOf(entry: usize): usize {
  return entry + TABLE;
}
