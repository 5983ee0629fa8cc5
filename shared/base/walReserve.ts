/**
 * Reserves room in the write-ahead log (WAL) of a SQLite file in advance, so that commits continue when the disk is
 * full. Owner: the thread with the connection that writes.
 *
 *   WAL   | frames of commits | room: frames of a transaction that was rolled back |
 *                             ▲ the next commit overwrites them
 *
 * A transaction that is larger than its cache writes pages into the WAL before it commits. After a rollback these pages
 * are ignored, but the WAL keeps its length, and so does the file that indexes its frames (-shm), which could not grow
 * on a full disk either. After a checkpoint that copies the WAL to its end, the WAL starts again from the front of the
 * same file. keptRoom.ts keeps the file over a stop.
 *
 * Invariant:
 *   WALRESERVE-1  Reserving room changes no committed data, and a disk without room for it is not an error.
 */
import { closeSync, fdatasyncSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { assert } from './assert.ts';
import { isDiskFull } from './diskFull.ts';

type Connection = {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  pragma(source: string, options: { simple: boolean }): unknown;
  prepare(source: string): { get(): unknown };
};

type WalReserveOptions = {
  /** Room for commits on a full disk; 0 reserves none. */
  readonly reserveBytes: number;
  /** The length to which the WAL grows between two checkpoints: the reserve lies behind it. */
  readonly cycleBytes: number;
};

const PAGE_BYTES = 4096;
const FRAME_BYTES = PAGE_BYTES + 24;
const HEAD_BYTES = 32;
/** The index grows by blocks; each block has the numbers of this many frames, the first block also a head. */
const INDEX_BLOCK_BYTES = 32_768;
const INDEX_BLOCK_FRAMES = 4096;
const INDEX_HEAD_FRAMES = 34;
/** The pages of the transaction that stay in its cache and out of the WAL. */
const CACHE_PAGES = 16;

export class WalReserve {
  readonly #db: Connection;
  readonly #path: string;
  readonly #options: WalReserveOptions;
  /** Changes nothing; it returns how many frames the WAL has. */
  readonly #count: ReturnType<Connection['prepare']>;
  /** The value that the owner of the connection had set before. */
  readonly #cacheSize: unknown;

  /** @param path the path of the SQLite file, which is in WAL mode. */
  constructor(db: Connection, path: string, options: WalReserveOptions) {
    assert(options.reserveBytes >= 0 && options.cycleBytes >= 0, 'wal reserve: sizes are not negative');
    this.#db = db;
    this.#path = path;
    this.#options = options;
    this.#count = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#cacheSize = db.pragma('cache_size', { simple: true });
  }

  /** The bytes of pages that commits can write before they need more of the disk. */
  leftBytes(): number {
    return Math.max(0, this.#frames() - this.#usedFrames()) * PAGE_BYTES;
  }

  /** Reserves room if less than half of it is left and the disk has more. Called between two transactions. */
  refill(): void {
    const { reserveBytes, cycleBytes } = this.#options;
    if (reserveBytes === 0) return;
    const usedFrames = this.#usedFrames();
    const wantedBytes = Math.max(cycleBytes - usedFrames * PAGE_BYTES, 0) + reserveBytes;
    if (this.leftBytes() * 2 >= wantedBytes) return;
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    if (bavail * bsize >= 2 * this.#missingBytes(usedFrames + wantedBytes / PAGE_BYTES)) this.#take(wantedBytes);
  }

  /** WALRESERVE-1 */
  #take(bytes: number): void {
    const db = this.#db;
    db.exec(`PRAGMA cache_size = ${CACHE_PAGES}`);
    try {
      db.exec('BEGIN IMMEDIATE; CREATE TABLE wal_room (bytes BLOB)');
      db.exec(`INSERT INTO wal_room VALUES (zeroblob(${bytes + CACHE_PAGES * PAGE_BYTES}))`);
    } catch (error) {
      if (!isDiskFull(error, this.#path)) throw error;
    } finally {
      if (db.inTransaction) db.exec('ROLLBACK');
      db.exec(`PRAGMA cache_size = ${this.#cacheSize}`);
    }
    // Otherwise the first commit would wait until all of it is on the disk.
    const fd = openSync(`${this.#path}-wal`, 'r+');
    try {
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** The bytes by which WAL and index have to grow; after a kill or a stop only the index is too short. */
  #missingBytes(frames: number): number {
    const wal = sizeOf(`${this.#path}-wal`) ?? 0;
    const index = sizeOf(`${this.#path}-shm`) ?? Number.POSITIVE_INFINITY;
    const indexBytes = Math.ceil((frames + INDEX_HEAD_FRAMES) / INDEX_BLOCK_FRAMES) * INDEX_BLOCK_BYTES;
    return Math.max(HEAD_BYTES + frames * FRAME_BYTES - wal, 0) + Math.max(indexBytes - index, 0);
  }

  #usedFrames(): number {
    const { log } = this.#count.get() as { log: number };
    return Math.max(log, 0);
  }

  /** The number of frames that fit into the present WAL and its index; a connection in exclusive mode has no index. */
  #frames(): number {
    const wal = sizeOf(`${this.#path}-wal`) ?? 0;
    const index = sizeOf(`${this.#path}-shm`);
    const frames = Math.floor(Math.max(wal - HEAD_BYTES, 0) / FRAME_BYTES);
    if (index === null) return frames;
    const indexed = Math.floor(index / INDEX_BLOCK_BYTES) * INDEX_BLOCK_FRAMES - INDEX_HEAD_FRAMES;
    return Math.min(frames, indexed);
  }
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}
