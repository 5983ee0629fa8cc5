/** The master key of a data directory: the secret under which all other secrets are sealed. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openSecret } from './secretBox.ts';

export const MASTER_KEY_BYTES = 32;
export const MASTER_KEY_FILE = 'master.key';
/** MASTER_KEY has this value instead of a key if the key is meant to be in the file. */
export const IN_FILE = 'file';
/** The suffix of a file that replaces the original once everything is sealed under a new master key. */
export const NEXT = '.next';
/**
 * Sealed rows of the table `platform`, as base64: an empty text, the administrator's token, the secret of pseudonyms,
 * the secret that proves that a refresh token was issued.
 */
export const MASTER_KEY_CHECK = 'master_key_check';
export const SEALED_ADMIN_TOKEN = 'sealed_admin_token';
export const SEALED_PSEUDONYM_SECRET = 'sealed_pseudonym_secret';
export const SEALED_SESSION_SECRET = 'sealed_session_secret';

/** Null if the text is not a master key: 64 hexadecimal digits, or the base64 of the same number of bytes. */
export function parseMasterKey(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  const isHex = text.length === 2 * MASTER_KEY_BYTES && /^[0-9a-fA-F]+$/.test(text);
  const key = Buffer.from(text, isHex ? 'hex' : 'base64');
  return key.length === MASTER_KEY_BYTES ? key : null;
}

/** Null if the file does not contain a master key. Throws if it cannot be read. */
export function readMasterKey(path: string): Buffer | null {
  return parseMasterKey(readFileSync(path, 'utf8').trim());
}

/**
 * A name of the key that reveals nothing about it: with it, members of a cluster show each other that they have the
 * same key.
 */
export function nameOfMasterKey(masterKey: Uint8Array): string {
  return createHmac('sha256', masterKey).update('name of a master key').digest('hex').slice(0, NAME_DIGITS);
}

/** The fact of a cluster under which its members find this name (data/schema/log.sql). */
export const MASTER_KEY_FACT = 'MASTER_KEY';
const NAME_DIGITS = 16;

/** True if the row MASTER_KEY_CHECK was sealed under this key. */
export function opensMasterKeyCheck(masterKey: Uint8Array, check: string): boolean {
  try {
    openSecret(masterKey, MASTER_KEY_CHECK, Buffer.from(check, 'base64'));
    return true;
  } catch {
    return false;
  }
}
