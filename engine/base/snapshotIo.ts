/**
 * Writes a shard's state to a file and reads it back. Every stateful class has one `persist(io)` that names its parts
 * once. Writing and reading use the same calls in the same order, so the two cannot differ.
 *
 * A part is a SNAPSHOT_PART (RECORDS.md) and its elements, padded to eight bytes. A file is written once, front to
 * back, and never changed.
 *
 * Invariants:
 *   PART-1  A part is read as the kind as which it was written, with the same number of elements.
 *   PART-2  crc is the CRC-32C of the header before it and of the padded elements.
 *   PART-3  A number is a safe integer.
 *   PART-4  The seal follows the last part: the tag of all bytes before it.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { MAC_BYTES, type Mac } from '../../shared/crypto/mac.ts';
import { record, safe, u32 } from '../../shared/wire/layout.ts';
import { readSafe, readSigned, writeSafe, writeSigned } from '../../shared/wire/record.ts';

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

export const SNAPSHOT_PART = record(
  'SNAPSHOT_PART',
  {
    kind: u32('of the elements'),
    count: safe('of elements'),
    crc: u32('CRC-32C of the header before it and the padded elements'),
  },
  'The header of a part of a snapshot: its elements follow, padded to eight bytes.',
);
assert(SNAPSHOT_PART.BYTES % 8 === 0, 'PART-2: header and elements are whole words');
assert(SNAPSHOT_PART.crc === SNAPSHOT_PART.WORDS - 1, 'PART-2: the checksum covers the header before it');

const KIND = { NUMBER: 1, U8: 2, U16: 3, U32: 4, I32: 5, F64: 6 } as const;
/** The low and the high word of a number. */
const NUMBER_WORDS = 2;

/** The file cannot be used as a snapshot; an older file may be usable. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

export type SnapshotIo = {
  /** The layout version of the file. A part that an older version lacks is neither written nor read. */
  readonly version: number;
  /** A safe integer of either sign. */
  number(value: number): number;
  u8(column: Uint8Array): Uint8Array;
  u16(column: Uint16Array): Uint16Array;
  u32(column: Uint32Array): Uint32Array;
  i32(column: Int32Array): Int32Array;
  f64(column: Float64Array): Float64Array;
};

export class SnapshotWriter implements SnapshotIo {
  readonly version: number;
  readonly #fd: number;
  readonly #mac: Mac;
  readonly #part = new Uint32Array(SNAPSHOT_PART.WORDS);
  readonly #scalar = new Uint32Array(NUMBER_WORDS);

  constructor(path: string, version: number, mac: Mac) {
    this.version = version;
    this.#fd = openSync(path, 'wx', 0o600);
    this.#mac = mac.start();
  }

  number(value: number): number {
    assert(Number.isSafeInteger(value), 'PART-3: a number is a safe integer');
    writeSigned(this.#scalar, 0, value);
    this.#write(KIND.NUMBER, this.#scalar, NUMBER_WORDS);
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

  /** PART-4. */
  seal(): void {
    writeAll(this.#fd, new Uint8Array(this.#mac.end().buffer));
  }

  /** Makes everything that was written durable. */
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
    assert(count * column.BYTES_PER_ELEMENT === column.byteLength, 'PART-1: the count is that of the elements');
    // Copies into whole words, because the checksum reads words.
    const padded = new Uint8Array((column.byteLength + 7) & ~7);
    padded.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
    this.#part[SNAPSHOT_PART.kind] = kind;
    writeSafe(this.#part, SNAPSHOT_PART.count, count);
    this.#part[SNAPSHOT_PART.crc] = checksum(this.#part, padded);
    const header = new Uint8Array(this.#part.buffer);
    this.#mac.update(header).update(padded);
    writeAll(this.#fd, header);
    writeAll(this.#fd, padded);
  }
}

export class SnapshotReader implements SnapshotIo {
  /** Set once the header has been read. */
  version = 0;
  readonly #fd: number;
  readonly #mac: Mac | null;
  readonly #path: string;
  readonly #fileBytes: number;
  readonly #part = new Uint32Array(SNAPSHOT_PART.WORDS);

  /** @param mac null if the seal is not to be checked. */
  constructor(path: string, mac: Mac | null) {
    this.#path = path;
    this.#mac = mac;
    mac?.start();
    this.#fd = openSync(path, 'r');
    this.#fileBytes = fstatSync(this.#fd).size;
  }

  number(_value: number): number {
    const words = new Uint32Array(this.#read(KIND.NUMBER, 4));
    assert(words.length === NUMBER_WORDS, 'PART-1: a number has two words');
    const value = readSigned(words, 0);
    assert(Number.isSafeInteger(value), 'PART-3: a number is a safe integer');
    return value;
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

  /** PART-4. */
  requireSeal(): void {
    if (this.#mac === null) return;
    const expected = Buffer.from(this.#mac.end().buffer);
    const seal = new Uint8Array(MAC_BYTES);
    readAll(this.#fd, seal, this.#path);
    if (expected.equals(seal)) return;
    throw new SnapshotError(`snapshot ${this.#path}: not written by this exchange: its seal is wrong`);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #read(kind: number, elementBytes: number): ArrayBuffer {
    readAll(this.#fd, new Uint8Array(this.#part.buffer), this.#path);
    if (this.#part[SNAPSHOT_PART.kind] !== kind)
      throw new SnapshotError(`snapshot ${this.#path}: a part has another kind`);
    const length = readSafe(this.#part, SNAPSHOT_PART.count) * elementBytes;
    if (length > this.#fileBytes) throw new SnapshotError(`snapshot ${this.#path}: a part is too long`);
    const padded = new Uint8Array((length + 7) & ~7);
    readAll(this.#fd, padded, this.#path);
    if (this.#part[SNAPSHOT_PART.crc] !== checksum(this.#part, padded))
      throw new SnapshotError(`snapshot ${this.#path}: checksum mismatch`);
    this.#mac?.update(new Uint8Array(this.#part.buffer)).update(padded);
    return padded.buffer.slice(0, length);
  }
}

/** Covers the header of the part too: otherwise a changed count could go unnoticed if only padding moves. */
function checksum(part: Uint32Array, padded: Uint8Array<ArrayBuffer>): number {
  const header = crc32c({ words: part, bytes: new Uint8Array(part.buffer) }, 0, SNAPSHOT_PART.crc * 4);
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
