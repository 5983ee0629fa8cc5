/**
 * The file of the audit log: opened at its end, appended to, cut back after a failed write.
 *
 * A write that a crash or a full disk broke off leaves bytes without a line break at the end; no answer was sent over
 * them, so the next start cuts them off. To go on when the disk is full, a second file holds RESERVE_BYTES that are
 * given up for the log then, and made again once there is room.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  write,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { type AuditHead, type AuditLine, NO_RECORDS, readLine } from '../../shared/crypto/auditChain.ts';
import { BackwardLines, CHUNK_BYTES } from './lines.ts';

export type AuditFile = {
  readonly lengthBytes: number;
  /** Durable when it resolves; when it rejects, the file ends where it did before. */
  append(bytes: Uint8Array): Promise<void>;
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
/** With less room on the disk the reserve is not made again: others need it more. */
const ROOM_BYTES = 16 * RESERVE_BYTES;
const LINE_BREAK = 0x0a;
const MODE = 0o600;

/** The end of a file whose last line is not as it was written. */
const UNREADABLE: AuditHead = Object.freeze({ sequence: -1, hash: '' });

const datasync = promisify(fdatasync);
const writeAt = promisify(write);

export function openAuditFile(path: string): OpenedAuditFile {
  const isNew = !existsSync(path);
  const fd = openSync(path, isNew ? 'wx+' : 'r+', MODE);
  if (isNew) syncDirectoryOf(path);
  const lengthBytes = endOfLastLine(fd);
  ftruncateSync(fd, lengthBytes);
  const file = new RealAuditFile(fd, lengthBytes, `${path}.reserve`);
  return { file, ...readLastRun(fd, lengthBytes) };
}

class RealAuditFile implements AuditFile {
  readonly #fd: number;
  readonly #reservePath: string;
  #lengthBytes: number;

  constructor(fd: number, lengthBytes: number, reservePath: string) {
    this.#fd = fd;
    this.#lengthBytes = lengthBytes;
    this.#reservePath = reservePath;
    this.#makeReserve();
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      await this.#tryAppend(bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC' || !this.#giveUpReserve()) throw error;
      await this.#tryAppend(bytes);
      return;
    }
    this.#makeReserve();
  }

  async close(): Promise<void> {
    closeSync(this.#fd);
  }

  async #tryAppend(bytes: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await writeAt(this.#fd, bytes, done, bytes.length - done, this.#lengthBytes + done);
        done += bytesWritten;
      }
      await datasync(this.#fd);
    } catch (error) {
      // Should this fail as well, the next record is written over the remains, and a start cuts them off.
      tryTo(() => ftruncateSync(this.#fd, this.#lengthBytes));
      throw error;
    }
    this.#lengthBytes += bytes.length;
  }

  /** Written in full and not only extended, because a hole in a file reserves nothing. */
  #makeReserve(): void {
    if (existsSync(this.#reservePath) || freeBytes(dirname(this.#reservePath)) < ROOM_BYTES) return;
    const bytes = Buffer.alloc(RESERVE_BYTES);
    const isMade = tryTo(() => writeFileSync(this.#reservePath, bytes, { mode: MODE, flush: true }));
    if (!isMade) tryTo(() => rmSync(this.#reservePath));
  }

  #giveUpReserve(): boolean {
    return existsSync(this.#reservePath) && tryTo(() => rmSync(this.#reservePath));
  }
}

/** The records of the run of the exchange that wrote last, newest first, as far as they say how it ended. */
function readLastRun(fd: number, lengthBytes: number): Omit<OpenedAuditFile, 'file'> {
  let head: AuditHead | undefined;
  const finished = new Set<unknown>();
  const openChanges: number[] = [];
  for (const text of linesBackwards(fd, lengthBytes)) {
    const line = readLine(text, null);
    head ??= line ?? UNREADABLE;
    if (line === null || line.event === 'start' || line.event === 'stop') break;
    noteChange(line, finished, openChanges);
  }
  const { sequence, hash } = head ?? NO_RECORDS;
  return { head: { sequence, hash }, openChanges: openChanges.reverse() };
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

function syncDirectoryOf(path: string): void {
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function tryTo(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
