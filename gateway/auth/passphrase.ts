/**
 * Passphrases at rest: SHA-256 over a random salt of their own and the passphrase. A passphrase is issued by the server
 * with at least 128 random bits and never chosen by a person, so there is no dictionary to slow down: a slow password
 * hash would only cost every request milliseconds.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { assert } from '../../shared/assert.ts';

export const PASSPHRASE_SALT_BYTES = 16;

const HASH_BYTES = 32;
const MAX_BYTES_PER_CHARACTER = 3;

const actual = Buffer.alloc(HASH_BYTES);
/** Salt and passphrase, grown to the longest so far. */
let salted = Buffer.alloc(256);

export function hashPassphrase(passphrase: string, salt: Uint8Array): Buffer {
  return Buffer.from(saltedHash(passphrase, salt), 'binary');
}

/** In constant time. */
export function isPassphrase(passphrase: string, salt: Uint8Array, expected: Uint8Array): boolean {
  actual.write(saltedHash(passphrase, salt), 'binary');
  return timingSafeEqual(actual, expected);
}

/** A byte a character: a Buffer per request would cost more than the hash. */
function saltedHash(passphrase: string, salt: Uint8Array): string {
  assert(salt.length === PASSPHRASE_SALT_BYTES, 'passphrase: the salt has its length');
  const most = PASSPHRASE_SALT_BYTES + passphrase.length * MAX_BYTES_PER_CHARACTER;
  if (salted.length < most) salted = Buffer.alloc(most);
  salted.set(salt);
  const end = PASSPHRASE_SALT_BYTES + salted.write(passphrase, PASSPHRASE_SALT_BYTES);
  return hash('sha256', salted.subarray(0, end), 'binary');
}
