/**
 * Keeps the reserved disk space of a SQLite file in WAL mode over a stop. SQLite deletes the write-ahead log (WAL) and
 * its index (-shm) with the last connection, and on a full disk another program could take the blocks before the next
 * start. So a stop gives both files a second name, and the next start gives the blocks back.
 *
 *   stop    file.db-wal ──link──► file.db-room        SQLite copies the frames into file.db and deletes the first name
 *           file.db-shm ──link──► file.db-room-shm
 *   start   file.db-room ──head cleared──► file.db-wal
 *           file.db-room-shm is deleted, and SQLite makes an index in its place
 *
 * Owner: the gateway thread, before it opens the files and at the beginning of a stop. A start that is refused because
 * a newer version has written control.db gives back only that file's room.
 *
 * Invariant:
 *   KEPTROOM-1  Once the first name is gone, frames under the second name are ignored, because the database file has
 *               them. While both names exist they are one file, or the second is useless. So a crash at any moment, of
 *               the process or of the machine, loses nothing.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  linkSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

const WAL_HEAD_BYTES = 32;
/** A shorter WAL is not worth keeping. */
const LEAST_BYTES = 1 << 20;
const KEPT = /^(.+\.db)-room(?:-shm)?$/;

/**
 * Called while the file is open. On a file system without links nothing is kept: the next start reserves whatever space
 * there is.
 */
export function keepRoom(path: string): void {
  dropRoom(path);
  for (const [first, second] of namesOf(path)) {
    try {
      linkSync(first, second);
    } catch {
      // There is no WAL, or the file system has no links.
    }
  }
}

/** Called before any of the files is opened, by a start that continues with them. */
export function takeRoomsBack(directory: string): void {
  const paths = new Set(existsSync(directory) ? readdirSync(directory).map((name) => KEPT.exec(name)?.[1]) : []);
  for (const name of paths) if (name !== undefined) takeRoomBack(join(directory, name));
}

/** Closes a writing connection before the file is opened for normal use: its room stays in place. */
export function closeKeepingRoom(db: { readonly name: string; close(): unknown }): void {
  const hasRoom = (statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0) >= LEAST_BYTES;
  if (hasRoom) keepRoom(db.name);
  db.close();
  if (hasRoom) takeRoomBack(db.name);
}

/** Gives back the room of one file, before the file is opened. */
export function takeRoomBack(path: string): void {
  const [[wal, room], [, index]] = namesOf(path);
  rmSync(index, { force: true });
  if (!existsSync(room)) return;
  if (statSync(wal, { throwIfNoEntry: false })?.size === 0) closeLast(path);
  if (!existsSync(wal)) {
    clearHead(room);
    linkSync(room, wal);
  }
  rmSync(room);
}

/** A program that only reads has left an empty WAL: SQLite deletes it with the last connection, and not earlier. */
function closeLast(path: string): void {
  try {
    const db = new Database(path, { fileMustExist: true });
    db.pragma('user_version');
    db.close();
  } catch {
    // The store that opens the file reports its damage.
  }
}

/** Deletes the second names, with their contents. */
export function dropRoom(path: string): void {
  for (const [, second] of namesOf(path)) rmSync(second, { force: true });
}

function namesOf(path: string): readonly [readonly [string, string], readonly [string, string]] {
  return [
    [`${path}-wal`, `${path}-room`],
    [`${path}-shm`, `${path}-room-shm`],
  ];
}

/** A WAL without its head has no frames: KEPTROOM-1. */
function clearHead(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    writeSync(fd, new Uint8Array(WAL_HEAD_BYTES), 0, WAL_HEAD_BYTES, 0);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
