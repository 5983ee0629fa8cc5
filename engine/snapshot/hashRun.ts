/**
 * A run: hashes of accepted orders, sorted, in a file that is never changed. It holds a slice of all hashes, those that
 * begin with the same four bits.
 *
 *   page 0             the header, HASH_RUN
 *   then               entries: 170 to a page, six words each, as in the index in memory (book/hashIndex.ts)
 *   then               the columns of the filter (runFilter.ts), one behind the other
 *
 * The filter is read into memory, the pages of entries only when it names one of them. A hash is in the run if all of
 * its 128 bits are there.
 *
 * Invariants:
 *   HASHRUN-1  Entries are in the order of their 128 bits, and each is there once.
 *   HASHRUN-2  A file with its final name is complete and durable, as a snapshot is (SNAPSHOT-1).
 *   HASHRUN-3  A filter that does not name an entry answers for it; one that does is only a reason to look.
 *   HASHRUN-4  Of a hash that may be on a damaged page the answer is UNREADABLE, never that it is not there.
 *   HASHRUN-5  A filter is only a copy of what the entries say: where header or filter are damaged, it is made of them.
 */
import { closeSync, fstatSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { assert } from '../../shared/base/assert.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { record, safe, u32 } from '../../shared/wire/layout.ts';
import { readSafe, writeSafe } from '../../shared/wire/record.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { type RunName, UNREADABLE } from '../book/acceptedHashes.ts';
import { NO_ACCOUNT } from '../book/hashIndex.ts';
import { ENTRY_WORDS, isSame } from '../book/hashPart.ts';
import { accountIn } from '../book/retention.ts';
import { copyAt, copyFrom, filterBytes, NOT_FOUND, RunFilter, SLICE_SHIFT } from './runFilter.ts';
import { newRunId, PAGE_BYTES, PAYLOAD_BYTES, PAYLOAD_WORDS, RunPages, type RunPlace, runPath } from './runPages.ts';

export const HASH_RUN = record(
  'HASH_RUN',
  {
    magic: u32('the letters OPXH'),
    shard: u32(),
    slice: u32('the highest four bits of the first word of its hashes'),
    bucketBits: u32('of the filter'),
    isLarge: u32('1: the filter keeps one byte of an entry, 0: two'),
    count: safe('of entries'),
  },
  'The first page of a run of hashes. Entries and filter follow (engine/snapshot/hashRun.ts).',
);

const MAGIC = 0x4858504f;
const PAGE_ENTRIES = Math.floor(PAYLOAD_WORDS / ENTRY_WORDS);
const FIRST_PAGE = 1;
const NO_PAGE = -1;
const NOWHERE = -1;

export class HashRun {
  readonly name: RunName;
  readonly #path: string;
  readonly #fd: number;
  readonly #pages: RunPages;
  /** Null until its first page is read. */
  #filter: RunFilter | null = null;
  #bucketBits = 0;
  #isLarge = false;
  /** The page of entries that was read last, and the next one from which the filter comes: its own, or of entries. */
  #page = NO_PAGE;
  #nextPage = FIRST_PAGE;
  #endPage: number;
  /** HASHRUN-5. */
  #isFromEntries = false;
  /** Pages of entries that are damaged: they are not read again. */
  readonly #badPages = new Set<number>();
  #untaken: string[] = [];

  /** Throws SnapshotError if the file cannot be used. */
  static open(place: RunPlace, name: RunName): HashRun {
    const path = runPath(place, name.id);
    const fd = openExisting(path);
    try {
      return new HashRun(place, name, path, fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  private constructor(place: RunPlace, name: RunName, path: string, fd: number) {
    this.name = name;
    this.#path = path;
    this.#fd = fd;
    this.#pages = new RunPages(path, fd, name.id, place.mac);
    this.#endPage = this.#endOfEntries;
    if (fstatSync(fd).size < this.#endOfEntries * PAGE_BYTES) throw this.#damaged('cut short');
    try {
      this.#readHeader(place);
    } catch (error) {
      this.#takeFromEntries(error);
    }
  }

  get isLoaded(): boolean {
    return this.#nextPage === this.#endPage;
  }

  /** Reads some pages of the filter. @returns the number of pages that it has read; fewer when the filter is there */
  load(most: number): number {
    let read = 0;
    for (; read < most && !this.isLoaded; read++) {
      try {
        this.#loadPage(this.#nextPage);
      } catch (error) {
        this.#takeFromEntries(error);
        continue;
      }
      this.#nextPage++;
      if (this.isLoaded) this.#filter!.seal();
    }
    if (read > 0) this.#page = NO_PAGE;
    return read;
  }

  #loadPage(page: number): void {
    const { count } = this.name;
    this.#filter ??= this.#isFromEntries ? RunFilter.of(count) : RunFilter.read(count, this.#bucketBits, this.#isLarge);
    this.#pages.read(page);
    if (!this.#isFromEntries) {
      copyAt(this.#pages.bytes, this.#filter.columns(), (page - this.#endOfEntries) * PAYLOAD_BYTES);
      return;
    }
    const first = (page - FIRST_PAGE) * PAGE_ENTRIES;
    const end = Math.min(PAGE_ENTRIES, count - first) * ENTRY_WORDS;
    const { words } = this.#pages;
    for (let entry = 0; entry < end; entry += ENTRY_WORDS) this.#filter.add(words[entry], words[entry + 1]);
  }

  #readHeader(place: RunPlace): void {
    const { name } = this;
    this.#pages.read(0);
    const { words } = this.#pages;
    const isMeant =
      words[HASH_RUN.magic] === MAGIC &&
      words[HASH_RUN.shard] === place.shard &&
      words[HASH_RUN.slice] === name.slice &&
      readSafe(words, HASH_RUN.count) === name.count;
    if (!isMeant) throw this.#damaged('another run than the snapshot names');
    this.#bucketBits = words[HASH_RUN.bucketBits];
    this.#isLarge = words[HASH_RUN.isLarge] === 1;
    const end = this.#endOfEntries + pagesOf(filterBytes(name.count, this.#bucketBits, this.#isLarge));
    if (fstatSync(this.#fd).size !== end * PAGE_BYTES) throw this.#damaged('of another length');
    this.#nextPage = this.#endOfEntries;
    this.#endPage = end;
  }

  /** HASHRUN-5. Without the entries either, the file cannot be used. */
  #takeFromEntries(error: unknown): void {
    if (!(error instanceof SnapshotError) || this.#isFromEntries) throw error;
    this.#isFromEntries = true;
    this.#untaken.push(error.message);
    this.#filter = null;
    this.#nextPage = FIRST_PAGE;
    this.#endPage = this.#endOfEntries;
  }

  get #endOfEntries(): number {
    return FIRST_PAGE + entryPages(this.name.count);
  }

  /** The account of this hash, or NO_ACCOUNT, or UNREADABLE. */
  accountOf(words: Uint32Array, word: number): number {
    const filter = this.#loaded;
    let answer = NO_ACCOUNT;
    let index = filter.seek(words[word], words[word + 1]);
    for (; index !== NOT_FOUND; index = filter.next()) {
      const entry = this.#tryRead(index);
      if (entry === NOWHERE) answer = UNREADABLE;
      else if (isSame(this.#pages.words, entry, words, word)) return accountIn(this.#pages.words[entry + 4]);
    }
    return answer;
  }

  /** Returns a text for each damage that was found since the last call. */
  takeDamage(): readonly string[] {
    const taken = this.#untaken;
    if (taken.length > 0) this.#untaken = [];
    return taken;
  }

  get hasNews(): boolean {
    return this.#untaken.length > 0;
  }

  get isDamaged(): boolean {
    return this.#badPages.size > 0 || this.#isFromEntries;
  }

  /** HASHRUN-3: by the filter alone. */
  mayHave(words: Uint32Array, word: number): boolean {
    return this.#loaded.seek(words[word], words[word + 1]) !== NOT_FOUND;
  }

  /** All entries in order: words in which one begins, valid until the next. */
  *entries(): Generator<readonly [words: Uint32Array, entry: number]> {
    for (let index = 0; index < this.name.count; index++) yield [this.#pages.words, this.#read(index)];
  }

  /** The entries that can be read, in order. */
  *intactEntries(): Generator<readonly [words: Uint32Array, entry: number]> {
    for (let index = 0; index < this.name.count; index++) {
      const entry = this.#tryRead(index);
      if (entry !== NOWHERE) yield [this.#pages.words, entry];
    }
  }

  /** Entries that cannot be read and may have this hash. Only pages that were read before are known to be damaged. */
  *lostEntries(words: Uint32Array, word: number): Generator<number> {
    const filter = this.#loaded;
    let index = filter.seek(words[word], words[word + 1]);
    for (; index !== NOT_FOUND; index = filter.next())
      if (this.#badPages.has(Math.floor(index / PAGE_ENTRIES))) yield index;
  }

  /** The number of entries that cannot be read, of pages that are known to be damaged. */
  get lostCount(): number {
    let count = 0;
    for (const page of this.#badPages) count += Math.min(PAGE_ENTRIES, this.name.count - page * PAGE_ENTRIES);
    return count;
  }

  /** HASHRUN-1 and HASHRUN-3 of all of the file. Throws SnapshotError. */
  check(): void {
    const filter = this.#loaded;
    const last = new Uint32Array(ENTRY_WORDS);
    let index = 0;
    for (const [words, entry] of this.entries()) {
      if (index > 0 && !isBelow(last, 0, words, entry)) throw this.#damaged('entries are out of order');
      last.set(words.subarray(entry, entry + ENTRY_WORDS));
      let named = filter.seek(last[0], last[1]);
      while (named !== index && named !== NOT_FOUND) named = filter.next();
      if (named !== index) throw this.#damaged('the filter does not name every entry');
      index++;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #damaged(how: string): SnapshotError {
    return new SnapshotError(`hashes ${this.#path}: ${how}`);
  }

  get #loaded(): RunFilter {
    assert(this.#filter !== null && this.isLoaded, 'HASHRUN-3: a filter is read before it is asked');
    return this.#filter;
  }

  /** As `#read`; NOWHERE if its page is damaged. One page must not end the shard. */
  #tryRead(index: number): number {
    const page = Math.floor(index / PAGE_ENTRIES);
    if (this.#badPages.has(page)) return NOWHERE;
    try {
      return this.#read(index);
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#badPages.add(page);
      this.#untaken.push(error.message);
      return NOWHERE;
    }
  }

  /** @returns where the entry begins in the words of the pages */
  #read(index: number): number {
    const page = Math.floor(index / PAGE_ENTRIES);
    if (page !== this.#page) {
      this.#page = NO_PAGE;
      this.#pages.read(FIRST_PAGE + page);
      this.#page = page;
    }
    return (index % PAGE_ENTRIES) * ENTRY_WORDS;
  }
}

/** Writes a run. Entries that come are in order; until `finish` the file has another name. */
export class HashRunWriter {
  readonly #place: RunPlace;
  readonly #slice: number;
  readonly #id = newRunId();
  readonly #path: string;
  readonly #fd: number;
  readonly #pages: RunPages;
  readonly #filter: RunFilter;
  #page = FIRST_PAGE;
  #entry = 0;

  /** @param most entries that may come */
  constructor(place: RunPlace, slice: number, most: number) {
    this.#place = place;
    this.#slice = slice;
    this.#path = runPath(place, this.#id);
    this.#filter = RunFilter.of(most);
    this.#fd = openSync(`${this.#path}.part`, 'wx', 0o600);
    this.#pages = new RunPages(this.#path, this.#fd, this.#id, place.mac);
  }

  add(words: Uint32Array, entry: number): void {
    assert(words[entry] >>> SLICE_SHIFT === this.#slice, 'HASHRUN-1: a hash is in a run of its slice');
    this.#filter.add(words[entry], words[entry + 1]);
    for (let word = 0; word < ENTRY_WORDS; word++) this.#pages.words[this.#entry + word] = words[entry + word];
    this.#entry += ENTRY_WORDS;
    if (this.#entry === PAGE_ENTRIES * ENTRY_WORDS) this.#write();
  }

  /** HASHRUN-2. @returns null, and leaves no file, if no entry has come */
  finish(): RunName | null {
    const { count } = this.#filter;
    if (count === 0) {
      this.abandon();
      return null;
    }
    if (this.#entry > 0) this.#write();
    this.#writeFilter();
    this.#pages.words.fill(0);
    const { words } = this.#pages;
    words[HASH_RUN.magic] = MAGIC;
    words[HASH_RUN.shard] = this.#place.shard;
    words[HASH_RUN.slice] = this.#slice;
    words[HASH_RUN.bucketBits] = this.#filter.bucketBits;
    words[HASH_RUN.isLarge] = this.#filter.isLarge ? 1 : 0;
    writeSafe(words, HASH_RUN.count, count);
    this.#pages.write(0);
    fsyncSync(this.#fd);
    closeSync(this.#fd);
    renameSync(`${this.#path}.part`, this.#path);
    syncDirectory(this.#place.directory);
    return { id: this.#id, slice: this.#slice, count };
  }

  /** A part of a run must not keep a full disk full. */
  abandon(): void {
    closeSync(this.#fd);
    rmSync(`${this.#path}.part`, { force: true });
  }

  #writeFilter(): void {
    const columns = this.#filter.columns();
    const bytes = filterBytes(this.#filter.count, this.#filter.bucketBits, this.#filter.isLarge);
    for (let from = 0; from < bytes; from += PAYLOAD_BYTES) {
      this.#pages.words.fill(0);
      copyFrom(columns, from, this.#pages.bytes);
      this.#write();
    }
  }

  #write(): void {
    this.#pages.write(this.#page++);
    this.#pages.words.fill(0);
    this.#entry = 0;
  }
}

/** True if the hash at `a` comes before that at `b`. */
export function isBelow(a: Uint32Array, at: number, b: Uint32Array, word: number): boolean {
  for (let each = 0; each < 4; each++) if (a[at + each] !== b[word + each]) return a[at + each] < b[word + each];
  return false;
}

function entryPages(count: number): number {
  return Math.ceil(count / PAGE_ENTRIES);
}

function pagesOf(bytes: number): number {
  return Math.ceil(bytes / PAYLOAD_BYTES);
}

function openExisting(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw new SnapshotError(`hashes ${path}: cannot be opened: ${String(error)}`);
  }
}
