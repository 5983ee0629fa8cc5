/** A new file that is written from its beginning to its end: its length and SHA-256 are known when it is closed. */
import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { writeWhole } from './files.ts';

/** A small file is written by one call. */
const BUFFER_BYTES = 1 << 18;

export class HashedFile {
  bytes = 0;
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor(path: string) {
    this.#fd = openSync(path, 'w');
  }

  /** @param bytes must not change afterwards */
  add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.bytes += bytes.length;
    if (this.#waitingBytes >= BUFFER_BYTES) this.#flush();
  }

  /** @returns the SHA-256, in hex */
  close(): string {
    this.#flush();
    closeSync(this.#fd);
    return this.#hash.digest('hex');
  }

  #flush(): void {
    writeWhole(this.#fd, this.#waiting.length === 1 ? this.#waiting[0] : Buffer.concat(this.#waiting));
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
