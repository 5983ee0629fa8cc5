/**
 * Files of a data directory that say their version themselves, where every version of the program finds it. A start and
 * the tools look at them before they change anything: a file that a newer version has written is neither damaged nor to
 * be made again. Files are newer than their directory (directoryVersion.ts) if they were copied into it.
 *
 * A journal says its version in each of its rows, and that of a record in the record (engine/journal/row.ts): here the
 * last row is read. So is the last line of the audit log. A backup says its version in each of its points
 * (engine/backup/point.ts), and is refused where they are read.
 *
 * Invariants:
 *   FILEVERSION-1  The version of a file never moves, and neither does its checksum, where it has one.
 *   FILEVERSION-2  A damaged file is not newer, and neither is one that cannot be opened: its reader finds and names
 *                  that, and a command that does not read the file goes on.
 *   FILEVERSION-3  Who writes the version of a database writes its mark too (`application_id`), so a later number
 *                  without its mark is damage. Files from before this rule have no mark, and none of them is newer.
 */
import { hash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32c } from './crc32c.ts';
import { FILE_LAYOUTS, FORMATS } from './formats.ts';
import { lastLineOf } from './lastLine.ts';
import { versionMark } from './openDatabase.ts';
import { SqlitePages } from './sqlitePages.ts';
import { errorCode } from './thrown.ts';

type FileVersion = {
  /** The path within a data directory. */
  readonly name: RegExp;
  /** The number that this program writes, the newest that it reads. */
  readonly newest: number;
  /** Returns null for a file that is cut short, damaged or of another kind. */
  readonly versionIn: (path: string) => number | null;
};

/** The folder of a data directory that has files with a version, too. */
const FOLDER = 'private';
/** From here on a number is taken for damage: no release raises a layout so often. */
const MOST_LATER = 1000;
const MOST_LOG_BYTES = 1 << 27;

/** The first two parts of a snapshot are numbers: a header of 16 bytes, whose last word is a checksum, and 8 bytes. */
const PART_BYTES = 24;
const PART_CRC_AT = 12;
const PART_NUMBER_AT = 16;
const SNAPSHOT_MAGIC = 0x5358504f;

/** The words of the head of a segment of private frames; the checksum covers what follows it. */
const SEGMENT = { magic: 0, version: 1, headBytes: 2, crc: 3, WORDS: 4 } as const;
const SEGMENT_MAGIC = 0x5056504f;

/**
 * The words of a row of a journal that every version has in the same place, and a word that rows of this version have:
 * its high half is the version of the first command. The checksum covers what follows it.
 */
const ROW = { crc: 0, version: 1, commandVersion: 19 } as const;

/** A line of the audit log up to the SHA-256 of what is before it. One without a version is of the first. */
const AUDIT_LINE = /^(\{"sequence":\d+,(?:"version":(\d+),)?.*),"hash":"([0-9a-f]{64})",/;

export const FILE_VERSIONS = {
  answers: { name: /^idempotency\.db$/, newest: FORMATS.answers.newest, versionIn: versionOfDatabase },
  audit: { name: /^audit\.log$/, newest: FORMATS.audit.newest, versionIn: ofAuditLog },
  journal: { name: /^journal-\d+\.db$/, newest: FORMATS.engine.newest, versionIn: ofJournal },
  privateFrames: { name: /^private\/private-\d{16}\.log$/, newest: FILE_LAYOUTS.privateFrames, versionIn: ofSegment },
  readDb: { name: /^read\.db$/, newest: FILE_LAYOUTS.readDb, versionIn: versionOfDatabase },
  settlement: { name: /^settlement\.db$/, newest: FORMATS.settlement.newest, versionIn: versionOfDatabase },
  snapshot: { name: /^snapshot-\d+-\d+\.bin$/, newest: FILE_LAYOUTS.snapshot, versionIn: ofSnapshot },
} as const satisfies Readonly<Record<string, FileVersion>>;

/** @returns the path of a file that a newer version has written, or null */
export function newerFileIn(directory: string): string | null {
  const kinds: readonly FileVersion[] = Object.values(FILE_VERSIONS);
  const inFolder = existsSync(join(directory, FOLDER)) ? readdirSync(join(directory, FOLDER)) : [];
  for (const name of [...readdirSync(directory), ...inFolder.map((each) => `${FOLDER}/${each}`)].sort()) {
    const kind = kinds.find((each) => each.name.test(name));
    if (kind === undefined) continue;
    const version = versionOf(kind, join(directory, name));
    if (version !== null && version > kind.newest && version <= kind.newest + MOST_LATER) return join(directory, name);
  }
  return null;
}

/** FILEVERSION-2. */
function versionOf({ versionIn }: FileVersion, path: string): number | null {
  try {
    return versionIn(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

function versionOfDatabase(path: string): number | null {
  return inPages(path, (pages) => {
    return pages.hasHeader && pages.applicationId === versionMark(pages.userVersion) ? pages.userVersion : null;
  });
}

/**
 * FILEVERSION-2. The version of the records in the last row. Later versions of rows count on from the newest; rows of
 * earlier ones have another word there, and are not newer.
 */
function ofJournal(path: string): number | null {
  const row = inPages(path, (pages) => pages.lastRowOf('journal'))?.columns[1];
  if (!(row instanceof Uint8Array) || row.length <= ROW.commandVersion * 4 || row.length % 4 !== 0) return null;
  const bytes = Uint8Array.from(row);
  const words = new Uint32Array(bytes.buffer);
  if (words[ROW.crc] !== crc32c({ bytes, words }, (ROW.crc + 1) * 4, bytes.length)) return null;
  const later = words[ROW.version] - FORMATS.journal.newest;
  if (later !== 0) return later > 0 ? FORMATS.engine.newest + later : null;
  return words[ROW.commandVersion] >>> 16;
}

/** As SQLite would read the file, with its write-ahead log. A start does not wait for a log of unusual length. */
function inPages<T>(path: string, read: (pages: SqlitePages) => T): T | null {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > MOST_LOG_BYTES) return null;
  const pages = new SqlitePages(path);
  try {
    return read(pages);
  } finally {
    pages.close();
  }
}

function ofAuditLog(path: string): number | null {
  const [, text, version = '1', digest] = AUDIT_LINE.exec(lastLineOf(path).text ?? '') ?? [];
  return text !== undefined && hash('sha256', text) === digest ? Number(version) : null;
}

function ofSnapshot(path: string): number | null {
  const parts = startOf(path, () => 2 * PART_BYTES);
  return parts !== null && numberOfPart(parts, 0) === SNAPSHOT_MAGIC ? numberOfPart(parts, PART_BYTES) : null;
}

/** FILEVERSION-2. Null unless the checksum is that of the part. */
function numberOfPart(parts: Uint8Array, at: number): number | null {
  const bytes = parts.slice(at, at + PART_BYTES);
  const memory = { bytes, words: new Uint32Array(bytes.buffer) };
  const crc = crc32c(memory, PART_NUMBER_AT, PART_BYTES, crc32c(memory, 0, PART_CRC_AT));
  return memory.words[PART_CRC_AT / 4] === crc ? memory.words[PART_NUMBER_AT / 4] : null;
}

/** FILEVERSION-2. From version 3 on the checksum begins with the version. */
function ofSegment(path: string): number | null {
  const bytes = startOf(path, (words) => (words[SEGMENT.magic] === SEGMENT_MAGIC ? words[SEGMENT.headBytes] : 0));
  if (bytes === null || bytes.length < SEGMENT.WORDS * 4 || bytes.length % 4 !== 0) return null;
  const words = new Uint32Array(bytes.buffer);
  const version = words[SEGMENT.version];
  return words[SEGMENT.crc] === crc32c({ bytes, words }, SEGMENT.WORDS * 4, bytes.length, version) ? version : null;
}

/** @param lengthOf the length of the start in bytes, by its first words. @returns null if the file is shorter */
function startOf(path: string, lengthOf: (words: Uint32Array) => number): Uint8Array<ArrayBuffer> | null {
  const fd = openSync(path, 'r');
  try {
    const first = new Uint32Array(SEGMENT.WORDS);
    readSync(fd, first, 0, first.byteLength, 0);
    const length = lengthOf(first);
    if (length > fstatSync(fd).size) return null;
    const start = new Uint8Array(length);
    return readSync(fd, start, 0, length, 0) === length ? start : null;
  } finally {
    closeSync(fd);
  }
}
