/**
 * The files of a dead shard: the bytes of its journal, WAL and mark, copied at one moment and restored as if the old
 * process had done nothing since.
 *
 *   killed      everything written is there, synced or not: the page cache outlives a process
 *   power cut   what was synced is there, of what was written since any part: whole, torn, garbled or nothing
 *
 * With synchronous=FULL a commit syncs the WAL before it returns, and a checkpoint syncs the WAL before it writes the
 * database, so the only bytes in doubt are those of the commit under way and of the mark, which is synced when the
 * shard is idle.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { markPath } from '../../engine/journal/file.ts';
import type { Random } from '../support/random.ts';

/** The unit that a disk writes completely or not at all. */
const SECTOR = 512;
const PERCENTS = [0, 30, 70, 100];

export class Image {
  readonly db: Buffer;
  readonly wal: Buffer;
  readonly mark: Buffer;

  constructor(db: Buffer, wal: Buffer, mark: Buffer) {
    this.db = db;
    this.wal = wal;
    this.mark = mark;
  }

  static take(journalPath: string): Image {
    return new Image(bytesOf(journalPath), bytesOf(walPath(journalPath)), bytesOf(markPath(journalPath)));
  }

  /** Puts the files where a new process finds them; the old one must have closed its own. */
  write(journalPath: string): void {
    rmSync(`${journalPath}-shm`, { force: true });
    writeFileSync(journalPath, this.db);
    writeFileSync(walPath(journalPath), this.wal);
    writeFileSync(markPath(journalPath), this.mark);
  }

  withMark(mark: Buffer): Image {
    return new Image(this.db, this.wal, mark);
  }

  /** Flips one bit, or cuts the WAL. @returns the image, and a description of the damage. */
  damaged(random: Random): [Image, string] {
    const files = { db: this.db, wal: this.wal, mark: this.mark };
    if (this.wal.length > 0 && random.chance(25)) {
      const length = random.below(this.wal.length);
      return [new Image(this.db, this.wal.subarray(0, length), this.mark), `WAL cut at ${length}`];
    }
    const names = (['db', 'wal', 'mark'] as const).filter((name) => files[name].length > 0);
    const name = random.pick(names);
    const bytes = Buffer.from(files[name]);
    const at = random.below(bytes.length);
    bytes[at] = bytes[at] ^ (1 << random.below(8));
    files[name] = bytes;
    return [new Image(files.db, files.wal, files.mark), `a bit of byte ${at} of ${name} flipped`];
  }
}

/** Power went during a commit that turns `before` into `after`. */
export function cutDuringCommit(before: Image, after: Image, random: Random): Image {
  const didCheckpoint = !before.db.equals(after.db);
  if (didCheckpoint && random.chance(50)) {
    return new Image(torn(before.db, after.db, random), after.wal, before.mark);
  }
  return new Image(before.db, torn(before.wal, after.wal, random), before.mark);
}

/**
 * Power went while the mark was on its way to the disk: each of its two copies, a sector each, is there or not, and the
 * one under way may be anything.
 */
export function tornMark(before: Buffer, after: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(after);
  for (let at = 0; at < bytes.length; at += SECTOR) {
    if (random.chance(50)) copySector(before, bytes, at);
  }
  const torn = random.below(bytes.length);
  if (random.chance(50) && before[torn] !== after[torn]) bytes[torn] = random.below(256);
  return bytes;
}

function torn(before: Buffer, after: Buffer, random: Random): Buffer {
  const percent = random.pick(PERCENTS);
  const isCut = after.length > before.length && random.chance(50);
  const bytes = Buffer.alloc(
    isCut ? random.between(before.length, after.length) : Math.max(before.length, after.length),
  );
  before.copy(bytes);
  for (let at = 0; at < bytes.length; at += SECTOR) {
    if (random.chance(percent)) copySector(after, bytes, at);
  }
  const isNew = (at: number) => before[at] !== bytes[at];
  const garbled = random.below(Math.max(bytes.length, 1));
  if (percent < 100 && random.chance(30) && isNew(garbled)) bytes[garbled] = random.below(256);
  return bytes;
}

function copySector(from: Buffer, to: Buffer, at: number): void {
  to.set(from.subarray(at, Math.min(at + SECTOR, to.length)), at);
}

function bytesOf(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

function walPath(journalPath: string): string {
  return `${journalPath}-wal`;
}
