/**
 * Passphrases at rest: SHA-256 over a random salt of their own and the passphrase. A passphrase is issued by the server
 * with at least 128 random bits and never chosen by a person, so there is no dictionary to slow down: a slow password
 * hash would only cost every request milliseconds.
 */
import { hash, timingSafeEqual } from 'node:crypto';

export const PASSPHRASE_SALT_BYTES = 16;

export function hashPassphrase(passphrase: string, salt: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([salt, Buffer.from(passphrase)]), 'buffer');
}

export function isPassphrase(passphrase: string, salt: Uint8Array, expected: Uint8Array): boolean {
  return timingSafeEqual(hashPassphrase(passphrase, salt), expected);
}
