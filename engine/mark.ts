/**
 * The high-water mark of a journal: a tiny file of its own that says how far the journal had durably come and what its
 * chain was there. SQLite cuts a damaged WAL short without a word; the mark is what notices.
 * Owner: the shard thread writes it, after the commit it tells of and before anything of that commit is answered.
 *
 *   byte 0    copy A: magic, shard, sequence (2), chain (2), zero, CRC-32C of the words before
 *   byte 512  copy B: the same
 *
 * Invariants:
 *   W1  The two copies are written in turn, so a write that tears leaves the other one whole.
 *   W2  The mark never runs ahead of the journal: it is written after the commit. A journal that ends before its mark
 *       has lost rows that may have been acknowledged.
 *
 * Every commit writes the mark into the page cache, which is what a killed process leaves behind; it is synced when the
 * shard rests and at least every SYNC_EVERY commits. After a power cut it may therefore be some commits old, which
 * makes it a weaker bound, never a wrong one.
 */
import { closeSync, constants, existsSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32c } from '../shared/crc32c.ts';
import { readSafe, writeSafe } from '../shared/record.ts';
import { JournalHead } from './journalRow.ts';

const MAGIC = 0x4d58504f;
const COPIES = 2;
const COPY_OFFSET = 512;
const WORDS = 8;
const BYTES = WORDS * 4;
const CRC_WORD = WORDS - 1;
const SYNC_EVERY = 256;

export class Mark {
  readonly #fd: number;
  readonly #words = new Uint32Array(WORDS);
  readonly #bytes = new Uint8Array(this.#words.buffer);
  #copy = 0;
  #unsynced = 0;

  /** Opens or creates the file for one shard's journal. */
  constructor(path: string, shard: number) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#words[0] = MAGIC;
    this.#words[1] = shard;
  }

  /** What the better of the two copies says, or null where there is none. */
  read(): JournalHead | null {
    let best: JournalHead | null = null;
    for (let copy = 0; copy < COPIES; copy++) {
      const found = readCopy(this.#fd, copy, this.#words[1]!);
      if (found !== null && (best === null || found.sequence > best.sequence)) {
        best = found;
        this.#copy = 1 - copy;
      }
    }
    return best;
  }

  /** The commit that ends at `head` is durable. */
  advance(head: JournalHead): void {
    const words = this.#words;
    writeSafe(words, 2, head.sequence);
    words[4] = head.chainLow;
    words[5] = head.chainHigh;
    words[CRC_WORD] = crc32c({ words, bytes: this.#bytes }, 0, CRC_WORD * 4);
    writeSync(this.#fd, this.#bytes, 0, BYTES, this.#copy * COPY_OFFSET);
    this.#copy = 1 - this.#copy;
    if (++this.#unsynced >= SYNC_EVERY) this.sync();
  }

  /** Called when the shard has nothing else to do. */
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

/** What a mark says, for whoever does not write it: the file is not touched. Null where no copy is whole. */
export function readMark(path: string, shard: number): JournalHead | null {
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    let best: JournalHead | null = null;
    for (let copy = 0; copy < COPIES; copy++) {
      const found = readCopy(fd, copy, shard);
      if (found !== null && (best === null || found.sequence > best.sequence)) best = found;
    }
    return best;
  } finally {
    closeSync(fd);
  }
}

function readCopy(fd: number, copy: number, shard: number): JournalHead | null {
  const words = new Uint32Array(WORDS);
  const bytes = new Uint8Array(words.buffer);
  if (readSync(fd, bytes, 0, BYTES, copy * COPY_OFFSET) < BYTES) return null;
  if (words[0] !== MAGIC || words[1] !== shard) return null;
  if (words[CRC_WORD] !== crc32c({ words, bytes }, 0, CRC_WORD * 4)) return null;
  return new JournalHead(readSafe(words, 2), words[4]! | 0, words[5]! | 0);
}
