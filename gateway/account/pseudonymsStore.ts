/**
 * Names for accounts without a public name (RULES.md 13.3), and cursors that hide the trade they stand for. Both are
 * derived from a secret of the data directory: they are stable, and no client can compute them from an id.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import type { Floors } from '../../shared/base/floors.ts';

/** RFC 4648. */
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const CHARACTERS = 4;
const ID_BYTES = 16;

export class Pseudonyms {
  readonly #nameKey: Buffer;
  readonly #cursorKey: Buffer;

  readonly #floors: Floors;

  constructor(secret: Uint8Array, floors: Floors = []) {
    this.#floors = floors;
    this.#nameKey = Buffer.from(hkdfSync('sha256', secret, '', 'pseudonyms', 32));
    this.#cursorKey = Buffer.from(hkdfSync('sha256', secret, '', 'cursors of fills', ID_BYTES));
  }

  of(account: number): string {
    // An account made after a restore may reuse the index of a lost account, but must not reuse its name.
    const floor = this.#floors.findLast(({ lastAccount }) => account > lastAccount)?.floor;
    const text = floor === undefined ? String(account) : `${account} above ${floor}`;
    const hash = createHmac('sha256', this.#nameKey).update(text).digest().readUInt32BE();
    let name = 'anon-';
    for (let i = 0; i < CHARACTERS; i++) name += BASE32[(hash >>> (5 * i)) & 31];
    return name;
  }

  /** An id is one block of the cipher: the same id always has the same cursor, and every cursor decrypts to an id. */
  cursorOf(id: Uint8Array): string {
    assert(id.length === ID_BYTES, 'pseudonyms: an id is one block');
    const cipher = createCipheriv('aes-128-ecb', this.#cursorKey, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(id), cipher.final()]).toString('base64url');
  }

  /** Null when the text is not a cursor. */
  idOf(cursor: string): Buffer | null {
    const block = Buffer.from(cursor, 'base64url');
    if (block.length !== ID_BYTES || block.toString('base64url') !== cursor) return null;
    const decipher = createDecipheriv('aes-128-ecb', this.#cursorKey, null).setAutoPadding(false);
    return Buffer.concat([decipher.update(block), decipher.final()]);
  }
}
