/**
 * The file of the audit log: opened at its end, appended to, cleaned up after a failed write.
 *
 *   file   record ⏎ record ⏎ … record ⏎ | spaces: the next record overwrites them
 *
 * A write that a crash or a full disk interrupted leaves bytes without a line break at the end. No answer was sent for
 * them, so the next start clears them. To go on when the disk is full, the file is longer than its records by up to
 * RESERVE_BYTES of spaces, which no other file can take and which readers of JSON lines ignore. The spaces stay after a
 * stop, for a start on a full disk.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statfsSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { type AuditHead, type AuditLine, NO_RECORDS, readLine } from '../../shared/crypto/auditChain.ts';
import { BackwardLines, CHUNK_BYTES } from './auditLines.ts';

export type AuditFile = {
  readonly lengthBytes: number;
  /** Durable when it resolves; if it rejects, the file ends where it did before. */
  append(bytes: Uint8Array): Promise<void>;
  /** The lines, last one first, each without its line break. */
  lines(): Iterable<string>;
  /** Moves the last lines, which are these, from the file to another file beside it. */
  setAside(lines: readonly string[]): void;
  close(): Promise<void>;
};

type OpenedAuditFile = {
  readonly file: AuditFile;
  readonly head: AuditHead;
  /** Changes without a result, in order: a crash came between a change and its result. */
  readonly openChanges: readonly number[];
};

/** Space for several thousand records: more than an emergency needs. */
const RESERVE_BYTES = 1024 * 1024;
/** With less free space on the disk none is reserved: others need it more. */
const ROOM_BYTES = 16 * RESERVE_BYTES;
const LINE_BREAK = 0x0a;
const SPACES = Buffer.alloc(CHUNK_BYTES, ' ');
const MODE = 0o600;

/** Stands for the end of a file whose last line has been altered. */
const UNREADABLE: AuditHead = Object.freeze({ sequence: -1, hash: '' });

const datasync = promisify(fdatasync);
const writeAt = promisify(write);

export function openAuditFile(path: string): OpenedAuditFile {
  const isNew = !existsSync(path);
  const fd = openSync(path, isNew ? 'wx+' : 'r+', MODE);
  if (isNew) syncDirectory(dirname(path));
  const lengthBytes = endOfLastLine(fd);
  const file = new RealAuditFile(fd, lengthBytes, path);
  return { file, ...readLastRun(fd, lengthBytes) };
}

class RealAuditFile implements AuditFile {
  readonly #fd: number;
  readonly #path: string;
  readonly #directory: string;
  #lengthBytes: number;
  /** Size of the file, with the spaces after the last record. */
  #sizeBytes: number;

  constructor(fd: number, lengthBytes: number, path: string) {
    this.#fd = fd;
    this.#path = path;
    this.#directory = dirname(path);
    this.#lengthBytes = lengthBytes;
    this.#sizeBytes = Math.min(fstatSync(fd).size, lengthBytes + RESERVE_BYTES);
    this.#clear();
    this.#takeRoom();
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await writeAt(this.#fd, bytes, done, bytes.length - done, this.#lengthBytes + done);
        done += bytesWritten;
      }
      await datasync(this.#fd);
    } catch (error) {
      // If this fails too, the next record is written over the remains, and a start clears them.
      tryTo(() => this.#clear());
      throw error;
    }
    this.#lengthBytes += bytes.length;
    this.#sizeBytes = Math.max(this.#sizeBytes, this.#lengthBytes);
    this.#takeRoom();
  }

  lines(): Iterable<string> {
    return linesBackwards(this.#fd, this.#lengthBytes);
  }

  setAside(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}\n`).join('');
    appendFileSync(`${this.#path}.unshared`, text, { mode: MODE, flush: true });
    this.#lengthBytes -= Buffer.byteLength(text);
    this.#clear();
  }

  async close(): Promise<void> {
    closeSync(this.#fd);
  }

  /** Fills the file after the last record with spaces, up to the size that it had. */
  #clear(): void {
    this.#writeSpaces(this.#lengthBytes, this.#sizeBytes);
    ftruncateSync(this.#fd, this.#sizeBytes);
  }

  /** Writes the spaces instead of only extending the file, because a hole in a file reserves nothing. */
  #takeRoom(): void {
    const end = this.#lengthBytes + RESERVE_BYTES;
    if (this.#sizeBytes - this.#lengthBytes >= RESERVE_BYTES / 2 || freeBytes(this.#directory) < ROOM_BYTES) return;
    tryTo(() => this.#writeSpaces(this.#sizeBytes, end));
    this.#sizeBytes = fstatSync(this.#fd).size;
  }

  #writeSpaces(from: number, end: number): void {
    for (let at = from; at < end; ) at += writeSync(this.#fd, SPACES, 0, Math.min(SPACES.length, end - at), at);
  }
}

/** The records of the run of the exchange that wrote last, newest first, as far back as they show how the run ended. */
function readLastRun(fd: number, lengthBytes: number): Omit<OpenedAuditFile, 'file'> {
  const [last] = linesBackwards(fd, lengthBytes);
  const { sequence, hash } = last === undefined ? NO_RECORDS : (readLine(last, null) ?? UNREADABLE);
  return { head: { sequence, hash }, openChanges: openChangesOf(linesBackwards(fd, lengthBytes)) };
}

/** Returns the changes without a result, in order, of the run that wrote last. @param lines the last one first. */
export function openChangesOf(lines: Iterable<string>): number[] {
  const finished = new Set<unknown>();
  const openChanges: number[] = [];
  for (const text of lines) {
    const line = readLine(text, null);
    if (line === null || line.event === 'start' || line.event === 'stop') break;
    noteChange(line, finished, openChanges);
  }
  return openChanges.reverse();
}

function noteChange({ event, sequence, fields }: AuditLine, finished: Set<unknown>, openChanges: number[]): void {
  if (event === 'result' || event === 'interrupted') finished.add(fields['of']);
  else if (event === 'change' && !finished.has(sequence)) openChanges.push(sequence);
}

function* linesBackwards(fd: number, lengthBytes: number): Generator<string> {
  const lines = new BackwardLines(lengthBytes);
  for (let wanted = lines.wanted; wanted !== null; wanted = lines.wanted) {
    const chunk = Buffer.alloc(wanted.bytes);
    readSync(fd, chunk, 0, wanted.bytes, wanted.offset);
    for (const { text } of lines.take(chunk)) yield text;
  }
}

/** Returns the number of bytes up to the last line break; bytes after it are an incomplete record. */
function endOfLastLine(fd: number): number {
  let end = fstatSync(fd).size;
  const chunk = Buffer.alloc(CHUNK_BYTES);
  while (end > 0) {
    const size = Math.min(CHUNK_BYTES, end);
    readSync(fd, chunk, 0, size, end - size);
    const at = chunk.subarray(0, size).lastIndexOf(LINE_BREAK);
    if (at >= 0) return end - size + at + 1;
    end -= size;
  }
  return 0;
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function tryTo(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
