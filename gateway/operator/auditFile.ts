/**
 * The file of the audit log: opened at its end, appended to, cleared again after a failed write.
 *
 *   file   record ⏎ record ⏎ … record ⏎ | spaces: the next record overwrites them
 *
 * A write that a crash or a full disk broke off leaves bytes without a line break at the end; no answer was sent over
 * them, so the next start clears them. To go on when the disk is full, the file is ahead of its records by up to
 * RESERVE_BYTES of spaces, which no other file can take and readers of JSON lines ignore. They stay over a stop, for a
 * start on a full disk.
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
  /** Durable when it resolves; when it rejects, the file ends where it did before. */
  append(bytes: Uint8Array): Promise<void>;
  /** The lines, the last one first, each without its line break. */
  lines(): Iterable<string>;
  /** Takes the last lines, which are these, out of the file and keeps them in one beside it. */
  setAside(lines: readonly string[]): void;
  close(): Promise<void>;
};

type OpenedAuditFile = {
  readonly file: AuditFile;
  readonly head: AuditHead;
  /** The changes without a result, in order: a crash came in between. */
  readonly openChanges: readonly number[];
};

/** Some thousand records: more than an emergency needs. */
const RESERVE_BYTES = 1024 * 1024;
/** With less free on the disk no room is taken: others need it more. */
const ROOM_BYTES = 16 * RESERVE_BYTES;
const LINE_BREAK = 0x0a;
const SPACES = Buffer.alloc(CHUNK_BYTES, ' ');
const MODE = 0o600;

/** The end of a file whose last line is not as it was written. */
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
  /** Of the file, with the spaces after the last record. */
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
      // Should this fail as well, the next record is written over the remains, and a start clears them.
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

  /** After the last record there are only spaces, up to the size the file had. */
  #clear(): void {
    this.#writeSpaces(this.#lengthBytes, this.#sizeBytes);
    ftruncateSync(this.#fd, this.#sizeBytes);
  }

  /** Written in full and not only extended, because a hole in a file reserves nothing. */
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

/** The records of the run of the exchange that wrote last, newest first, as far as they say how it ended. */
function readLastRun(fd: number, lengthBytes: number): Omit<OpenedAuditFile, 'file'> {
  const [last] = linesBackwards(fd, lengthBytes);
  const { sequence, hash } = last === undefined ? NO_RECORDS : (readLine(last, null) ?? UNREADABLE);
  return { head: { sequence, hash }, openChanges: openChangesOf(linesBackwards(fd, lengthBytes)) };
}

/** The changes without a result, in order, of the run that wrote last. @param lines the last one first. */
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

/** Bytes up to the last line break: what follows is a record that was not written to its end. */
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
