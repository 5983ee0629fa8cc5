/**
 * Passphrases, stored as SHA-256 over a random salt of their own and the passphrase. A passphrase is issued by the
 * server with at least 128 random bits and never chosen by a person, so there is no dictionary to slow down: a slow
 * password hash would only cost every request milliseconds. After its first correct use a passphrase is kept in memory,
 * like the key's secret, and later requests are compared with it.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';

const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Returns the stored form of a new passphrase: a new salt, and the hash. */
export function sealPassphrase(passphrase: string): Buffer {
  const salt = randomBytes(SALT_BYTES);
  return Buffer.concat([salt, saltedHash(passphrase, salt)]);
}

export class Passphrase {
  readonly #sealed: Uint8Array;
  /** The passphrase in memory; null before its first correct use. */
  #known: string | null = null;

  /** @param sealed the result of sealPassphrase. */
  constructor(sealed: Uint8Array) {
    assert(sealed.length === SALT_BYTES + HASH_BYTES, 'passphrase: a salt and a hash are stored');
    this.#sealed = sealed;
  }

  /** False if the key has got another passphrase since. */
  isSealedAs(sealed: Uint8Array): boolean {
    return Buffer.compare(this.#sealed, sealed) === 0;
  }

  /** Compares in constant time; the timing reveals only the length, which is the same for all issued passphrases. */
  accepts(given: string): boolean {
    if (this.#known !== null) return isSame(given, this.#known);
    const expected = this.#sealed.subarray(SALT_BYTES);
    if (!timingSafeEqual(saltedHash(given, this.#sealed.subarray(0, SALT_BYTES)), expected)) return false;
    this.#known = given;
    return true;
  }
}

function saltedHash(passphrase: string, salt: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([salt, Buffer.from(passphrase)]), 'buffer');
}

function isSame(given: string, known: string): boolean {
  if (given.length !== known.length) return false;
  let difference = 0;
  for (let index = 0; index < known.length; index++) difference |= given.charCodeAt(index) ^ known.charCodeAt(index);
  return difference === 0;
}
