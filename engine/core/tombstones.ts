/**
 * Cancels that arrived before their order (RULES.md 7.11): for a while an order with this hash by this account is
 * refused.
 * Owner: the shard thread.
 *
 * Invariants:
 *   TOMBSTONES-1  Entries are in order of time, and change only when one is added: that is journaled, so a replay has
 *                 the same. An entry whose time is over stays until the next one is added, and counts for nothing.
 *   TOMBSTONES-2  There are at most MOST_ENTRIES, and MOST_OF_ACCOUNT of one account.
 *
 * Almost no order meets a tombstone: the first word of its hash is looked up before anything is allocated.
 */
import { assert } from '../../shared/base/assert.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import type { Digest } from '../output/digest.ts';

const TOMBSTONE_MS = 60_000;
const MOST_ENTRIES = 1 << 16;
const MOST_OF_ACCOUNT = 1 << 12;
const HASH_WORDS = 8;

type Entry = { readonly account: number; readonly hash: Uint32Array; readonly untilMs: number };

export class Tombstones {
  readonly #entries = new Map<string, Entry>();
  /** Number of entries whose hash starts with this word. */
  readonly #firstWords = new Map<number, number>();
  readonly #perAccount = new Map<number, number>();
  readonly #digest: Digest;

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** True when the order of this PLACE or REPLACE is refused at its time. */
  has(words: Uint32Array, word: number): boolean {
    if (this.#entries.size === 0 || !this.#firstWords.has(words[word + COMMAND.PLACE.hash])) return false;
    const account = words[word + ANY_COMMAND.account];
    const nowMs = readSafe(words, word + ANY_COMMAND.timeMs);
    const entry = this.#entries.get(keyOf(account, words, word + COMMAND.PLACE.hash));
    return entry !== undefined && entry.untilMs > nowMs;
  }

  /** True when one more may be added at this time (TOMBSTONES-2). */
  hasRoom(account: number, nowMs: number): boolean {
    let over = 0;
    let overOfAccount = 0;
    for (const entry of this.#entries.values()) {
      if (entry.untilMs > nowMs) break;
      over++;
      if (entry.account === account) overOfAccount++;
    }
    const ofAccount = (this.#perAccount.get(account) ?? 0) - overOfAccount;
    return this.#entries.size - over < MOST_ENTRIES && ofAccount < MOST_OF_ACCOUNT;
  }

  /** Adds one, or starts its time anew. @returns the end of its time. */
  add(account: number, words: Uint32Array, word: number, nowMs: number): number {
    for (const [key, entry] of this.#entries) {
      if (entry.untilMs > nowMs) break;
      this.#remove(key, entry);
    }
    const key = keyOf(account, words, word);
    const before = this.#entries.get(key);
    if (before !== undefined) this.#remove(key, before);
    const untilMs = nowMs + TOMBSTONE_MS;
    this.#insert(key, { account, hash: words.slice(word, word + HASH_WORDS), untilMs });
    return untilMs;
  }

  /** Every entry, oldest first, also those whose time is over. */
  visit(visitor: (account: number, hash: Uint32Array, untilMs: number) => void): void {
    for (const { account, hash, untilMs } of this.#entries.values()) visitor(account, hash, untilMs);
  }

  /** Asserts TOMBSTONES-1 and TOMBSTONES-2. */
  validate(): void {
    let beforeMs = 0;
    const perAccount = new Map<number, number>();
    for (const { account, untilMs } of this.#entries.values()) {
      assert(untilMs >= beforeMs, 'TOMBSTONES-1: entries are in order of time');
      beforeMs = untilMs;
      count(perAccount, account, 1);
    }
    for (const [account, own] of perAccount) {
      assert(own <= MOST_OF_ACCOUNT, 'TOMBSTONES-2: the tombstones of an account are bounded');
      assert(this.#perAccount.get(account) === own, 'TOMBSTONES-2: the tombstones of an account are counted');
    }
    assert(this.#perAccount.size === perAccount.size, 'TOMBSTONES-2: no account without a tombstone is counted');
  }

  persist(io: SnapshotIo): void {
    const entries = [...this.#entries.values()];
    const accounts = io.u32(Uint32Array.from(entries, ({ account }) => account));
    const untilMs = io.f64(Float64Array.from(entries, (entry) => entry.untilMs));
    const hashes = io.u32(Uint32Array.from(entries.flatMap(({ hash }) => [...hash])));
    assert(
      this.#entries.size === 0 || accounts.length === this.#entries.size,
      'TOMBSTONES-1: a snapshot is read into nothing',
    );
    if (this.#entries.size > 0) return;
    for (const [index, account] of accounts.entries()) {
      const hash = hashes.slice(index * HASH_WORDS, (index + 1) * HASH_WORDS);
      this.#insert(keyOf(account, hash, 0), { account, hash, untilMs: untilMs[index] });
    }
  }

  #insert(key: string, entry: Entry): void {
    const { account, hash, untilMs } = entry;
    assert(!this.#entries.has(key), 'TOMBSTONES-1: an order has one tombstone');
    assert(hash.length === HASH_WORDS, 'TOMBSTONES-1: a tombstone has a whole hash');
    this.#entries.set(key, entry);
    assert(this.#entries.size <= MOST_ENTRIES, 'TOMBSTONES-2: the tombstones are bounded');
    count(this.#firstWords, hash[0], 1);
    count(this.#perAccount, account, 1);
    this.#digest.tombstone(account, hash, untilMs, 1);
  }

  #remove(key: string, { account, hash, untilMs }: Entry): void {
    const isDeleted = this.#entries.delete(key);
    assert(isDeleted, 'TOMBSTONES-1: a tombstone that goes was there');
    count(this.#firstWords, hash[0], -1);
    count(this.#perAccount, account, -1);
    this.#digest.tombstone(account, hash, untilMs, -1);
  }
}

function keyOf(account: number, words: Uint32Array, word: number): string {
  return `${account} ${words.subarray(word, word + HASH_WORDS).join()}`;
}

function count(counts: Map<number, number>, key: number, by: number): void {
  const sum = (counts.get(key) ?? 0) + by;
  assert(sum >= 0, 'TOMBSTONES-2: no more tombstones go than came');
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}
