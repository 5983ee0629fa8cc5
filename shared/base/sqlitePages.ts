/**
 * Reads the remaining rows of a SQLite file with damaged pages. SQLite gives up a table at the first bad page; here
 * each leaf page is read by itself, whatever the pages above it say. The file format is SQLite's own
 * (sqlite.org/fileformat2.html). Nothing is written, and no lock is taken: the exchange is stopped.
 *
 * Invariants:
 *   PAGES-1  A page of the write-ahead log replaces the file's page, up to the last commit with correct checksums, as
 *            SQLite itself would read it.
 *   PAGES-2  Free pages are left out if the list of them can be read, because their contents were deleted.
 *   PAGES-3  Nothing in a page is trusted: a cell that does not fit its page, or whose overflow pages do not fit its
 *            length, is ignored.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
/** Used if the header is damaged: SQLite's default for new files. */
const DEFAULT_PAGE_BYTES = 4096;
/** The kinds of pages, by their first byte. Index pages also hold tables WITHOUT ROWID. */
const TABLE_LEAF = 0x0d;
const TABLE_INNER = 0x05;
const INDEX_LEAF = 0x0a;
const INDEX_INNER = 0x02;
const LEAF_HEADER_BYTES = 8;
const INNER_HEADER_BYTES = 12;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const WAL_MAGIC = 0x377f0682;
/** No file is so large that its trees have more levels. */
const MOST_DEPTH = 20;

/** The place of a cell: its page and its number there. */
type Cell = { readonly rowid: number; readonly page: number; readonly index: number };
export type Column = null | number | bigint | string | Uint8Array;

/** The rows of one tree of pages, and those of its pages that cannot be read. */
type Tree = { readonly rows: readonly TreeRow[]; readonly lostPages: number };
/** A leaf page by itself. */
type OrphanPage = { readonly page: number; readonly rows: readonly TreeRow[] };
/** `rowid` is null in a table WITHOUT ROWID, whose columns begin with those of the primary key. */
export type TreeRow = { readonly rowid: number | null; readonly columns: readonly Column[] };

export class SqlitePages {
  readonly pageBytes: number;
  readonly #fd: number;
  readonly #walFd: number | null;
  readonly #pages: number;
  /** PAGES-1. By page number: the position of its bytes in the write-ahead log. */
  readonly #inWal: ReadonlyMap<number, number>;
  readonly #free: ReadonlySet<number>;
  /** The bytes of a page that SQLite may use. */
  readonly #usable: number;

  constructor(path: string) {
    this.#fd = openSync(path, 'r');
    const wal = `${path}-wal`;
    this.#walFd = existsSync(wal) ? openSync(wal, 'r') : null;
    const header = readAt(this.#fd, 0, HEADER_BYTES);
    const isWhole = header.length === HEADER_BYTES && header.toString('latin1', 0, 16) === MAGIC;
    const said = isWhole ? header.readUInt16BE(16) : 0;
    this.pageBytes = said === 1 ? 65_536 : isPageSize(said) ? said : DEFAULT_PAGE_BYTES;
    this.#usable = this.pageBytes - (isWhole ? header[20] : 0);
    this.#inWal = this.#walFd === null ? new Map() : framesOf(this.#walFd, this.pageBytes);
    const inFile = Math.ceil(fstatSync(this.#fd).size / this.pageBytes);
    // A long log has more pages than a call may have arguments.
    this.#pages = [...this.#inWal.keys()].reduce((most, page) => Math.max(most, page), inFile);
    this.#free = this.#freePages();
  }

  close(): void {
    closeSync(this.#fd);
    if (this.#walFd !== null) closeSync(this.#walFd);
  }

  /** The cells of all leaf pages of tables, in the order of the pages. Some of them may turn out to be unreadable. */
  *cells(): Generator<Cell> {
    for (let page = 1; page <= this.#pages; page++) {
      if (this.#free.has(page)) continue;
      const bytes = this.#page(page);
      const start = page === 1 ? HEADER_BYTES : 0;
      if (bytes[start] !== TABLE_LEAF || bytes.length < this.#usable) continue;
      const count = bytes.readUInt16BE(start + 3);
      for (let index = 0; index < count; index++) {
        const head = cellHead(bytes, start, index);
        if (head !== null) yield { rowid: head.rowid, page, index };
      }
    }
  }

  /** The rows below a page, as far as the pages lead to them. @param seen collects every page of this tree */
  tree(root: number, seen: Set<number>): Tree {
    const rows: TreeRow[] = [];
    let lostPages = 0;
    const visit = (page: number): void => {
      if (seen.has(page)) return;
      const bytes = page >= 1 && page <= this.#pages ? this.#page(page) : Buffer.alloc(0);
      const start = page === 1 ? HEADER_BYTES : 0;
      const kind = bytes.length < this.#usable ? 0 : bytes[start];
      if (![TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER].includes(kind)) {
        lostPages++;
        return;
      }
      seen.add(page);
      const isInner = kind === TABLE_INNER || kind === INDEX_INNER;
      const count = bytes.readUInt16BE(start + 3);
      for (let index = 0; index < count; index++) {
        const cell = bytes.readUInt16BE(start + (isInner ? INNER_HEADER_BYTES : LEAF_HEADER_BYTES) + index * 2);
        if (isInner && cell + 4 <= bytes.length) visit(bytes.readUInt32BE(cell));
        const row = kind === TABLE_INNER ? undefined : this.#rowAt(bytes, kind, cell);
        if (row === null) lostPages++;
        else if (row !== undefined) rows.push(row);
      }
      if (isInner) visit(bytes.readUInt32BE(start + 8));
    };
    visit(root);
    return { rows, lostPages };
  }

  /** The last row of the table with this name; null if it has none, or if the pages do not lead to it (PAGES-3). */
  lastRowOf(table: string): TreeRow | null {
    const schema = this.tree(1, new Set()).rows.find(({ columns }) => columns[1] === table);
    let page = Number(schema?.columns[3] ?? 0);
    for (let depth = 0; depth < MOST_DEPTH && page > 1 && page <= this.#pages; depth++) {
      const bytes = this.#page(page);
      if (bytes.length < this.#usable) return null;
      if (bytes[0] === TABLE_INNER) {
        page = bytes.readUInt32BE(8);
        continue;
      }
      const last = bytes.readUInt16BE(3) - 1;
      const pointer = LEAF_HEADER_BYTES + last * 2;
      if (bytes[0] !== TABLE_LEAF || last < 0 || pointer + 2 > this.#usable) return null;
      return this.#rowAt(bytes, TABLE_LEAF, bytes.readUInt16BE(pointer));
    }
    return null;
  }

  /** Leaf pages to which no tree has led and that are not known to be free, with their rows. */
  orphans(seen: ReadonlySet<number>): OrphanPage[] {
    const found: OrphanPage[] = [];
    for (let page = 2; page <= this.#pages; page++) {
      if (seen.has(page) || this.#free.has(page)) continue;
      const bytes = this.#page(page);
      const kind = bytes.length < this.#usable ? 0 : bytes[0];
      if (kind !== TABLE_LEAF && kind !== INDEX_LEAF) continue;
      const count = Math.min(bytes.readUInt16BE(3), this.#usable / 4);
      const rows: TreeRow[] = [];
      for (let index = 0; index < count; index++) {
        const row = this.#rowAt(bytes, kind, bytes.readUInt16BE(LEAF_HEADER_BYTES + index * 2));
        if (row !== null) rows.push(row);
      }
      found.push({ page, rows });
    }
    return found;
  }

  /** Without its first page a file has neither a version nor a list of its free pages. */
  get hasHeader(): boolean {
    const first = this.#page(1);
    return first.length >= HEADER_BYTES && first.toString('latin1', 0, 16) === MAGIC;
  }

  /** The version that the application gave the file. */
  get userVersion(): number {
    return this.#page(1).readUInt32BE(60);
  }

  /** The number that says which application's file it is. */
  get applicationId(): number {
    return this.#page(1).readUInt32BE(68);
  }

  /** Null if the cell cannot be read (PAGES-3). */
  #rowAt(bytes: Buffer, kind: number, cell: number): TreeRow | null {
    const length = varint(bytes, cell + (kind === INDEX_INNER ? 4 : 0));
    if (length === null) return null;
    const isTable = kind === TABLE_LEAF;
    const rowid = isTable ? varint(bytes, length.end) : null;
    if (isTable && rowid === null) return null;
    const head = { at: rowid?.end ?? length.end, length: Number(length.value) };
    const payload = this.#payload(bytes, head, isTable);
    const columns = payload === null ? null : decodeColumns(payload);
    return columns === null ? null : { rowid: rowid === null ? null : Number(rowid.value), columns };
  }

  /** The columns of a cell; null if it cannot be read (PAGES-3). */
  columnsOf({ page, index }: Pick<Cell, 'page' | 'index'>): readonly Column[] | null {
    const bytes = this.#page(page);
    const head = cellHead(bytes, page === 1 ? HEADER_BYTES : 0, index);
    if (head === null) return null;
    const payload = this.#payload(bytes, head, true);
    return payload === null ? null : decodeColumns(payload);
  }

  #payload(bytes: Buffer, { at, length }: Omit<CellHead, 'rowid'>, isTable: boolean): Buffer | null {
    const usable = this.#usable;
    const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
    if (length <= most) return at + length <= usable ? bytes.subarray(at, at + length) : null;
    if (length > this.#pages * usable) return null;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const spread = least + ((length - least) % (usable - 4));
    const local = spread <= most ? spread : least;
    if (at + local + 4 > usable) return null;
    const parts = [bytes.subarray(at, at + local)];
    let next = bytes.readUInt32BE(at + local);
    for (let left = length - local; left > 0; ) {
      if (next < 2 || next > this.#pages) return null;
      const page = this.#page(next);
      if (page.length < usable) return null;
      parts.push(page.subarray(4, 4 + Math.min(left, usable - 4)));
      left -= usable - 4;
      next = page.readUInt32BE(0);
    }
    return Buffer.concat(parts, length);
  }

  #page(page: number): Buffer {
    const inWal = this.#inWal.get(page);
    if (inWal !== undefined) return readAt(this.#walFd!, inWal, this.pageBytes);
    return readAt(this.#fd, (page - 1) * this.pageBytes, this.pageBytes);
  }

  /** PAGES-2. The trunk pages of the list, and the pages that they name. */
  #freePages(): Set<number> {
    const free = new Set<number>();
    const first = this.#page(1);
    if (first.length < HEADER_BYTES || first.toString('latin1', 0, 16) !== MAGIC) return free;
    let trunk = first.readUInt32BE(32);
    while (trunk > 1 && trunk <= this.#pages && !free.has(trunk)) {
      const bytes = this.#page(trunk);
      if (bytes.length < this.#usable) break;
      free.add(trunk);
      const leaves = Math.min(bytes.readUInt32BE(4), this.#usable / 4 - 2);
      for (let leaf = 0; leaf < leaves; leaf++) free.add(bytes.readUInt32BE(8 + leaf * 4));
      trunk = bytes.readUInt32BE(0);
    }
    return free;
  }
}

type CellHead = { readonly rowid: number; readonly at: number; readonly length: number };

/** For a leaf page of a table, which begins at `start` of its bytes. */
function cellHead(bytes: Buffer, start: number, index: number): CellHead | null {
  const pointer = start + LEAF_HEADER_BYTES + index * 2;
  if (pointer + 2 > bytes.length) return null;
  const cell = bytes.readUInt16BE(pointer);
  if (cell < start + LEAF_HEADER_BYTES) return null;
  const length = varint(bytes, cell);
  const rowid = length === null ? null : varint(bytes, length.end);
  if (length === null || rowid === null) return null;
  return { rowid: Number(rowid.value), at: rowid.end, length: Number(length.value) };
}

function varint(bytes: Buffer, from: number): { readonly value: bigint; readonly end: number } | null {
  let value = 0n;
  for (let i = 0; i < 9; i++) {
    const byte = bytes[from + i];
    if (byte === undefined) return null;
    if (i === 8) return { value: BigInt.asIntN(64, (value << 8n) | BigInt(byte)), end: from + 9 };
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value, end: from + i + 1 };
  }
  return null;
}

/** The columns of a record in SQLite's format; null if the bytes are not a record. */
function decodeColumns(payload: Buffer): Column[] | null {
  const header = varint(payload, 0);
  if (header === null || Number(header.value) > payload.length) return null;
  const columns: Column[] = [];
  let at = Number(header.value);
  for (let next = header.end; next < Number(header.value); ) {
    const type = varint(payload, next);
    if (type === null) return null;
    const bytes = lengthOf(Number(type.value));
    if (bytes === null || at + bytes > payload.length) return null;
    columns.push(columnOf(Number(type.value), payload.subarray(at, at + bytes)));
    at += bytes;
    next = type.end;
  }
  return columns;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function lengthOf(type: number): number | null {
  if (type < 0) return null;
  if (type < INTEGER_BYTES.length) return INTEGER_BYTES[type];
  return type < 12 ? null : (type - 12 - (type % 2)) / 2;
}

function columnOf(type: number, bytes: Buffer): Column {
  if (type === 0) return null;
  if (type === 7) return bytes.readDoubleBE(0);
  if (type === 8 || type === 9) return type - 8;
  if (type >= 12) return type % 2 === 0 ? new Uint8Array(bytes) : bytes.toString('utf8');
  if (bytes.length < 8) return bytes.readIntBE(0, bytes.length);
  const value = bytes.readBigInt64BE(0);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** PAGES-1. The position of the newest frame of each page, up to the last commit. */
function framesOf(fd: number, pageBytes: number): Map<number, number> {
  const committed = new Map<number, number>();
  const pending = new Map<number, number>();
  for (const { page, at, isCommit, isWhole } of walFrames(fd, pageBytes)) {
    if (!isWhole) return committed;
    pending.set(page, at);
    if (!isCommit) continue;
    for (const [each, place] of pending) committed.set(each, place);
    pending.clear();
  }
  return committed;
}

/**
 * Commits in a write-ahead log behind a frame with a wrong checksum, which SQLite therefore does not read. A damaged
 * disk leaves some; a power cut during a write seldom does.
 */
export function commitsBehindDamage(path: string): number {
  const fd = openSync(`${path}-wal`, 'r');
  try {
    const header = readAt(fd, 0, WAL_HEADER_BYTES);
    if (header.length < WAL_HEADER_BYTES || !isPageSize(header.readUInt32BE(8))) return 0;
    let commits = 0;
    for (const { isCommit, isWhole } of walFrames(fd, header.readUInt32BE(8))) if (isCommit && !isWhole) commits++;
    return commits;
  } finally {
    closeSync(fd);
  }
}

/** `isWhole`: the checksums of this frame and of all frames before it are right. */
type Frame = {
  readonly page: number;
  /** The position of the page's bytes. */
  readonly at: number;
  readonly isCommit: boolean;
  readonly isWhole: boolean;
};

/** The frames since the log last began anew. */
function* walFrames(fd: number, pageBytes: number): Generator<Frame> {
  const header = readAt(fd, 0, WAL_HEADER_BYTES);
  if (header.length < WAL_HEADER_BYTES || header.readUInt32BE(8) !== pageBytes) return;
  const magic = header.readUInt32BE(0);
  if (magic !== WAL_MAGIC && magic !== WAL_MAGIC + 1) return;
  const isBig = magic === WAL_MAGIC + 1;
  let sums = checksum(header.subarray(0, 24), [0, 0], isBig);
  if (!isSum(header, 24, sums)) return;
  let isWhole = true;
  for (let at = WAL_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageBytes) {
    const frame = readAt(fd, at, FRAME_HEADER_BYTES + pageBytes);
    if (frame.length < FRAME_HEADER_BYTES + pageBytes) return;
    // SQLite reads up to the first frame of an earlier log; behind a damaged page there may be more frames of this log.
    const isOfThis = frame.compare(header, 16, 24, 8, 16) === 0;
    if (isWhole)
      sums = checksum(frame.subarray(FRAME_HEADER_BYTES), checksum(frame.subarray(0, 8), sums, isBig), isBig);
    isWhole = isWhole && isOfThis && isSum(frame, 16, sums);
    const [page, commit] = [frame.readUInt32BE(0), frame.readUInt32BE(4)];
    yield { page, at: at + FRAME_HEADER_BYTES, isCommit: isOfThis && commit > 0, isWhole };
  }
}

type Sums = readonly [number, number];

function checksum(bytes: Buffer, [first, second]: Sums, isBig: boolean): Sums {
  let low = first;
  let high = second;
  for (let at = 0; at < bytes.length; at += 8) {
    low = (low + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + high) >>> 0;
    high = (high + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + low) >>> 0;
  }
  return [low, high];
}

function isSum(bytes: Buffer, at: number, [low, high]: Sums): boolean {
  return bytes.readUInt32BE(at) === low && bytes.readUInt32BE(at + 4) === high;
}

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 32_768 && (bytes & (bytes - 1)) === 0;
}

/** Reads less if the file ends earlier. */
function readAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, at));
}
