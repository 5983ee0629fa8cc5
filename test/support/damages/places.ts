/**
 * The places at which files are damaged, so that every run has the same results. In `control.db` it is a page with
 * accounts and in `read.db` one with orders, neither of which is also in the write-ahead log; in a write-ahead log the
 * frame in its middle (in control.db's the first one after an account with money was made); in a member's mark one of
 * its two copies; in any other file the middle of its content.
 */
import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { temporaryDirectory } from '../directory.ts';

export const PAGE_BYTES = 4096;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** By database, the table whose oldest rows are damaged: the middle of the file does not always hold the same rows. */
const DAMAGED_TABLES: Readonly<Record<string, string>> = {
  'control.db': 'users',
  'read.db': 'orders',
  'settlement.db': 'escrows',
  'ramp.db': 'deals',
};
/** The offset of the second copy in held.mark, and a byte of its text. */
const HELD_MARK = { copy: 16 << 10, text: 200 } as const;
/** Offsets of both salts, in the header of the log and in each of its frames. */
const SALTS = { header: 16, frame: 8, bytes: 8 } as const;

/** `at` is the byte to flip, `page` where the page begins that is zeroed, `end` where the file is cut. */
type Place = { readonly at: number; readonly page: number; readonly end: number };

/** @param framesBefore of a write-ahead log of control.db, how many frames stay whole */
export function placeIn(path: string, framesBefore: number): Place {
  if (path.endsWith('-wal')) return inLog(path, path.endsWith('control.db-wal') ? framesBefore : null);
  if (path.endsWith('held.mark')) {
    const { copy, text } = HELD_MARK;
    return { at: copy + text, page: copy, end: copy };
  }
  const table = DAMAGED_TABLES[basename(path)];
  if (table !== undefined) {
    const page = (oldestPage(path, table) - 1) * PAGE_BYTES;
    const bytes = readFileSync(path).subarray(page, page + PAGE_BYTES);
    // The first cell of a leaf page has the end of the page; a byte near its end is of its last columns.
    return { at: page + bytes.length - 40, page, end: Math.floor(statSync(path).size / 2) };
  }
  const at = Math.floor(usedBytes(path) / 2);
  return { at, page: writtenPage(path, Math.floor(at / PAGE_BYTES)) * PAGE_BYTES, end: at };
}

/** The first page from this one on that is not zeroed already: a snapshot has rooms without a value. */
function writtenPage(path: string, middle: number): number {
  const bytes = readFileSync(path);
  const pages = Math.ceil(bytes.length / PAGE_BYTES);
  for (let page = middle; page < pages; page++)
    if (bytes.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES).some((byte) => byte !== 0)) return page;
  return middle;
}

/** Returns the frames of a write-ahead log since it last restarted. */
export function framesOf(path: string): number {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  let frames = 0;
  for (let at = WAL_HEADER_BYTES; at + FRAME_BYTES <= bytes.length; at += FRAME_BYTES) {
    const salts = bytes.subarray(at + SALTS.frame, at + SALTS.frame + SALTS.bytes);
    if (salts.compare(bytes, SALTS.header, SALTS.header + SALTS.bytes) !== 0) break;
    frames++;
  }
  return frames;
}

function inLog(path: string, framesBefore: number | null): Place {
  const frame = framesBefore ?? Math.floor(framesOf(path) / 2);
  const end = WAL_HEADER_BYTES + frame * FRAME_BYTES;
  const page = end + FRAME_HEADER_BYTES;
  return { at: page + PAGE_BYTES / 2, page, end };
}

/** The first page of a table, by the file alone; the log beside it has the newest rows. */
function oldestPage(path: string, table: string): number {
  const alone = join(temporaryDirectory(), 'alone.db');
  copyFileSync(path, alone);
  const db = new Database(alone);
  try {
    const pages = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path";
    return db.prepare<[string], number>(pages).pluck().get(table)!;
  } finally {
    db.close();
  }
}

/** Room at the end of a file, which is zeroes or spaces, is not part of anything. */
function usedBytes(path: string): number {
  const bytes = readFileSync(path);
  let used = bytes.length;
  while (used > 0 && (bytes[used - 1] === 0 || bytes[used - 1] === 0x20)) used--;
  return used;
}
