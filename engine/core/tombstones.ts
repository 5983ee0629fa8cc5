/**
 * Cancels that arrived before their order (RULES.md 7.11): for a while an order with this hash by this account is
 * refused.
 * Owner: the shard thread.
 *
 * Invariants:
 *   TOMBSTONES-1  Entries are in order of time, and change only when one is added: that is journaled, so a replay has
 *                 the same. An expired entry stays until the next one is added, but has no effect.
 *   TOMBSTONES-2  There are at most MOST_TOMBSTONES, and MOST_TOMBSTONES_OF_ACCOUNT of one account.
 *   TOMBSTONES-3  `#over` is the number of entries that were expired at the last check, and `#overOf` that number by
 *                 account; `#next` is the oldest unexpired entry, and `#later` continues after it.
 *
 * The room that other accounts leave decides how many tombstones an account may have, by its third power: with all of
 * it free MOST_TOMBSTONES_OF_ACCOUNT, with half of it an eighth of that, and always at least one. Sixteen accounts that
 * take all they can leave more than half free, and six thousand are needed to take everything. No tombstone is evicted,
 * because its answer has stated its end.
 *
 * Almost no order meets a tombstone: a keyed hash of its hash is looked up before anything is allocated. A client may
 * choose the hashes of tombstones freely, but not which of them collide.
 */
import { assert } from '../../shared/base/assert.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import type { Digest } from '../output/digest.ts';

const TOMBSTONE_MS = 60_000;
export const MOST_TOMBSTONES = 1 << 16;
export const MOST_TOMBSTONES_OF_ACCOUNT = 1 << 12;
/** The third power of MOST_TOMBSTONES allows MOST_TOMBSTONES_OF_ACCOUNT. */
const CUBE_PER_TOMBSTONE = MOST_TOMBSTONES ** 3 / MOST_TOMBSTONES_OF_ACCOUNT;
const HASH_WORDS = 8;

type Entry = { readonly account: number; readonly hash: Uint32Array; readonly untilMs: number };

export class Tombstones {
  readonly #entries = new Map<string, Entry>();
  /** Number of entries by the keyed hash of their order hash. */
  readonly #places = new Map<number, number>();
  readonly #keyed = new KeyedHash();
  readonly #perAccount = new Map<number, number>();
  readonly #digest: Digest;
  #over = 0;
  readonly #overOf = new Map<number, number>();
  #later: Iterator<Entry>;
  #next: Entry | undefined;

  constructor(digest: Digest) {
    this.#digest = digest;
    this.#later = this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns true if the order of this PLACE or REPLACE is refused at its time. */
  has(words: Uint32Array, word: number): boolean {
    if (this.#entries.size === 0 || !this.#places.has(this.#keyed.of(words, word + COMMAND.PLACE.hash))) return false;
    const account = words[word + ANY_COMMAND.account];
    const nowMs = readSafe(words, word + ANY_COMMAND.timeMs);
    const entry = this.#entries.get(keyOf(account, words, word + COMMAND.PLACE.hash));
    return entry !== undefined && entry.untilMs > nowMs;
  }

  /** Returns true if there is room for one more at this time (TOMBSTONES-2). Checks each entry once. */
  hasRoom(account: number, nowMs: number): boolean {
    for (; this.#next !== undefined && this.#next.untilMs <= nowMs; this.#next = this.#later.next().value) {
      this.#over++;
      count(this.#overOf, this.#next.account, 1);
    }
    const ofAccount = (this.#perAccount.get(account) ?? 0) - (this.#overOf.get(account) ?? 0);
    const alive = this.#entries.size - this.#over;
    const left = MOST_TOMBSTONES - (alive - ofAccount);
    const most = Math.max(1, Math.floor((left * left * left) / CUBE_PER_TOMBSTONE));
    return alive < MOST_TOMBSTONES && ofAccount < most;
  }

  /** Adds an entry, or extends an existing one. @returns the end of its time */
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
    this.#startLooking();
    return untilMs;
  }

  /** Adds an entry of another shard to a state that is being made: not before an earlier one. */
  restore(account: number, hash: Uint32Array, untilMs: number): void {
    this.#insert(keyOf(account, hash, 0), { account, hash, untilMs });
    this.#startLooking();
  }

  /** Visits every entry, oldest first, including expired ones. */
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
      assert(own <= MOST_TOMBSTONES_OF_ACCOUNT, 'TOMBSTONES-2: the tombstones of an account are bounded');
      assert(this.#perAccount.get(account) === own, 'TOMBSTONES-2: the tombstones of an account are counted');
    }
    let over = 0;
    for (const own of this.#overOf.values()) over += own;
    assert(over === this.#over, 'TOMBSTONES-3: what is over is counted by account');
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
    this.#startLooking();
  }

  /** TOMBSTONES-3, from the oldest entry on. */
  #startLooking(): void {
    this.#over = 0;
    this.#overOf.clear();
    this.#later = this.#entries.values();
    this.#next = this.#later.next().value;
  }

  #insert(key: string, entry: Entry): void {
    const { account, hash, untilMs } = entry;
    assert(!this.#entries.has(key), 'TOMBSTONES-1: an order has one tombstone');
    assert(hash.length === HASH_WORDS, 'TOMBSTONES-1: a tombstone has a whole hash');
    this.#entries.set(key, entry);
    assert(this.#entries.size <= MOST_TOMBSTONES, 'TOMBSTONES-2: the tombstones are bounded');
    count(this.#places, this.#keyed.of(hash, 0), 1);
    count(this.#perAccount, account, 1);
    this.#digest.tombstone(account, hash, untilMs, 1);
  }

  #remove(key: string, { account, hash, untilMs }: Entry): void {
    const isDeleted = this.#entries.delete(key);
    assert(isDeleted, 'TOMBSTONES-1: a tombstone that goes was there');
    count(this.#places, this.#keyed.of(hash, 0), -1);
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
