/**
 * The high-water mark of a journal: a small file beside it with the last durable sequence number and its chain value.
 * SQLite cuts a damaged WAL short without an error; the mark shows that rows are missing. Owner: the shard thread
 * writes it, after each commit and before any reply to that commit is published.
 *
 *   byte 0    copy A, a HIGH_WATER_MARK (RECORDS.md)
 *   byte 512  copy B, the same
 *
 * Invariants:
 *   MARK-1  The two copies are written in turn, so a torn write leaves the other copy whole.
 *   MARK-2  The mark never runs ahead of the journal: it is written after the commit. A journal that ends before its
 *           mark has lost rows that may have been acknowledged.
 *   MARK-3  The sequence never decreases.
 *
 * Every commit writes the mark into the page cache, which survives the process. Idle housekeeping syncs it, at the
 * latest after SYNC_EVERY commits. After a power cut the mark may be some commits old: then it is a weaker bound, but
 * never a wrong one.
 */
import { closeSync, constants, existsSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { decode, record, safe, u32, unused } from '../../shared/wire/layout.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { JournalHead } from './row.ts';

export const HIGH_WATER_MARK = record(
  'HIGH_WATER_MARK',
  {
    magic: u32(),
    shard: u32(),
    sequence: safe('of the last row that is durable'),
    chainLow: u32('chain value after that row'),
    chainHigh: u32(),
    unused: unused(1),
    crc: u32('CRC-32C of the words before'),
  },
  'The last durable row of a journal.',
);
const MAGIC = 0x4d58504f;
const COPIES = 2;
const COPY_OFFSET = 512;
const SYNC_EVERY = 256;

assert(HIGH_WATER_MARK.BYTES <= COPY_OFFSET, 'MARK-1: the copies do not overlap');
assert(COPIES === 2, 'MARK-1: a write never touches the newest copy');

export class Mark {
  readonly #fd: number;
  readonly #words = new Uint32Array(HIGH_WATER_MARK.WORDS);
  readonly #bytes = new Uint8Array(this.#words.buffer);
  /** The copy that is written next, which is the older one. */
  #copy = 0;
  #sequence = 0;
  /** Commits since the last sync. */
  #unsynced = 0;

  /** Opens or creates the file for one shard's journal. */
  constructor(path: string, shard: number) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#words[HIGH_WATER_MARK.magic] = MAGIC;
    this.#words[HIGH_WATER_MARK.shard] = shard;
  }

  /** Returns the newer of the intact copies, or null if none is intact. */
  read(): JournalHead | null {
    const newest = newestCopy(this.#fd, this.#words[HIGH_WATER_MARK.shard]);
    if (newest === null) return null;
    this.#copy = 1 - newest.copy;
    this.#sequence = newest.head.sequence;
    return newest.head;
  }

  /** Called when the commit that ends at `head` is durable. */
  advance(head: JournalHead): void {
    assert(head.sequence >= this.#sequence, 'MARK-3: the mark never moves back');
    this.#sequence = head.sequence;
    const words = this.#words;
    writeSafe(words, HIGH_WATER_MARK.sequence, head.sequence);
    words[HIGH_WATER_MARK.chainLow] = head.chainLow;
    words[HIGH_WATER_MARK.chainHigh] = head.chainHigh;
    words[HIGH_WATER_MARK.crc] = markCrc(words, this.#bytes);
    const written = writeSync(this.#fd, this.#bytes, 0, HIGH_WATER_MARK.BYTES, this.#copy * COPY_OFFSET);
    assert(written === HIGH_WATER_MARK.BYTES, 'MARK-1: a copy is written whole');
    this.#copy = 1 - this.#copy;
    if (++this.#unsynced >= SYNC_EVERY) this.sync();
  }

  /** Makes the mark durable. */
  sync(): void {
    if (this.#unsynced === 0) return;
    fdatasyncSync(this.#fd);
    this.#unsynced = 0;
  }

  close(): void {
    this.sync();
    closeSync(this.#fd);
  }
}

/** Reads the mark of a journal that another thread writes. Null if no copy is intact. */
export function readMark(path: string, shard: number): JournalHead | null {
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    return newestCopy(fd, shard)?.head ?? null;
  } finally {
    closeSync(fd);
  }
}

function newestCopy(fd: number, shard: number): { readonly head: JournalHead; readonly copy: number } | null {
  let newest: { head: JournalHead; copy: number } | null = null;
  for (let copy = 0; copy < COPIES; copy++) {
    const head = readCopy(fd, copy, shard);
    if (head !== null && (newest === null || head.sequence > newest.head.sequence)) newest = { head, copy };
  }
  return newest;
}

function readCopy(fd: number, copy: number, shard: number): JournalHead | null {
  const words = new Uint32Array(HIGH_WATER_MARK.WORDS);
  const bytes = new Uint8Array(words.buffer);
  if (readSync(fd, bytes, 0, bytes.byteLength, copy * COPY_OFFSET) < bytes.byteLength) return null;
  const mark = decode(HIGH_WATER_MARK, words);
  if (mark.magic !== MAGIC || mark.shard !== shard || mark.crc !== markCrc(words, bytes)) return null;
  return new JournalHead(mark.sequence, mark.chainLow | 0, mark.chainHigh | 0);
}

function markCrc(words: Uint32Array, bytes: Uint8Array): number {
  return crc32c({ words, bytes }, 0, HIGH_WATER_MARK.crc * 4);
}
