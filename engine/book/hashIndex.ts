/**
 * Hashes of what a shard has accepted and must not accept again: of its orders, and of deposits and withdrawals. An
 * entry says who placed the order, and from when on the order would be refused whatever is remembered (retention.ts).
 * Such an entry is forgotten: it is left out of snapshots at once, and its memory is given back by sweeps that look at
 * some entries with each that comes. So the index grows with what could be accepted again, not with what has been.
 * Forgetting needs no record: what is forgotten can change only the text of a refusal. Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4, 5 account, market and expiration (retention.ts)
 *   part:            groups of four entries, with a mark of one byte for each (hashPart.ts)
 *
 * A search goes from group to group and compares four marks at a time, up to the first group with a free entry. Almost
 * every order is new, so its hash is not found. The marks alone answer that: one or two bytes per entry, which stay in
 * the processor's cache longer than entries would.
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49. A deliberate one costs
 * 2^64 hashes, and only makes the attacker's own order be refused as a duplicate. The parts grow and shrink
 * independently, so a change of size moves a thousandth of the entries at a time.
 *
 * Part and group of an entry come from a hash under a secret of this process (shared/base/keyedHash.ts): whatever order
 * hashes an account makes, they spread over all parts, and a search looks at a few groups. Nothing depends on where an
 * entry lies: a snapshot may list the entries in any order, and reading it spreads them anew.
 *
 * The index is bounded by refusing (RULES.md 2.12): `hasRoom` returns true if one more order of an account may be
 * accepted. Once half of the room is taken, no account gets more than an eighth of it.
 *
 * Invariants (walked by core/invariants.ts):
 *   HASHES-1  An entry in use has an account above 0.
 *   HASHES-2  A hash has exactly one entry, and the marks lead to it.
 *   HASHES-3  The entries in use are counted, by part and together.
 *   HASHES-4  The entries of every account are counted.
 *   HASHES-5  No search looks at more than LONGEST_SEARCH groups. Without knowing the secret, a longer search can only
 *             occur by chance, in fewer than one of a million full indexes.
 */
import { assert } from '../../shared/base/assert.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import {
  checkSearches,
  copyEntry,
  ENTRY_WORDS,
  entriesOf,
  entryAt,
  free,
  GROUP_ENTRIES,
  GROUP_WORDS,
  groupsOf,
  homeOf,
  isInUse,
  isSame,
  PART_SHIFT,
  search,
} from './hashPart.ts';
import { accountIn, FOR_EVER, highWord, lowWord, Retention } from './retention.ts';

const PARTS = 1024;
const FIRST_GROUPS = 4;
/**
 * A part with fewer entries grows when three quarters are in use, to three times as many: most shards have no larger
 * part, and their searches are short. A larger part grows when seven eighths are in use, by a third: memory counts more
 * there.
 */
const FEW = 1024;
const MOST_OF_TWO_SMALL_GROUPS = 6;
const MOST_OF_TWO_GROUPS = 7;
const NO_PLACE = -1;
/** Entries that a sweep looks at for each that comes. */
const SWEPT_FOR_EACH = 64;
/** Columns of a snapshot. */
const COLUMNS = 256;
/** The first version of snapshots whose entries say market and expiration; older ones have the account alone. */
const VERSION_WITH_RETENTION = 14;

/** The account of a hash that is not in the index. */
export const NO_ACCOUNT = 0;

/** The largest bound that an index can have. */
export const MOST_HASHES = 2 ** 30;

const EMPTY = new Uint32Array(0);

export class HashIndex {
  /** It decides what may be forgotten by now. */
  readonly retention: Retention;
  readonly #parts: Uint32Array[] = Array.from({ length: PARTS }, () => EMPTY);
  /** Entries in use, by part. */
  readonly #used = new Int32Array(PARTS);
  #ofAccount: Uint32Array = new Uint32Array(64);
  readonly #place: KeyedHash;
  /**
   * The last hash that was searched in vain, its keyed hash and its group: almost every such hash is inserted next,
   * which then needs no search. The group is unset when anything has moved.
   */
  readonly #missing = new Uint32Array(4);
  #missingTag = 0;
  #missingGroup = NO_PLACE;
  /** Entries in use. */
  size = 0;
  /** Parts that the sweep under way has yet to look at, the next of them, and entries that it may look at by now. */
  #unswept = 0;
  #nextSwept = 0;
  #maySweep = 0;

  /**
   * @param place given by tests only, which know its secret.
   * @param retention of an index beside this one, whose owner calls `forgetMore`
   */
  constructor(place = new KeyedHash(), retention: Retention | null = null) {
    this.#place = place;
    this.retention = retention ?? new Retention(() => this.forgetMore());
  }

  /** More may be forgotten than before: a sweep begins. */
  forgetMore(): void {
    this.#unswept = PARTS;
  }

  /** Words of memory that the entries have, free ones included. */
  get words(): number {
    let words = 0;
    for (const part of this.#parts) words += part.length;
    return words;
  }

  /** The account that placed the order with this hash, or NO_ACCOUNT. */
  accountOf(words: Uint32Array, word: number): number {
    return this.#find(this.#place.of(words, word), words, word);
  }

  has(words: Uint32Array, word: number): boolean {
    return this.accountOf(words, word) !== NO_ACCOUNT;
  }

  /** Returns true if an index that may hold `most` entries has room for one more of the account. */
  hasRoom(account: number, most: number): boolean {
    if (this.size * 2 < most) return true;
    return this.size < most && this.countOf(account) * 8 < most;
  }

  /** The number of entries of an account. */
  countOf(account: number): number {
    return account < this.#ofAccount.length ? this.#ofAccount[account] : 0;
  }

  /**
   * Adds a hash that is not there yet.
   * @param market whose decision makes the order impossible, and
   * @param lastHour at whose end it has expired (retention.ts); both FOR_EVER if nothing does
   */
  insert(words: Uint32Array, word: number, account: number, market: number, lastHour: number): void {
    assert(account > 0, 'HASHES-1: no order belongs to account 0');
    if (!this.#isMissing(words, word)) {
      const isNew = this.#find(this.#place.of(words, word), words, word) === NO_ACCOUNT;
      assert(isNew, 'HASHES-2: a hash is inserted once');
    }
    const low = lowWord(account, market);
    const high = highWord(market, this.retention.kept(lastHour));
    this.#add(words, word, account, low, high);
    if (this.#unswept > 0) this.sweep(SWEPT_FOR_EACH);
  }

  /** Adds an entry of another index that is not there yet: as `visitKept` shows it. */
  insertKept(words: Uint32Array, entry: number): void {
    assert(!this.has(words, entry), 'HASHES-2: a hash is inserted once');
    this.#add(words, entry, accountIn(words[entry + 4]), words[entry + 4], words[entry + 5]);
  }

  /** Looks at some more entries, and frees those that may be forgotten. Called while the shard is idle, too. */
  sweep(entries: number): void {
    if (this.#unswept === 0) return;
    this.#maySweep += entries;
    while (this.#unswept > 0) {
      const part = this.#nextSwept;
      const cost = 1 + this.#groupsOf(part) * GROUP_ENTRIES;
      if (cost > this.#maySweep) return;
      this.#maySweep -= cost;
      this.#nextSwept = (part + 1) % PARTS;
      this.#unswept--;
      if (this.#countForgettable(part) > 0) this.#rebuild(part, 0);
    }
    this.#maySweep = 0;
  }

  /** The first 128 bits of each hash at `word`, and the account. */
  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    for (const words of this.#parts) {
      if (words.length === 0) continue;
      for (const entry of entriesOf(words)) visitor(words, entry, accountIn(words[entry + 4]));
    }
  }

  /** Where each entry that has to be remembered begins: 128 bits of the hash, and the two words of retention.ts. */
  visitKept(visitor: (words: Uint32Array, entry: number) => void): void {
    for (let part = 0; part < PARTS; part++) {
      const words = this.#parts[part];
      const groups = this.#groupsOf(part);
      for (let index = 0; index < groups * GROUP_ENTRIES; index++) {
        if (!isInUse(words, index)) continue;
        const entry = entryAt(groups, index);
        if (!this.retention.mayForget(words[entry + 4], words[entry + 5])) visitor(words, entry);
      }
    }
  }

  /** Asserts HASHES-1 to HASHES-5. @returns the number of entries */
  validate(): number {
    let size = 0;
    const ofAccount = new Uint32Array(this.#ofAccount.length);
    for (let part = 0; part < PARTS; part++) {
      const words = this.#parts[part];
      if (words.length === 0 && this.#used[part] === 0) continue;
      checkSearches(words);
      let used = 0;
      for (const entry of entriesOf(words)) {
        const account = accountIn(words[entry + 4]);
        assert(account > 0, 'HASHES-1: an entry in use has an account');
        const tag = this.#place.of(words, entry);
        assert(tag >>> PART_SHIFT === part, 'HASHES-2: an entry is in the part of its keyed hash');
        assert(this.#entryOf(tag, words, entry) === entry, 'HASHES-2: the marks lead to an entry');
        ofAccount[account]++;
        used++;
      }
      assert(used === this.#used[part], 'HASHES-3: the entries of a part are counted');
      size += used;
    }
    assert(size === this.size, 'HASHES-3: the entries are counted');
    for (let account = 0; account < ofAccount.length; account++)
      assert(ofAccount[account] === this.#ofAccount[account], 'HASHES-4: the entries of an account are counted');
    return size;
  }

  /**
   * Entries that may be forgotten are not written; marks and counts are not, because a reader has another secret. In
   * snapshots of the first release unused entries, of account 0, may stand between the others.
   */
  persist(io: SnapshotIo): void {
    const hasRetention = io.version >= VERSION_WITH_RETENTION;
    const written = this.#columns(hasRetention);
    const counts = written.map(({ length }) => length / ENTRY_WORDS);
    const size = io.number(counts.reduce((sum, count) => sum + count, 0));
    const own = Uint32Array.from(counts);
    const used = io.u32(own);
    const isRead = used !== own;
    assert(!isRead || this.size === 0, 'HASHES-2: a snapshot is read into nothing');
    if (hasRetention) this.retention.persist(io);
    for (const [column, words] of written.entries()) {
      const kept = io.u32(words);
      if (isRead) this.#read(kept, used[column], hasRetention);
    }
    assert(!isRead || this.size === size, 'HASHES-3: a snapshot has as many entries as it says');
  }

  /** A snapshot has the entries of some parts in each column. */
  #columns(hasRetention: boolean): Uint32Array[] {
    const perColumn = PARTS / COLUMNS;
    return Array.from({ length: COLUMNS }, (_, column) => {
      const parts = this.#parts.slice(column * perColumn, (column + 1) * perColumn);
      const most = parts.reduce((sum, { length }) => sum + length, 0);
      const kept = new Uint32Array(most);
      let length = 0;
      for (const words of parts) {
        for (const entry of entriesOf(words)) {
          if (hasRetention && this.retention.mayForget(words[entry + 4], words[entry + 5])) continue;
          kept.set(words.subarray(entry, entry + ENTRY_WORDS), length);
          if (!hasRetention) kept.set([accountIn(words[entry + 4]), 0], length + 4);
          length += ENTRY_WORDS;
        }
      }
      return kept.slice(0, length);
    });
  }

  #read(kept: Uint32Array, count: number, hasRetention: boolean): void {
    const before = this.size;
    for (let from = 0; from < kept.length; from += ENTRY_WORDS) {
      const account = hasRetention ? accountIn(kept[from + 4]) : kept[from + 4];
      if (account === NO_ACCOUNT) continue;
      assert(!this.has(kept, from), 'HASHES-2: a snapshot has a hash once');
      const high = hasRetention ? kept[from + 5] : highWord(FOR_EVER, FOR_EVER);
      this.#add(kept, from, account, hasRetention ? kept[from + 4] : lowWord(account, FOR_EVER), high);
    }
    assert(this.size - before === count, 'HASHES-3: a column of a snapshot has as many entries as it says');
  }

  /** The account of this hash, whose keyed hash is `tag`, or NO_ACCOUNT; then the group it would be in is kept. */
  #find(tag: number, words: Uint32Array, word: number): number {
    const entry = this.#entryOf(tag, words, word);
    return entry === NO_PLACE ? NO_ACCOUNT : accountIn(this.#parts[tag >>> PART_SHIFT][entry + 4]);
  }

  #entryOf(tag: number, words: Uint32Array, word: number): number {
    const found = search(this.#parts[tag >>> PART_SHIFT], tag, words, word);
    if (found >= 0) return found;
    this.#missing[0] = words[word];
    this.#missing[1] = words[word + 1];
    this.#missing[2] = words[word + 2];
    this.#missing[3] = words[word + 3];
    this.#missingTag = tag;
    this.#missingGroup = ~found;
    return NO_PLACE;
  }

  #isMissing(words: Uint32Array, word: number): boolean {
    return this.#missingGroup !== NO_PLACE && isSame(this.#missing, 0, words, word);
  }

  /** Adds the hash that was missing. */
  #add(words: Uint32Array, word: number, account: number, low: number, high: number): void {
    const tag = this.#missingTag;
    const part = tag >>> PART_SHIFT;
    const used = this.#used[part];
    const most = used < FEW ? MOST_OF_TWO_SMALL_GROUPS : MOST_OF_TWO_GROUPS;
    if (used * 2 >= this.#groupsOf(part) * most) {
      this.#rebuild(part, 1);
      this.#missingGroup = homeOf(tag, this.#groupsOf(part));
    }
    const entry = free(this.#parts[part], this.#groupsOf(part), this.#missingGroup, tag);
    const entries = this.#parts[part];
    entries[entry] = words[word];
    entries[entry + 1] = words[word + 1];
    entries[entry + 2] = words[word + 2];
    entries[entry + 3] = words[word + 3];
    entries[entry + 4] = low;
    entries[entry + 5] = high;
    this.#missingGroup = NO_PLACE;
    this.#used[part]++;
    this.size++;
    if (account >= this.#ofAccount.length) this.#ofAccount = fitted(this.#ofAccount, account);
    this.#ofAccount[account]++;
  }

  #groupsOf(part: number): number {
    return groupsOf(this.#parts[part]);
  }

  #countForgettable(part: number): number {
    const words = this.#parts[part];
    const groups = this.#groupsOf(part);
    let count = 0;
    for (let index = 0; index < groups * GROUP_ENTRIES; index++) {
      const entry = entryAt(groups, index);
      if (isInUse(words, index) && this.retention.mayForget(words[entry + 4], words[entry + 5])) count++;
    }
    return count;
  }

  /** Gives a part the size that fits what it has to remember and some `more` entries, and forgets the rest. */
  #rebuild(part: number, more: number): void {
    const old = this.#parts[part];
    const oldGroups = this.#groupsOf(part);
    const before = this.#used[part];
    const kept = before - this.#countForgettable(part);
    const room = Math.ceil(((kept + more) * (kept < FEW ? 9 : 4)) / 3);
    const groups = room === 0 ? 0 : Math.max(FIRST_GROUPS, Math.ceil(room / GROUP_ENTRIES));
    const made = groups === 0 ? EMPTY : new Uint32Array(groups * GROUP_WORDS);
    for (let index = 0; index < oldGroups * GROUP_ENTRIES; index++) {
      if (!isInUse(old, index)) continue;
      const from = entryAt(oldGroups, index);
      if (this.retention.mayForget(old[from + 4], old[from + 5])) this.#ofAccount[accountIn(old[from + 4])]--;
      else copyEntry(old, from, made, groups, this.#place.of(old, from));
    }
    this.#parts[part] = made;
    this.#used[part] = kept;
    this.size -= before - kept;
    this.#missingGroup = NO_PLACE;
  }
}

/** The counts, with room for one of this account. */
function fitted(counts: Uint32Array, account: number): Uint32Array<ArrayBuffer> {
  let length = counts.length;
  while (length <= account) length *= 2;
  const larger = new Uint32Array(length);
  larger.set(counts);
  return larger;
}
