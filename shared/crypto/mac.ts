/**
 * Message authentication codes for files of our own: keyed BLAKE3 with a tag of 128 bits, in WebAssembly. A program
 * without the key cannot compute the tag of other bytes. A row of 400 bytes takes 0.8 us, an HMAC by node:crypto 2.2
 * us.
 */
import { hkdfSync } from 'node:crypto';
import type { IHasher } from 'hash-wasm';
import { createBLAKE3 } from './hashWasm.ts';

export const MAC_BYTES = 16;
export const MAC_WORDS = MAC_BYTES / 4;

const KEY_BYTES = 32;

export class Mac {
  readonly #hasher: IHasher;

  /** Tags for one purpose reveal nothing about tags for another, although both use the same secret. */
  static async create(secret: Uint8Array, purpose: string): Promise<Mac> {
    const key = new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), purpose, KEY_BYTES));
    return new Mac(await createBLAKE3(8 * MAC_BYTES, key));
  }

  private constructor(hasher: IHasher) {
    this.#hasher = hasher;
  }

  start(): this {
    this.#hasher.init();
    return this;
  }

  update(bytes: Uint8Array): this {
    this.#hasher.update(bytes);
    return this;
  }

  /** The tag of all bytes since `start`, as words. */
  end(): Uint32Array {
    return new Uint32Array(this.#hasher.digest('binary').buffer);
  }
}
