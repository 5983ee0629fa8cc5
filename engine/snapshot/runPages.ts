/**
 * The file of a run of hashes (hashRun.ts) in pages of 4096 bytes, each with a tag that only this exchange can make. So
 * a page can be checked when it is read, alone, years later.
 *
 *   page     4080 bytes   the tag of the run, the number of the page and these bytes: 16 bytes
 *
 * Invariants:
 *   RUNPAGES-1  Bytes of a page are used only if its tag is right: it is that page of that run.
 */
import { randomBytes } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../shared/base/thrown.ts';
import { MAC_BYTES, type Mac } from '../../shared/crypto/mac.ts';
import { SnapshotError } from '../base/snapshotIo.ts';

export const PAGE_BYTES = 4096;
export const PAYLOAD_BYTES = PAGE_BYTES - MAC_BYTES;
export const PAYLOAD_WORDS = PAYLOAD_BYTES / 4;

/** The directory of a shard's snapshots and runs, and the secret of their tags; null: tags are not checked. */
export type RunPlace = { readonly directory: string; readonly shard: number; readonly mac: Mac | null };

const RUN_FILE = /^hashes-([0-9]+)-([0-9a-f]{16})\.run(\.part)?$/;

export function runPath({ directory, shard }: Pick<RunPlace, 'directory' | 'shard'>, id: string): string {
  return join(directory, runFile(shard, id));
}

export function runFile(shard: number, id: string): string {
  return `hashes-${shard}-${id}.run`;
}

/** The id of the run that a file of this shard is, or is a part of; null for other files. */
export function runIdOf(name: string, shard: number): string | null {
  const [, ofShard, id] = RUN_FILE.exec(name) ?? [];
  return Number(ofShard) === shard && id !== undefined ? id : null;
}

/** No run gets the name of an earlier one: a shard may still have that open. */
export function newRunId(): string {
  return randomBytes(8).toString('hex');
}

export function idWords(id: string): [number, number] {
  return [Number.parseInt(id.slice(0, 8), 16), Number.parseInt(id.slice(8), 16)];
}

export function idOfWords(first: number, second: number): string {
  return [first, second].map((word) => word.toString(16).padStart(8, '0')).join('');
}

export class RunPages {
  readonly #path: string;
  readonly #fd: number;
  readonly #mac: Mac | null;
  /** The two words of the id, and the number of the page. */
  readonly #place: Uint32Array;
  readonly #page = new Uint8Array(PAGE_BYTES);
  /** The content of the last page that was read. */
  readonly bytes = this.#page.subarray(0, PAYLOAD_BYTES);
  readonly words = new Uint32Array(this.#page.buffer, 0, PAYLOAD_WORDS);
  readonly #tag = new Uint32Array(this.#page.buffer, PAYLOAD_BYTES);

  constructor(path: string, fd: number, id: string, mac: Mac | null) {
    this.#path = path;
    this.#fd = fd;
    this.#mac = mac;
    this.#place = new Uint32Array([...idWords(id), 0]);
  }

  /** RUNPAGES-1. Reads a page into `words`. */
  read(page: number): void {
    if (this.#readBytes(page) !== PAGE_BYTES) throw new SnapshotError(`hashes ${this.#path}: cut short`);
    if (this.#mac === null) return;
    const expected = this.#tagOf(this.#mac, page, this.bytes);
    if (!expected.every((word, at) => word === this.#tag[at]))
      throw new SnapshotError(`hashes ${this.#path}: page ${page} is damaged, or not written by this exchange`);
  }

  /** A sector that the disk cannot read is like one that it reads wrongly. */
  #readBytes(page: number): number {
    try {
      return readSync(this.#fd, this.#page, 0, PAGE_BYTES, page * PAGE_BYTES);
    } catch (error) {
      throw new SnapshotError(`hashes ${this.#path}: page ${page} cannot be read: ${errorMessage(error)}`);
    }
  }

  /** Writes what `words` holds as a page. */
  write(page: number): void {
    if (this.#mac === null) throw new Error('RUNPAGES-1: pages are written with a tag');
    this.#tag.set(this.#tagOf(this.#mac, page, this.bytes));
    for (let done = 0; done < PAGE_BYTES; )
      done += writeSync(this.#fd, this.#page, done, PAGE_BYTES - done, page * PAGE_BYTES + done);
  }

  #tagOf(mac: Mac, page: number, bytes: Uint8Array): Uint32Array {
    this.#place[2] = page;
    return mac.start().update(new Uint8Array(this.#place.buffer)).update(bytes).end();
  }
}
