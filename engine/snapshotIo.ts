/**
 * Carries a shard's state to a file and back. Every stateful class has one `persist(io)` that names its parts once; the
 * same calls, in the same order, write or read, so the two directions cannot drift apart.
 *
 * A part is a header of four words (kind, element count in two words, CRC-32C of the rest of the part) and its
 * elements, padded to eight bytes. Files are written once, front to back, and never changed.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32c } from '../shared/crc32c.ts';
import { readSafe, readSigned, writeSafe, writeSigned } from '../shared/record.ts';

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

const PART_WORDS = 4;
const KIND = { NUMBER: 1, U8: 2, U16: 3, U32: 4, I32: 5, F64: 6 } as const;

/** The file is not a snapshot that can be used; an older one may be. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

export type SnapshotIo = {
  /** A safe integer of either sign, or Infinity. */
  number(value: number): number;
  u8(column: Uint8Array): Uint8Array;
  u16(column: Uint16Array): Uint16Array;
  u32(column: Uint32Array): Uint32Array;
  i32(column: Int32Array): Int32Array;
  f64(column: Float64Array): Float64Array;
};

export class SnapshotWriter implements SnapshotIo {
  readonly #fd: number;
  readonly #part = new Uint32Array(PART_WORDS);
  readonly #scalar = new Uint32Array(2);

  constructor(path: string) {
    this.#fd = openSync(path, 'wx', 0o600);
  }

  number(value: number): number {
    writeSigned(this.#scalar, 0, value);
    this.#write(KIND.NUMBER, this.#scalar, 2);
    return value;
  }

  u8(column: Uint8Array): Uint8Array {
    return this.#column(KIND.U8, column);
  }

  u16(column: Uint16Array): Uint16Array {
    return this.#column(KIND.U16, column);
  }

  u32(column: Uint32Array): Uint32Array {
    return this.#column(KIND.U32, column);
  }

  i32(column: Int32Array): Int32Array {
    return this.#column(KIND.I32, column);
  }

  f64(column: Float64Array): Float64Array {
    return this.#column(KIND.F64, column);
  }

  /** Everything is on the disk when this returns. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #column<T extends Column>(kind: number, column: T): T {
    this.#write(kind, column, column.length);
    return column;
  }

  #write(kind: number, column: Column, count: number): void {
    // Columns are copied into whole words so that the checksum can walk them.
    const padded = new Uint8Array((column.byteLength + 7) & ~7);
    padded.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
    this.#part[0] = kind;
    writeSafe(this.#part, 1, count);
    this.#part[3] = checksum(this.#part, padded);
    writeAll(this.#fd, new Uint8Array(this.#part.buffer));
    writeAll(this.#fd, padded);
  }
}

export class SnapshotReader implements SnapshotIo {
  readonly #fd: number;
  readonly #path: string;
  readonly #fileBytes: number;
  readonly #part = new Uint32Array(PART_WORDS);

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'r');
    this.#fileBytes = fstatSync(this.#fd).size;
  }

  number(_value: number): number {
    return readSigned(new Uint32Array(this.#read(KIND.NUMBER, 4)), 0);
  }

  u8(_column: Uint8Array): Uint8Array {
    return new Uint8Array(this.#read(KIND.U8, 1));
  }

  u16(_column: Uint16Array): Uint16Array {
    return new Uint16Array(this.#read(KIND.U16, 2));
  }

  u32(_column: Uint32Array): Uint32Array {
    return new Uint32Array(this.#read(KIND.U32, 4));
  }

  i32(_column: Int32Array): Int32Array {
    return new Int32Array(this.#read(KIND.I32, 4));
  }

  f64(_column: Float64Array): Float64Array {
    return new Float64Array(this.#read(KIND.F64, 8));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #read(kind: number, elementBytes: number): ArrayBuffer {
    readAll(this.#fd, new Uint8Array(this.#part.buffer), this.#path);
    if (this.#part[0] !== kind) throw new SnapshotError(`snapshot ${this.#path}: a part has another kind`);
    const length = readSafe(this.#part, 1) * elementBytes;
    if (length > this.#fileBytes) throw new SnapshotError(`snapshot ${this.#path}: a part is too long`);
    const padded = new Uint8Array((length + 7) & ~7);
    readAll(this.#fd, padded, this.#path);
    if (this.#part[3] !== checksum(this.#part, padded))
      throw new SnapshotError(`snapshot ${this.#path}: checksum mismatch`);
    return padded.buffer.slice(0, length);
  }
}

/** Covers the part's header as well: a length that changed is noticed even where only padding moved. */
function checksum(part: Uint32Array, padded: Uint8Array<ArrayBuffer>): number {
  const header = crc32c({ words: part, bytes: new Uint8Array(part.buffer) }, 0, 12);
  return crc32c({ words: new Uint32Array(padded.buffer), bytes: padded }, 0, padded.byteLength, header);
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(fd, bytes, at, bytes.byteLength - at);
}

function readAll(fd: number, bytes: Uint8Array, path: string): void {
  for (let at = 0; at < bytes.byteLength; ) {
    const got = readSync(fd, bytes, at, bytes.byteLength - at, null);
    if (got === 0) throw new SnapshotError(`snapshot ${path}: cut short`);
    at += got;
  }
}
