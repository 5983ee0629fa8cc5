/**
 * The folder of backups: parts that are named by their content, and the points that name parts. It may be on any mount.
 * Owner: one command at a time, by a lock that ends with its process.
 *
 *   TARGET/objects/ab/<SHA-256>   a part: some of a file's pages, or some rows of a journal
 *   TARGET/points/<time>.json     a manifest (point.ts)
 *   TARGET/new/                   parts that are being written
 *
 * Invariants:
 *   STORE-1  A part under its final name is complete and durable: it was written in another folder, synced, read back,
 *            compared, and then renamed. So an interrupted backup continues with the parts that exist.
 *   STORE-2  A point is written after every part that it names, and removed before any of them.
 *   STORE-3  A folder that contains anything but backups is refused, and nothing in it is changed.
 *   STORE-4  While any point cannot be read, even one that was set aside, no part is removed, because that point may
 *            name it.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { freeName } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { decodePoint, encodePoint, type PartName, POINT_VERSION, type Point, partsOf } from './point.ts';

/** A backup cannot be made or used. The message is for the operator. */
export class BackupError extends Error {
  override readonly name: string = 'BackupError';
}

/** A part differs from its hash. */
export class DamagedPartError extends BackupError {
  override readonly name = 'DamagedPartError';
}

/** Another command uses the folder; nothing is wrong with the folder or with that command. */
export class FolderInUseError extends BackupError {
  override readonly name = 'FolderInUseError';
}

/** A point that cannot be used, and why: it is damaged, or only another user or version can read it. */
type PointProblem = { readonly name: string; readonly problem: string; readonly isDamaged: boolean };

/** The number of parts that are synced to disk together. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 64 << 20;
const OWN_NAMES: ReadonlySet<string> = new Set([
  ...['objects', 'points', 'new', 'copying', 'restored'],
  ...['lock.db', 'lock.db-journal', 'lost+found'],
]);
const VERIFY = '`npm run admin -- backups verify ';
const POINT_FILE = /^(\d{8}T\d{6}\.\d{3}Z)\.json$/;

export class BackupStore {
  readonly folder: string;
  /** Bytes of parts that were new, and bytes of all parts that were put. */
  newBytes = 0;
  allBytes = 0;
  readonly #lock: Database.Database | null;
  #waiting: PartName[] = [];
  #waitingBytes = 0;
  readonly #isWaiting = new Set<PartName>();

  /** Opens the folder for a command that writes; makes the folder if it does not exist. */
  static open(folder: string): BackupStore {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new BackupError(`${folder}: ${errorMessage(error)}`);
    }
    requireOwn(folder);
    const lock = lockOf(folder);
    try {
      for (const name of ['objects', 'points']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
      for (const name of ['new', 'copying']) {
        rmSync(join(folder, name), { recursive: true, force: true });
        mkdirSync(join(folder, name), { mode: 0o700 });
      }
      syncDirectory(folder);
      return new BackupStore(folder, lock);
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Opens the folder for a command that only reads, even while another command writes. */
  static read(folder: string): BackupStore {
    if (!existsSync(join(folder, 'points'))) throw new BackupError(`${folder} holds no backups`);
    return new BackupStore(folder, null);
  }

  private constructor(folder: string, lock: Database.Database | null) {
    this.folder = folder;
    this.#lock = lock;
  }

  /** A path for the copy of a database while it is made; the next command removes it. */
  temporary(name: string): string {
    return join(this.folder, 'copying', name);
  }

  /** Oldest first. */
  pointNames(): string[] {
    const names = readdirSync(join(this.folder, 'points')).flatMap((file) => POINT_FILE.exec(file)?.[1] ?? []);
    return names.sort();
  }

  point(name: string): Point {
    const found = this.#read(name);
    if ('problem' in found) throw new BackupError(found.problem);
    return found;
  }

  /** Lists all points, oldest first: the usable ones and the unusable ones. */
  points(): { readonly points: readonly Point[]; readonly problems: readonly PointProblem[] } {
    const all = this.pointNames().map((name) => this.#read(name));
    return {
      points: all.flatMap((found) => ('problem' in found ? [] : [found])),
      problems: all.flatMap((found) => ('problem' in found ? [found] : [])),
    };
  }

  /** The newest usable point, from which the next backup continues. */
  newest(): Point | null {
    return this.points().points.at(-1) ?? null;
  }

  #read(name: string): Point | PointProblem {
    const path = this.#pointPath(name);
    if (!existsSync(path)) return { name, problem: `${this.folder} has no point ${name}`, isDamaged: false };
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      return { name, problem: accessProblem(path, error) ?? `${path}: ${errorMessage(error)}`, isDamaged: false };
    }
    const point = decodePoint(text);
    // A manifest that was renamed still has a valid hash, so its name is compared too.
    if (point === null || point.name !== name) {
      const what = point === null ? 'is damaged: its hash does not match' : `is the point ${point.name}`;
      return { name, problem: `${path} ${what}: ${VERIFY}${this.folder}\` sets it aside`, isDamaged: true };
    }
    if (point.version === POINT_VERSION) return point;
    return { name, problem: `${path} is of another version of this program`, isDamaged: false };
  }

  /** Durable once `flush` has returned. */
  put(bytes: Uint8Array): PartName {
    const name = createHash('sha256').update(bytes).digest('hex');
    this.allBytes += bytes.length;
    if (this.#isWaiting.has(name) || this.has(name)) return name;
    this.newBytes += bytes.length;
    writeFileSync(join(this.folder, 'new', name), bytes, { mode: 0o600 });
    this.#isWaiting.add(name);
    this.#waiting.push(name);
    this.#waitingBytes += bytes.length;
    if (this.#waiting.length >= MOST_WAITING || this.#waitingBytes >= MOST_WAITING_BYTES) this.flush();
    return name;
  }

  /** STORE-1 */
  flush(): void {
    const folders = new Set<string>();
    for (const name of this.#waiting) {
      const path = join(this.folder, 'new', name);
      syncFile(path);
      if (hashOf(readFileSync(path)) !== name) throw new BackupError(`${path} was not written as it is`);
    }
    for (const name of this.#waiting) {
      const to = this.#partPath(name);
      if (!existsSync(dirname(to))) {
        mkdirSync(dirname(to), { mode: 0o700 });
        folders.add(join(this.folder, 'objects'));
      }
      renameSync(join(this.folder, 'new', name), to);
      folders.add(dirname(to));
    }
    for (const folder of folders) syncDirectory(folder);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#isWaiting.clear();
  }

  has(name: PartName): boolean {
    return existsSync(this.#partPath(name));
  }

  /** Returns the bytes of a part, after comparing them with its name. */
  part(name: PartName): Buffer {
    const path = this.#partPath(name);
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (error) {
      const access = accessProblem(path, error);
      if (access !== null) throw new BackupError(access, { cause: error });
      throw new DamagedPartError(`a part of the backup cannot be read: ${errorMessage(error)}: ${this.#otherPoint}`);
    }
    if (hashOf(bytes) === name) return bytes;
    throw new DamagedPartError(`${path} is damaged: its hash does not match: ${this.#otherPoint}`);
  }

  get #otherPoint(): string {
    return `${VERIFY}${this.folder}\` says which points are whole, and \`--point\` restores one`;
  }

  /** A part that another user owns is not damaged. */
  isSound(name: PartName): boolean {
    const path = this.#partPath(name);
    try {
      return hashOf(readFileSync(path)) === name;
    } catch (error) {
      const access = accessProblem(path, error);
      if (access !== null) throw new BackupError(access, { cause: error });
      return false;
    }
  }

  /**
   * The next backup writes the part again if the directory still has it.
   * @returns the new name; null if there is no such part
   */
  setAside(name: PartName): string | null {
    const path = this.#partPath(name);
    return existsSync(path) ? renamed(path) : null;
  }

  /** STORE-4 @returns the new name */
  setPointAside(name: string): string {
    return renamed(this.#pointPath(name));
  }

  /** STORE-2 */
  addPoint(point: Point): void {
    this.flush();
    const path = this.#pointPath(point.name);
    writeFileSync(`${path}.part`, encodePoint(point), { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
    syncDirectory(dirname(path));
  }

  /**
   * STORE-2, STORE-4. Removes points, and the parts that no other point names.
   * @returns the bytes of the removed parts, or null
   */
  remove(names: readonly string[]): number | null {
    for (const name of names) rmSync(this.#pointPath(name));
    syncDirectory(join(this.folder, 'points'));
    const { points, problems } = this.points();
    const isAside = readdirSync(join(this.folder, 'points')).some((name) => name.includes('.damaged'));
    if (problems.length > 0 || isAside) return null;
    const named = new Set<PartName>();
    for (const point of points) for (const part of partsOf(point)) named.add(part);
    let bytes = 0;
    for (const folder of readdirSync(join(this.folder, 'objects'))) {
      for (const name of readdirSync(join(this.folder, 'objects', folder))) {
        if (named.has(name) || name.includes('.damaged')) continue;
        const path = join(this.folder, 'objects', folder, name);
        bytes += statSync(path).size;
        rmSync(path);
      }
    }
    return bytes;
  }

  close(): void {
    this.#lock?.close();
  }

  #pointPath(name: string): string {
    return join(this.folder, 'points', `${name}.json`);
  }

  #partPath(name: PartName): string {
    return join(this.folder, 'objects', name.slice(0, 2), name);
  }
}

/** STORE-3 */
function requireOwn(folder: string): void {
  const other = readdirSync(folder).find((name) => !OWN_NAMES.has(name));
  if (other === undefined) return;
  throw new BackupError(`${folder} holds other files (${other}): give an empty folder, or one of backups`);
}

/** SQLite's lock of a file ends with the process, however the process ends. */
function lockOf(folder: string): Database.Database {
  const path = join(folder, 'lock.db');
  try {
    const db = new Database(path, { timeout: 0 });
    try {
      db.pragma('locking_mode = EXCLUSIVE');
      db.exec('BEGIN EXCLUSIVE');
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    if (error.code.startsWith('SQLITE_BUSY')) throw new FolderInUseError(`another command works on ${folder}`);
    const next = isDamaged(error) ? `: rm ${path}, there is nothing in it` : '';
    throw new BackupError(accessProblem(path, error) ?? `${path}: ${error.message}${next}`);
  }
}

function renamed(path: string): string {
  const aside = freeName(`${path}.damaged`);
  renameSync(path, aside);
  return aside;
}

function hashOf(bytes: Uint8Array): PartName {
  return createHash('sha256').update(bytes).digest('hex');
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
